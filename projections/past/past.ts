import { type GroupRequest, type Groups, groupsOf } from '../query/groups.ts';
import { compileAll, type JoinField, type JoinSources, readsDocuments, sourcesIn } from '../query/joins.ts';
import { type LineFacts, lineFactsIn } from '../query/line-facts.ts';
import {
  countIn,
  docOf,
  everything,
  idIn,
  type ListRequest,
  type Members,
  measured,
  type Page,
  type Prepare,
  pageOf,
} from '../query/lists.ts';
import { overlayIn, overlayOf } from '../query/overlay.ts';
import {
  compileForOne,
  compileWhere,
  oneOf,
  pathsWithTables,
  type SortKey,
  type Sql,
  type Where,
  withTables,
} from '../query/where.ts';
import { intact } from '../tables/damage.ts';
import { viewAtBound } from '../tables/past-tables.ts';
import type { Tables } from '../tables/tables.ts';
import { inTexts } from '../tables/value-locations.ts';
import { type Outlook, type OutlookPart, openOutlooks } from './outlook.ts';
import { openBudget, type SnapshotBudget } from './snapshot-budget.ts';
import type { SnapshotLease } from './snapshot-store.ts';
import { openSnapshots, type SnapshotLimits, type Snapshots, snapshotLimits } from './snapshots.ts';

export type Past = ReturnType<typeof openPast>;

/** A request for the documents with these ids that met a condition. */
export type SomeRequest = { ids: readonly string[]; where: Where | null; only: Members };

/** The copies of tables, and the position at which they are read. */
type Moment = { snapshots: Snapshots; position: number };

/**
 * Reads documents as they stood at a position. Conditions are compiled for today's tables and run on the copies.
 *
 * @param budget the memory of this thread for copies of tables; by default this reader has its own.
 */
export function openPast(path: string, limits: SnapshotLimits = snapshotLimits, budget: SnapshotBudget = openBudget()) {
  const snapshots = openSnapshots(path, limits, budget);
  const outlooks = openOutlooks({ path, limits, budget });
  return {
    /** Whether a document was there and met a condition. Nothing is copied, whatever the condition goes through. */
    matches: (position: number, tables: Tables, { id, where }: { id: string; where: Where }): Promise<boolean> =>
      onTables({ snapshots, position }, [], ({ prepare }) => matchedAt(prepare, tables, where)(position, id)),
    /** The documents of a request that were there and met its condition, by id, whole or some members. */
    some: (position: number, tables: Tables, request: SomeRequest): Promise<Map<string, string>> =>
      someOf({ snapshots, position }, tables, request),
    /** A page of the documents that met a condition, and how many did. */
    list: (position: number, tables: Tables, request: ListRequest): Promise<Page> =>
      listOf({ snapshots, position }, tables, request),
    /** How many documents met a condition. */
    count: (position: number, tables: Tables, where: Where | null): Promise<number> =>
      countOf({ snapshots, position }, tables, where),
    /** A `join`, as {@link openJoin} gives today's, but with all documents that pointed at these. */
    sources: (position: number, join: JoinField, request: SourcesRequest): Promise<JoinSources> =>
      sourcesOf({ snapshots, position }, join, request),
    /** Groups of the documents that were there and met a condition. */
    groups: (position: number, tables: Tables, request: GroupRequest): Promise<Groups> =>
      groupsAt({ snapshots, position }, tables, request),
    /** How documents with drafts were published, by id. */
    facts: (position: number, tables: Tables, ids: readonly string[]): Promise<Map<string, LineFacts>> =>
      onTables({ snapshots, position }, [], ({ prepare, tablesFor }) => lineFactsIn(tablesFor(tables), ids, prepare)),
    /** The public state with other states of some documents, kept under a key, see {@link openOutlooks}. */
    outlook: (key: string, parts: () => readonly OutlookPart[]): Outlook => outlooks.hold(key, parts),
    close(): Promise<void> {
      outlooks.close();
      return snapshots.close();
    },
  };
}

/** The documents that a `join` is asked for, and the condition on the documents that pointed at them. */
type SourcesRequest = { ids: readonly string[]; where: Where | null };

/**
 * Runs a query on tables as they stood. Tables that are `read` from end to end are copied, and so are the tables that
 * its conditions go through.
 */
async function onTables<T>(
  { snapshots, position }: Moment,
  read: readonly Tables[],
  query: (lease: SnapshotLease) => T,
): Promise<T> {
  const lease = await snapshots.hold(position, read.flatMap(layersOf));
  try {
    return query({ ...lease, ...withOverlays(lease) });
  } finally {
    lease.release();
  }
}

/** The tables that are copied for an overlay: its two, and those that its conditions go through. */
function layersOf(tables: Tables): Tables[] {
  const overlay = overlayIn(tables);
  if (!overlay) return [tables];
  const { under, over, shown } = overlay;
  return [under, over, ...relatedIn(shown.under), ...relatedIn(shown.over)];
}

/** Makes overlays of the tables as they stood. */
function withOverlays({ tablesFor, rowsOf }: SnapshotLease): Pick<SnapshotLease, 'tablesFor' | 'rowsOf'> {
  const own = (tables: Tables): Tables => {
    const overlay = overlayIn(tables);
    if (!overlay) return tablesFor(tables);
    const { under, over, shown } = overlay;
    const then = (where: Where | null) => where && withTables(where, own);
    return overlayOf({
      under: tablesFor(under),
      over: tablesFor(over),
      shown: { under: then(shown.under), over: then(shown.over) },
    });
  };
  return { tablesFor: own, rowsOf: (tables) => (overlayIn(tables) ? null : rowsOf(tables)) };
}

