import { type TextField, textIn } from '../config/text-fields.ts';
import type { Sqlite } from '../storage/sqlite.ts';
import { type Place, valueAt } from './places.ts';
import { jsonPath } from './tables.ts';
import type { Sql } from './where.ts';
import { holds, type Term } from './words.ts';

/** The documents of which some of these fields hold each term. */
export type Search = { terms: readonly Term[]; fields: readonly TextField[] };

/** Compiles a search for a row: each term is held by one of the fields, not all by the same. */
export function compileSearch({ terms, fields }: Search, place: Place): Sql {
  const parts = terms.map((term) => someHolds(term, fields, place));
  if (parts.length === 0) return { text: '0', values: [] };
  return { text: `(${parts.map(({ text }) => text).join(' AND ')})`, values: parts.flatMap(({ values }) => values) };
}

function someHolds(term: Term, fields: readonly TextField[], place: Place): Sql {
  const wanted = JSON.stringify(term);
  const [first = ''] = term.words;
  const parts = fields.map(({ path, isRich }): Sql => {
    if (isRich) return { text: `holds_rich(${place.expression} -> '${jsonPath(path)}', ?)`, values: [wanted] };
    const { text } = valueAt({ ...place, path }, 'text');
    // Of ASCII, most texts are passed over by SQLite alone; of others, and where a NUL ends what `length` counts, it asks us.
    const inAscii = `instr(upper(${text}), ?) > 0 AND holds(${text}, ?)`;
    return {
      text: `CASE WHEN octet_length(${text}) > length(${text}) THEN holds(${text}, ?) ELSE ${inAscii} END`,
      values: [wanted, first, wanted],
    };
  });
  if (parts.length === 0) return { text: '0', values: [] };
  // No field may have a value.
  return {
    text: `coalesce(${parts.map(({ text }) => `(${text})`).join(' OR ')}, 0)`,
    values: parts.flatMap(({ values }) => values),
  };
}

/** Registers what searches call in SQL: whether a text, or the text of rich text, holds a term. */
export function registerSearch(db: Sqlite): void {
  let lastText = '';
  let last: Term = { words: [], isPrefix: false };
  const termOf = (text: string): Term => {
    if (text !== lastText) {
      last = JSON.parse(text);
      lastText = text;
    }
    return last;
  };
  db.function('holds', { deterministic: true }, (text, term) => {
    return typeof text === 'string' && holds(text, termOf(String(term))) ? 1 : 0;
  });
  db.function('holds_rich', { deterministic: true }, (json, term) => {
    if (typeof json !== 'string') return 0;
    const text = textIn({ value: JSON.parse(json) }, { path: ['value'], isRich: true });
    return holds(text, termOf(String(term))) ? 1 : 0;
  });
}
