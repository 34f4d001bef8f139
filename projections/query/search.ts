import { type TextField, textIn } from '../../config/text-fields.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { trigramText } from '../tables/fold.ts';
import { requireUninterrupted } from '../tables/interruption.ts';
import { isInTextIndex, jsonPath } from '../tables/tables.ts';
import { type TableRow, type ValueLocation, valueAt } from '../tables/value-locations.ts';
import { holds, type SearchTerm } from '../tables/words.ts';
import type { Sql } from './where.ts';

/** The index of a search file that serves some fields: its table, and their columns. */
export type ServingIndex = { table: string; columns: readonly string[] };

/** A search for documents with each term in some of these fields; an index finds them, if there is one. */
export type Search = { terms: readonly SearchTerm[]; fields: readonly TextField[]; index: ServingIndex | null };

/** Compiles a search for a row: each term must be in one of the fields, not all in the same. */
export function compileSearch({ terms, fields, index }: Search, place: ValueLocation): Sql {
  if (terms.length === 0 || fields.length === 0) return { text: '0', values: [] };
  if (index && place.row && isInTextIndex(place.row.tables)) {
    return { text: inIndex(place.row, index), values: [matchIn({ terms, index })] };
  }
  const parts = terms.map((term) => someHolds(term, fields, place));
  return { text: `(${parts.map(({ text }) => text).join(' AND ')})`, values: parts.flatMap(({ values }) => values) };
}

function someHolds(term: SearchTerm, fields: readonly TextField[], place: ValueLocation): Sql {
  const wanted = JSON.stringify(term);
  const [first = ''] = term.words;
  const parts = fields.map(({ path, isRich }): Sql => {
    if (isRich) return { text: `holds_rich(${place.expression} -> '${jsonPath(path)}', ?)`, values: [wanted] };
    const { text } = valueAt({ ...place, path }, 'text');
    // SQLite alone passes over most ASCII texts; for others, and for texts with a NUL, at which `length` ends, it calls
    // our function.
    const inAscii = `instr(upper(${text}), ?) > 0 AND holds(${text}, ?)`;
    return {
      text: `CASE WHEN octet_length(${text}) > length(${text}) THEN holds(${text}, ?) ELSE ${inAscii} END`,
      values: [wanted, first, wanted],
    };
  });
  // It is possible that no field has a value.
  return {
    text: `coalesce(${parts.map(({ text }) => `(${text})`).join(' OR ')}, 0)`,
    values: parts.flatMap(({ values }) => values),
  };
}

/** The condition that an index gives the row of a document for the bound query. */
function inIndex({ alias }: TableRow, { table }: ServingIndex): string {
  return `${alias}.key IN (SELECT rowid FROM search.${table} WHERE ${table} MATCH ?)`;
}

/**
 * An FTS5 query for all strings in some columns. Each string is quoted, so FTS5 reads nothing that a caller writes as
 * syntax.
 */
function matchOf({ columns }: ServingIndex, strings: readonly string[]): string {
  return `{${columns.join(' ')}} : (${strings.join(' AND ')})`;
}

/** The FTS5 query for the terms of a search. */
export function matchIn({ terms, index }: { terms: Search['terms']; index: ServingIndex }): string {
  return matchOf(index, terms.map(queryOf));
}

function queryOf({ words, isPrefix }: SearchTerm): string {
  return quoted(words.join(' ')) + (isPrefix ? ' *' : '');
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** More trigrams would not help: each found text is checked anyway. */
const mostTrigrams = 30;

/** The trigrams of every text that contains `text`; none if `text` is too short. */
export function trigramsIn(text: string): string[] {
  const characters = [...trigramText(text)];
  const found = new Set<string>();
  for (let at = 0; at + 3 <= characters.length && found.size < mostTrigrams; at += 1) {
    found.add(characters.slice(at, at + 3).join(''));
  }
  return [...found];
}

/** The condition that a row has all trigrams of a text. The rows that contain the text are among them. */
export function compileTrigrams(index: ServingIndex, row: TableRow, text: string): Sql {
  return { text: inIndex(row, index), values: [matchOf(index, trigramsIn(text).map(quoted))] };
}

/** Registers the SQL functions of searches: whether a text, or the text of rich text, holds a term. */
export function registerSearch(db: Sqlite): void {
  let lastText = '';
  let last: SearchTerm = { words: [], isPrefix: false };
  const termOf = (text: string): SearchTerm => {
    if (text !== lastText) {
      last = JSON.parse(text);
      lastText = text;
    }
    return last;
  };
  db.function('holds', { deterministic: true }, (text, term) => {
    requireUninterrupted();
    return typeof text === 'string' && holds(text, termOf(String(term))) ? 1 : 0;
  });
  db.function('holds_rich', { deterministic: true }, (json, term) => {
    requireUninterrupted();
    if (typeof json !== 'string') return 0;
    const text = textIn({ value: JSON.parse(json) }, { path: ['value'], isRich: true });
    return holds(text, termOf(String(term))) ? 1 : 0;
  });
}
