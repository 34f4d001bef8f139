import { intact } from '../tables/damage.ts';
import { interruptibleScan } from '../tables/interruption.ts';
import type { Tables } from '../tables/tables.ts';
import type { Page, Prepare } from './lists.ts';
import { matchIn, type Search, type ServingIndex } from './search.ts';
import { type Bound, compileWhere, type Where } from './where.ts';

/** A search that an index of words serves, and the condition that its documents must also meet; null for none. */
export type IndexedSearch = { search: Search & { index: ServingIndex }; where: Where | null };

/**
 * A request for a page of the documents that a search finds, the newest first. With `count: 'none'` they are not
 * counted.
 */
export type SearchRequest = IndexedSearch & { limit: number; page: number; count: 'exact' | 'none' };

/**
 * While all documents are counted, the keys of the newest are noted: `noted` for each document up to the end of the
 * page, if the page ends before `lastNoted`.
 */
const noted = 4;
const lastNoted = 1000;

/**
 * The search in a condition, and the rest of the condition; null if it has no search, or no index serves the search.
 */
export function indexedSearchIn(where: Where | null): IndexedSearch | null {
  if (where === null) return null;
  const [first, ...rest] = 'and' in where ? where.and : [where];
  if (!first || !('search' in first)) return null;
  const { terms, fields, index } = first.search;
  if (!index || terms.length === 0 || fields.length === 0) return null;
  return { search: { terms, fields, index }, where: rest.length === 0 ? null : { and: rest } };
}

/** How many documents a search finds. */
export function countFound(tables: Tables, served: IndexedSearch, prepare: Prepare): number {
  const { text, values } = rowsOf(tables, served);
  return prepare<number>(`SELECT count(*) ${text}`).get(...values) ?? 0;
}

/**
 * A page of the documents that a search finds. The index gives its rows in the order of the keys of documents, from
 * either end: so only the rows of the page are read, unless all are counted.
 */
export function pageFound(tables: Tables, request: SearchRequest, prepare: Prepare): Page {
  const { search, limit, page, count } = request;
  const skipped = (page - 1) * limit;
  // For the beginning of a word FTS5 gathers all texts before it gives the first: once is enough.
  const isGathered = search.terms.some(({ isPrefix }) => isPrefix);
  const end = skipped + limit;
  const isOnce = count === 'exact' && isGathered && end <= lastNoted;
  const both = isOnce ? countAndNote(tables, request, prepare) : null;
  const total = both?.total ?? (count === 'exact' ? countFound(tables, request, prepare) : null);
  const isNoted = both !== null && (both.keys.length > end || both.keys.length === both.total);
  const keys = isNoted ? both.keys.slice(skipped, end + 1) : newestKeys(tables, request, prepare);
  const hasNext = keys.length > limit;
  const texts = textsAt(tables, keys.slice(0, limit), prepare);
  return { texts, total: total ?? skipped + keys.length, hasNext };
}

/** The rows `w` of the index that a search finds; with a condition, the rows whose document `d` meets it. */
function rowsOf(tables: Tables, { search, where }: IndexedSearch): { text: string; values: Bound[] } {
  const { table } = search.index;
  const matched = matchIn(search);
  if (where === null) return { text: `FROM search.${table} AS w WHERE ${table} MATCH ?`, values: [matched] };
  const { text, values } = compileWhere(where, { tables, alias: 'd' });
  // A join in this order: for `IN`, a list of all found keys would be made before the first is looked at.
  return {
    text: `FROM search.${table} AS w CROSS JOIN ${tables.documents} AS d ON d.key = w.rowid
      WHERE ${table} MATCH ? AND ${interruptibleScan(tables, 'd')}${text}`,
    values: [matched, ...values],
  };
}

/** The number of found documents, and the keys of those among the newest documents, the last first. */
function countAndNote(tables: Tables, request: SearchRequest, prepare: Prepare): { total: number; keys: number[] } {
  const { text, values } = rowsOf(tables, request);
  const newest = noted * (request.page * request.limit + 1);
  const low = prepare<number>(`SELECT key FROM ${tables.documents} ORDER BY key DESC LIMIT 1 OFFSET ? + 0`);
  const from = low.get(newest) ?? 0;
  const select = prepare<string>(
    `SELECT json_array(count(*), json_group_array(w.rowid) FILTER (WHERE w.rowid > ?)) ${text}`,
  );
  const [total, keys] = JSON.parse(select.get(from, ...values) ?? '[0,[]]') as [number, number[]];
  return { total, keys: keys.reverse() };
}

/** The keys of a page, and one more if there is one. */
function newestKeys(tables: Tables, request: SearchRequest, prepare: Prepare): number[] {
  const { limit, page } = request;
  const { text, values } = rowsOf(tables, request);
  const select = prepare<number>(`SELECT w.rowid ${text} ORDER BY w.rowid DESC LIMIT ? + 0 OFFSET ? + 0`);
  return select.all(...values, limit + 1, (page - 1) * limit);
}

/** The texts of documents, in the order of their keys; a document that has just gone is left out. */
function textsAt({ texts }: Tables, keys: readonly number[], prepare: Prepare): string[] {
  const select = prepare<string | null>(
    `SELECT t.doc FROM json_each(?) AS k CROSS JOIN ${texts} AS t ON t.key = k.value`,
  );
  return select.all(JSON.stringify(keys)).map((text) => intact(text, texts, 'a page'));
}