function someOf(moment: Moment, tables: Tables, { ids, where, only }: SomeRequest): Promise<Map<string, string>> {
  return onTables(moment, relatedIn(where), ({ prepare, tablesFor }) => {
    const condition = where ? conditionOn(tables, tablesFor, where) : everything;
    const then = tablesFor(tables);
    const select = prepare<string | null>(
      `SELECT ${inTexts(then, 'd', docOf(then, only))} FROM ${then.documents} AS d
       WHERE d.id IN (SELECT value FROM json_each(?)) AND ${condition.text}`,
    );
    const found = select.all(JSON.stringify(ids), ...condition.values);
    const texts = found.map((text) => intact(text, tables.pastTexts, 'a document'));
    return new Map(texts.map((text) => [idIn(text), text]));
  });
}

function listOf(moment: Moment, tables: Tables, request: ListRequest): Promise<Page> {
  const { where, sort } = request;
  const read = [tables, ...relatedIn(where), ...sort.flatMap(({ steps }) => relatedOf(steps))];
  return onTables(moment, read, (lease) => {
    const { prepare, tablesFor } = lease;
    const onCopies: ListRequest = {
      ...request,
      where: where && withTables(where, tablesFor),
      sort: pathsWithTables(sort, tablesFor),
    };
    const total = totalsIn(lease, tables, where);
    return lease.together(() => pageOf(tablesFor(tables), onCopies, { prepare, total, factors: measured }));
  });
}

function countOf(moment: Moment, tables: Tables, where: Where | null): Promise<number> {
  return onTables(moment, [tables, ...relatedIn(where)], (lease) => {
    const total = totalsIn(lease, tables, where);
    return lease.together(() => total(where ? conditionOn(tables, lease.tablesFor, where) : everything));
  });
}

function sourcesOf(moment: Moment, join: JoinField, { ids, where }: SourcesRequest): Promise<JoinSources> {
  const { tables } = join;
  const read = [...(readsDocuments(join, where) ? [tables] : []), ...relatedIn(where)];
  return onTables(moment, read, ({ prepare, tablesFor }) => {
    const then: JoinField = { ...join, tables: tablesFor(tables) };
    const request = { ids, where: where && withTables(where, tablesFor) };
    const { text, values } = compileAll(then, request, (target, source) => `json_array(${target}, ${source})`);
    const rows = prepare<string>(text).all(...values);
    return sourcesIn(rows.map((row) => JSON.parse(row)));
  });
}

function groupsAt(moment: Moment, tables: Tables, request: GroupRequest): Promise<Groups> {
  const { where, keys, measures } = request;
  const read = [tables, ...relatedIn(where), ...[...keys, ...measures].flatMap(({ steps }) => relatedOf(steps))];
  return onTables(moment, read, ({ prepare, tablesFor }) => {
    const onCopies: GroupRequest = {
      ...request,
      where: where && withTables(where, tablesFor),
      keys: pathsWithTables(keys, tablesFor),
      measures: pathsWithTables(measures, tablesFor),
    };
    return groupsOf(tablesFor(tables), onCopies, prepare);
  });
}

/**
 * Prepares the question whether a document was there at a position and met a condition. One statement, which only looks
 * rows up, serves all positions.
 */
export function matchedAt(prepare: Prepare, tables: Tables, where: Where): (position: number, id: string) => boolean {
  const then = viewAtBound(tables);
  const condition = compileForOne(withTables(where, viewAtBound), { tables: then, alias: 'd' });
  const select = prepare(`SELECT 1 FROM ${oneOf(then, '@id')} AS d WHERE ${condition.text}`);
  return (position, id) => select.get(...condition.values, { position, id }) !== undefined;
}

/** Counts the documents of a lease, each condition once. */
function totalsIn(
  lease: SnapshotLease,
  tables: Tables,
  where: Where | null,
): (condition: Sql, most?: number) => number {
  const { prepare, tablesFor } = lease;
  const then = tablesFor(tables);
  const totals = where && asksToday(where) ? lease.totalsOfToday() : lease.totals;
  return (condition, most) => {
    const rows = condition.text === everything.text ? lease.rowsOf(tables) : null;
    const key = JSON.stringify([then.documents, condition, ...(most === undefined ? [] : [most])]);
    const known = rows ?? totals.get(key);
    if (known !== undefined) return known;
    const found = countIn(then, condition, { prepare, ...(most === undefined ? {} : { most }) });
    totals.set(key, found);
    return found;
  };
}

function conditionOn(tables: Tables, tablesFor: SnapshotLease['tablesFor'], where: Where): Sql {
  return compileWhere(withTables(where, tablesFor), { tables: tablesFor(tables), alias: 'd' });
}

/** The tables that a condition goes through. */
function relatedIn(where: Where | null): Tables[] {
  if (where === null) return [];
  if ('and' in where) return where.and.flatMap(relatedIn);
  if ('or' in where) return where.or.flatMap(relatedIn);
  return 'today' in where || 'search' in where ? [] : relatedOf(where.steps);
}

function relatedOf(steps: SortKey['steps']): Tables[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'related') return [];
    return [step.tables, ...relatedIn(step.filter)];
  });
}

function asksToday(where: Where): boolean {
  if ('and' in where) return where.and.some(asksToday);
  if ('or' in where) return where.or.some(asksToday);
  if ('today' in where) return true;
  if ('search' in where) return false;
  return where.steps.some((step) => step.kind === 'related' && step.filter !== null && asksToday(step.filter));
}
