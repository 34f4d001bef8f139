import { type GroupRequest, type Groups, groupsOf } from '../query/groups.ts';
import { compileAll, type JoinField, readsDocuments, type Sources, sourcesIn } from '../query/joins.ts';
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
import { inTexts } from '../tables/places.ts';
import type { Tables } from '../tables/tables.ts';
import type { CopyRoom } from './snapshot-budget.ts';
import type { Lease } from './snapshot-store.ts';
import { openSnapshots, type SnapshotLimits } from './snapshots.ts';

export type Past = ReturnType<typeof openPast>;

/** A request for those of the documents with these ids that met a condition. */
export type SomeRequest = { ids: readonly string[]; where: Where | null; only: Members };

/**
 * Reads documents as they stood at a position. Conditions name the tables of today, and are asked of those of then.
 *
 * @param room that of this thread for copies of tables; by default one of its own.
 */
export function openPast(path: string, limits?: SnapshotLimits, room?: CopyRoom) {
  const snapshots = openSnapshots(path, limits, room);

  /**
   * Runs a query on tables as they stood; those that are `read` from end to end are copied, and so are those of its
   * hops.
   */
  async function on<T>(position: number, read: readonly Tables[], query: (lease: Lease) => T): Promise<T> {
    const lease = await snapshots.hold(position, read);
    try {
      return query(lease);
    } finally {
      lease.release();
    }
  }

  /**
   * Whether a document was there and met a condition. Nothing is copied for it, whatever the condition goes through.
   */
  function matches(position: number, tables: Tables, id: string, where: Where): Promise<boolean> {
    return on(position, [], ({ prepare }) => matchedAt(prepare, tables, where)(position, id));
  }

  /** Those of the documents that were there and met a condition, by id, whole or some members. */
  function some(position: number, tables: Tables, { ids, where, only }: SomeRequest): Promise<Map<string, string>> {
    return on(position, where ? relatedIn(where) : [], ({ prepare, tablesFor }) => {
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

  /** A page of the documents that met a condition, and how many did. */
  function list(position: number, tables: Tables, request: ListRequest): Promise<Page> {
    const { where, sort } = request;
    const read = [tables, ...(where ? relatedIn(where) : []), ...sort.flatMap(({ steps }) => relatedOf(steps))];
    return on(position, read, (lease) => {
      const { prepare, tablesFor } = lease;
      const asked: ListRequest = {
        ...request,
        where: where && withTables(where, tablesFor),
        sort: pathsWithTables(sort, tablesFor),
      };
      const total = totalsIn(lease, tables, where);
      return lease.together(() => pageOf(tablesFor(tables), asked, { prepare, total, factors: measured }));
    });
  }

  /** How many documents met a condition. */
  function count(position: number, tables: Tables, where: Where | null): Promise<number> {
    return on(position, [tables, ...(where ? relatedIn(where) : [])], (lease) => {
      const total = totalsIn(lease, tables, where);
      return lease.together(() => total(where ? conditionOn(tables, lease.tablesFor, where) : everything));
    });
  }

  /** A `join`, as {@link openJoin} has those of today, but with all that pointed at the documents. */
  function sources(position: number, join: JoinField, ids: readonly string[], where: Where | null): Promise<Sources> {
    const { tables } = join;
    const read = [...(readsDocuments(join, where) ? [tables] : []), ...(where ? relatedIn(where) : [])];
    return on(position, read, ({ prepare, tablesFor }) => {
      const then: JoinField = { ...join, tables: tablesFor(tables) };
      const condition = where && withTables(where, tablesFor);
      const { text, values } = compileAll(
        then,
        { ids, where: condition },
        (target, source) => `json_array(${target}, ${source})`,
      );
      const rows = prepare<string>(text).all(...values);
      return sourcesIn(rows.map((row) => JSON.parse(row)));
    });
  }

  /** Groups of the documents that were there and met a condition. */
  function groups(position: number, tables: Tables, request: GroupRequest): Promise<Groups> {
    const { where, keys, measures } = request;
    const read = [
      tables,
      ...(where ? relatedIn(where) : []),
      ...[...keys, ...measures].flatMap(({ steps }) => relatedOf(steps)),
    ];
    return on(position, read, ({ prepare, tablesFor }) => {
      const asked: GroupRequest = {
        ...request,
        where: where && withTables(where, tablesFor),
        keys: pathsWithTables(keys, tablesFor),
        measures: pathsWithTables(measures, tablesFor),
      };
      return groupsOf(tablesFor(tables), asked, prepare);
    });
  }

  return { matches, some, list, count, groups, sources, close: snapshots.close };
}

/**
 * Says whether a document was there at a position and met a condition: by look-ups alone, with one statement for all
 * positions.
 */
export function matchedAt(prepare: Prepare, tables: Tables, where: Where): (position: number, id: string) => boolean {
  const then = viewAtBound(tables);
  const condition = compileForOne(withTables(where, viewAtBound), { tables: then, alias: 'd' });
  const select = prepare(`SELECT 1 FROM ${oneOf(then, '@id')} AS d WHERE ${condition.text}`);
  return (position, id) => select.get(...condition.values, { position, id }) !== undefined;
}

/** Counts documents as of then, each condition once. */
function totalsIn(lease: Lease, tables: Tables, where: Where | null): (condition: Sql, most?: number) => number {
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

function conditionOn(tables: Tables, tablesFor: Lease['tablesFor'], where: Where): Sql {
  return compileWhere(withTables(where, tablesFor), { tables: tablesFor(tables), alias: 'd' });
}

/** The tables that a condition goes through as of then. */
function relatedIn(where: Where): Tables[] {
  if ('and' in where) return where.and.flatMap(relatedIn);
  if ('or' in where) return where.or.flatMap(relatedIn);
  return 'today' in where || 'search' in where ? [] : relatedOf(where.steps);
}

function relatedOf(steps: SortKey['steps']): Tables[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'related') return [];
    return [step.tables, ...(step.filter ? relatedIn(step.filter) : [])];
  });
}

function asksToday(where: Where): boolean {
  if ('and' in where) return where.and.some(asksToday);
  if ('or' in where) return where.or.some(asksToday);
  if ('today' in where) return true;
  if ('search' in where) return false;
  return where.steps.some((step) => step.kind === 'related' && step.filter !== null && asksToday(step.filter));
}
