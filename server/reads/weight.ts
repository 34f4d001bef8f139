import type { GroupRequest } from '../../projections/query/groups.ts';
import type { ListRequest } from '../../projections/query/lists.ts';
import type { Search } from '../../projections/query/search.ts';
import { indexOfOrder } from '../../projections/query/sort.ts';
import type { Leaf, PathStep, SortKey, Where } from '../../projections/query/where.ts';
import type { Tables } from '../../projections/tables/tables.ts';
import { type Read, searches, whereOf } from './reads.ts';

/**
 * A collection that is read: its tables, the number of documents of each collection by key, and the number of events
 * since the moment of the read; null for a read of today.
 */
type WeighedCollection = { tables: Tables; sizeOf: (key: string) => number; events: number | null };

/** A page behind this number of documents is found by reading all documents before it. */
const deepest = 10_000;
/** A read of more values than this, of stored columns, may block the thread for some milliseconds. */
const mostLooks = 20_000;
/** The limit for a read as of a moment, which the thread cannot end: documents may be long. */
const mostPastLooks = 2_000;
/**
 * A value in the JSON of a document takes as long as this number of columns; so does a text whose words are searched.
 */
const ofJson = 20;
/** More conditions than this are neither left to an index, nor, as of a moment, to this thread. */
const mostServed = 4;

type Path = { steps: readonly PathStep[]; leaf: Leaf };

/** Whether a page is so far from the beginning that the documents before it should not all be read. */
export function isDeep({ limit, page, after = null }: ListRequest): boolean {
  return after === null && limit > 0 && (page - 1) * limit > deepest;
}

/** Whether a read that no index serves may take long. */
export function mayBeLong(read: Read, { tables, sizeOf, events }: WeighedCollection): boolean {
  const where = whereOf(read);
  if (read.kind === 'groups' && combinesLists(read.request)) return true;
  const paths = [...sortOf(read), ...figuresOf(read)];
  const looks = 1 + looksOf(where, tables) + paths.reduce((sum, path) => sum + looksAt(path, tables), 0);
  const related = [...relatedOf(where), ...paths.flatMap(({ steps }) => relatedIn(steps))];
  const rows = [tables, ...related].reduce((sum, { key }) => sum + sizeOf(key), 0);
  // Each row as of that moment is copied first, and so is each version that has ended since.
  if (events === null) return rows * looks > mostLooks;
  return (rows + events) * looks > mostPastLooks || (where !== null && conditionsIn(where) > mostServed);
}

/** The keys of all collections that a read depends on; those of drafts too that its conditions go through. */
export function keysRead(read: Read, tables: Tables): ReadonlySet<string> {
  const paths: readonly Path[] = [...sortOf(read), ...figuresOf(read)];
  const related = [...relatedOf(whereOf(read)), ...paths.flatMap(({ steps }) => relatedIn(steps))];
  const keysOf = ({ key, overlay }: Tables) => (overlay ? [key, overlay.over.key] : [key]);
  return new Set([tables.key, ...related.flatMap(keysOf)]);
}

/** Whether indexes find all documents of a read of today, and a page in its order. */
export function isServed(read: Read, tables: Tables): boolean {
  if (read.kind !== 'list' && read.kind !== 'count') return false;
  const where = whereOf(read);
  if (where !== null && (conditionsIn(where) > mostServed || !isFound(where, tables))) return false;
  if (read.kind === 'count') return true;
  const { sort, limit } = read.request;
  return limit > 0 && !isDeep(read.request) && indexOfOrder(sort, tables) !== null;
}

function conditionsIn(where: Where): number {
  if ('and' in where) return where.and.reduce((sum, part) => sum + conditionsIn(part), 0);
  if ('or' in where) return where.or.reduce((sum, part) => sum + conditionsIn(part), 0);
  return 1;
}

const foundBy: ReadonlySet<string> = new Set([
  'equals',
  'in',
  'contains',
  'greater_than',
  'greater_than_equal',
  'less_than',
  'less_than_equal',
]);

