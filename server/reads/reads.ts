import type { TextField } from '../../config/text-fields.ts';
import { indexedSearchIn, type SearchRequest } from '../../projections/query/found.ts';
import type { GroupRequest, Groups } from '../../projections/query/groups.ts';
import type { ListRequest, Page } from '../../projections/query/lists.ts';
import { pathsWithTables, type Where, withTables } from '../../projections/query/where.ts';
import { interruptible } from '../../projections/tables/interruption.ts';
import type { SearchTerm } from '../../projections/tables/words.ts';
import { mostRanked, type Newest, newestFirst, rank, rankedPage } from './ranking.ts';

/** The words of a search, and the fields that hold them. */
type Words = { terms: readonly SearchTerm[]; fields: readonly TextField[] };

/** The best documents that a search finds: their texts, how well they fit, and how many documents it finds in all. */
export type Best = { best: { text: string; score: number }[]; total: number };

/** The requests of each kind of read; all of them can be sent to another thread. */
type Requests = {
  list: ListRequest;
  /** A list sorted by how well its documents fit. */
  ranked: ListRequest & { words: Words };
  best: { where: Where; limit: number; words: Words };
  count: { where: Where | null };
  groups: GroupRequest;
};

type ReadAnswers = { list: Page; ranked: Page; best: Best; count: number; groups: Groups };

export type Kind = keyof Requests;

/** A read of many documents of a collection. */
export type Read<K extends Kind = Kind> = { [P in K]: { kind: P; request: Requests[P] } }[K];

/** A read of a kind that is not known here. */
export type SomeRead<K extends Kind> = Read<K> & Read;

/** The answer to a read of a kind. */
export type ReadAnswer<K extends Kind> = ReadAnswers[K];

/** How a long read ended, for the metrics. */
export const readEnds = ['answered', 'late', 'refused', 'dropped'] as const;
export type ReadEnd = (typeof readEnds)[number];

/** The documents of a collection, today or as of a position, at which no index of words exists. */
export type DocumentReader = {
  found?: (request: SearchRequest) => Page | Promise<Page>;
  list: (request: ListRequest) => Page | Promise<Page>;
  count: (where: Where | null) => number | Promise<number>;
  groups: (request: GroupRequest) => Groups | Promise<Groups>;
};

const readings: { [P in Kind]: (request: Requests[P], reader: DocumentReader) => Promise<ReadAnswers[P]> } = {
  list: async (request, { list }) => list(request),
  ranked: ({ words, ...request }, reader) => rankedPage(request, { ...words, newest: newestOf(request, reader) }),
  async best({ where, limit, words: { terms, fields } }, reader) {
    const { texts, total } = await newestOf({ where }, reader)({ limit: mostRanked, page: 1 });
    const best = rank(texts, terms, fields).slice(0, limit);
    return { best: best.map(({ text, score }) => ({ text, score })), total };
  },
  count: async ({ where }, { count }) => count(where),
  groups: async (request, { groups }) => groups(request),
};

/** Gives pages of the documents that a search finds, the newest first. */
function newestOf(request: Pick<ListRequest, 'where' | 'count'>, { found, list }: DocumentReader): Newest {
  const served = found ? indexedSearchIn(request.where) : null;
  const { count = 'exact' } = request;
  if (found && served) return async (page) => found({ ...served, ...page, count });
  return async (page) => list({ ...request, ...page, sort: newestFirst });
}

/** The condition of a read; null for all documents. */
export function whereOf({ request }: Read): Where | null {
  return request.where;
}

/** Whether the search file serves a condition. */
export function needsSearchFile(where: Where | null): boolean {
  if (where === null) return false;
  if ('and' in where) return where.and.some(needsSearchFile);
  if ('or' in where) return where.or.some(needsSearchFile);
  if ('today' in where) return false;
  return 'search' in where ? where.search.index !== null : where.trigrams !== undefined;
}

/** Whether a condition searches for words. */
export function searches(where: Where | null): boolean {
  if (where === null) return false;
  if ('and' in where) return where.and.some(searches);
  if ('or' in where) return where.or.some(searches);
  return 'search' in where;
}

/** Reads. @throws the errors of the reader. */
export function perform<K extends Kind>({ kind, request }: Read<K>, reader: DocumentReader): Promise<ReadAnswers[K]> {
  return readings[kind](request, reader);
}

const condition = (where: Where) => withTables(where, interruptible);
const perhaps = (where: Where | null) => where && condition(where);
const listed = <L extends ListRequest>(request: L) => ({
  ...request,
  where: perhaps(request.where),
  sort: pathsWithTables(request.sort, interruptible),
});

/** The same requests, which ask whether they may go on in each collection that they read. */
const interrupted: { [P in Kind]: (request: Requests[P]) => Requests[P] } = {
  list: listed,
  ranked: listed,
  best: (request) => ({ ...request, where: condition(request.where) }),
  count: ({ where }) => ({ where: perhaps(where) }),
  groups: (request) => ({
    ...request,
    where: perhaps(request.where),
    keys: pathsWithTables(request.keys, interruptible),
    measures: pathsWithTables(request.measures, interruptible),
  }),
};

/** Reads from {@link interruptible} tables: the read asks in each collection whether it may go on. */
export function performInterruptibly<K extends Kind>(
  { kind, request }: Read<K>,
  reader: DocumentReader,
): Promise<ReadAnswers[K]> {
  return readings[kind](interrupted[kind](request), reader);
}
