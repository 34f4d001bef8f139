import { type TextField, textIn } from '../../config/text-fields.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { trigramText } from '../tables/fold.ts';
import { goOn } from '../tables/interruption.ts';
import { type Place, type Row, valueAt } from '../tables/places.ts';
import { jsonPath } from '../tables/tables.ts';
import { holds, type Term } from '../tables/words.ts';
import type { Sql } from './where.ts';

/** The index of a search file that serves some fields: its table, and their columns. */
export type ServingIndex = { table: string; columns: readonly string[] };

/** The documents of which some of these fields hold each term; found by an index, if there is one. */
export type Search = { terms: readonly Term[]; fields: readonly TextField[]; index: ServingIndex | null };

/** Compiles a search for a row: each term is held by one of the fields, not all by the same. */
export function compileSearch({ terms, fields, index }: Search, place: Place): Sql {
  if (terms.length === 0 || fields.length === 0) return { text: '0', values: [] };
  if (index && place.row) {
    return { text: inIndex(place.row, index), values: [matchIn({ terms, index })] };
  }
  const parts = terms.map((term) => someHolds(term, fields, place));
  return { text: `(${parts.map(({ text }) => text).join(' AND ')})`, values: parts.flatMap(({ values }) => values) };
}

function someHolds(term: Term, fields: readonly TextField[], place: Place): Sql {
  const wanted = JSON.stringify(term);
  const [first = ''] = term.words;
  const parts = fields.map(({ path, isRich }): Sql => {
    if (isRich) return { text: `holds_rich(${place.expression} -> '${jsonPath(path)}', ?)`, values: [wanted] };
    const { text } = valueAt({ ...place, path }, 'text');
    // Of ASCII, most texts are passed over by SQLite alone; of others, and where a NUL ends what `length` counts, it
    // asks us.
    const inAscii = `instr(upper(${text}), ?) > 0 AND holds(${text}, ?)`;
    return {
      text: `CASE WHEN octet_length(${text}) > length(${text}) THEN holds(${text}, ?) ELSE ${inAscii} END`,
      values: [wanted, first, wanted],
    };
  });
  // No field may have a value.
  return {
    text: `coalesce(${parts.map(({ text }) => `(${text})`).join(' OR ')}, 0)`,
    values: parts.flatMap(({ values }) => values),
  };
}

/** Whether the row of a document is in what an index gives for the query that is bound. */
function inIndex({ alias }: Row, { table }: ServingIndex): string {
  return `${alias}.key IN (SELECT rowid FROM search.${table} WHERE ${table} MATCH ?)`;
}

/**
 * A query of FTS5: all of some strings in some columns. Each string is quoted, which is the only syntax that FTS5 knows
 * in it, so that nothing a caller writes is read as syntax.
 */
function matchOf({ columns }: ServingIndex, strings: readonly string[]): string {
  return `{${columns.join(' ')}} : (${strings.join(' AND ')})`;
}

/** The query of FTS5 for the terms of a search. */
export function matchIn({ terms, index }: { terms: Search['terms']; index: ServingIndex }): string {
  return matchOf(index, terms.map(queryOf));
}

function queryOf({ words, isPrefix }: Term): string {
  return quoted(words.join(' ')) + (isPrefix ? ' *' : '');
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** More say no more: each text that is found is looked at. */
const mostTrigrams = 30;

/** The trigrams that a text has which contains another one; empty where that is too short for any. */
export function trigramsIn(text: string): string[] {
  const characters = [...trigramText(text)];
  const found = new Set<string>();
  for (let at = 0; at + 3 <= characters.length && found.size < mostTrigrams; at += 1) {
    found.add(characters.slice(at, at + 3).join(''));
  }
  return [...found];
}

/** The condition that a row has all trigrams of a text: what does contain it is among those. */
export function compileTrigrams(index: ServingIndex, row: Row, text: string): Sql {
  return { text: inIndex(row, index), values: [matchOf(index, trigramsIn(text).map(quoted))] };
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
    goOn();
    return typeof text === 'string' && holds(text, termOf(String(term))) ? 1 : 0;
  });
  db.function('holds_rich', { deterministic: true }, (json, term) => {
    goOn();
    if (typeof json !== 'string') return 0;
    const text = textIn({ value: JSON.parse(json) }, { path: ['value'], isRich: true });
    return holds(text, termOf(String(term))) ? 1 : 0;
  });
}