/** Whether an index serves each part of a condition. */
function isFound(where: Where, tables: Tables): boolean {
  if ('and' in where) return where.and.every((part) => isFound(part, tables));
  if ('or' in where) return where.or.every((part) => isFound(part, tables));
  if ('today' in where || 'search' in where || !foundBy.has(where.operator)) return false;
  return where.steps.every(({ kind }) => kind === 'member') && hasIndex(where, tables);
}

const ownIndexes: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt']);

/** Whether an index has the values at the end of a path, in the tables where it ends. */
export function hasIndex({ steps, leaf }: Path, tables: Tables): boolean {
  const path = pathOf({ steps, leaf });
  if (ownIndexes.has(path) || tables.links.some(({ name }) => name === path)) return true;
  return tables.columns.some((column) => column.isIndexed && column.path.join('.') === path);
}

function pathOf({ steps, leaf }: Path): string {
  return [...steps.map(({ name }) => name), leaf.name].join('.');
}

/** How many values of a row are read. */
function looksOf(where: Where | null, tables: Tables): number {
  if (where === null) return 0;
  if ('and' in where) return where.and.reduce((sum, part) => sum + looksOf(part, tables), 0);
  if ('or' in where) return where.or.reduce((sum, part) => sum + looksOf(part, tables), 0);
  if ('today' in where) return 1 + looksOf(where.today, where.tables);
  if ('search' in where) return looksOfSearch(where.search);
  return looksAt(where, tables);
}

/** In an index, FTS5 reads the entry of each document that has a word. */
function looksOfSearch({ terms, fields, index }: Search): number {
  return index ? terms.length : ofJson * terms.length * Math.max(1, fields.length);
}

function looksAt({ steps, leaf }: Path, tables: Tables): number {
  const last = steps.findLastIndex(({ kind }) => kind === 'related');
  const end = last === -1 ? tables : tablesAt(steps[last] as PathStep, tables);
  const rest = steps.slice(last + 1);
  const filters = steps.reduce(
    (sum, step) => sum + (step.kind === 'related' ? looksOf(step.filter, step.tables) : 0),
    0,
  );
  return last + 1 + filters + (isColumn({ steps: rest, leaf }, end) ? 1 : ofJson);
}

function isColumn(path: Path, tables: Tables): boolean {
  const name = pathOf(path);
  if (path.steps.some(({ kind }) => kind === 'items')) return false;
  return ownIndexes.has(name) || tables.columns.some((column) => column.isStored && column.path.join('.') === name);
}

function tablesAt(step: PathStep, otherwise: Tables): Tables {
  return step.kind === 'related' ? step.tables : otherwise;
}

function sortOf(read: Read): readonly SortKey[] {
  // The best documents are found among the newest.
  return read.kind === 'list' ? read.request.sort : [];
}

function figuresOf(read: Read): readonly Path[] {
  return read.kind === 'groups' ? [...read.request.keys, ...read.request.measures] : [];
}

/** Whether there are several keys or measures, one of them through a list: a document then stands for many rows. */
export function combinesLists({ keys, measures }: GroupRequest): boolean {
  const paths: Path[] = [...keys, ...measures];
  return paths.length > 1 && paths.some(goesThroughList);
}

function goesThroughList({ steps, leaf }: Path): boolean {
  return (
    leaf.kind === 'list' || steps.some((step) => step.kind === 'items' || (step.kind === 'related' && step.isList))
  );
}

function relatedOf(where: Where | null): Tables[] {
  if (where === null) return [];
  if ('and' in where) return where.and.flatMap(relatedOf);
  if ('or' in where) return where.or.flatMap(relatedOf);
  if ('today' in where) return relatedOf(where.today);
  return 'search' in where ? [] : relatedIn(where.steps);
}

function relatedIn(steps: readonly PathStep[]): Tables[] {
  return steps.flatMap((step) => (step.kind === 'related' ? [step.tables, ...relatedOf(step.filter)] : []));
}

/** Whether an answer is worth keeping until something is written, however small the collection. */
export function isWorthKeeping(read: Read): boolean {
  return read.kind === 'groups' ? read.request.ids === null : searches(whereOf(read));
}
