import { intact } from './damage.ts';
import { everything, idIn, type ListRequest, measured, type Page, pageOf } from './lists.ts';
import { inTexts } from './places.ts';
import { type Lease, openSnapshots, type SnapshotLimits } from './snapshots.ts';
import { quote, type Tables } from './tables.ts';
import { compileWhere, type SortKey, type Sql, sortWithTables, type Where, withTables } from './where.ts';

export type Past = ReturnType<typeof openPast>;

/** Reads documents as they stood at a position. Conditions name the tables of today, and are asked of those of then. */
export function openPast(path: string, limits?: SnapshotLimits) {
  const snapshots = openSnapshots(path, limits);

  /** Runs a query on tables as they stood; those that are `read` from end to end are copied, and so are those of its hops. */
  async function on<T>(position: number, read: readonly Tables[], query: (lease: Lease) => T): Promise<T> {
    const lease = await snapshots.hold(position, read);
    try {
      return query(lease);
    } finally {
      lease.release();
    }
  }

  /** Whether a document was there and met a condition. */
  function matches(position: number, tables: Tables, id: string, where: Where): Promise<boolean> {
    return on(position, relatedIn(where), ({ prepare, tablesFor }) => {
      const condition = conditionOn(tables, tablesFor, where);
      const select = prepare(`SELECT 1 FROM ${tablesFor(tables).documents} AS d WHERE d.id = ? AND ${condition.text}`);
      return select.get(id, ...condition.values) !== undefined;
    });
  }

  /** Those of the documents that were there and met a condition, by id. */
  function some(
    position: number,
    tables: Tables,
    ids: readonly string[],
    where: Where | null,
  ): Promise<Map<string, string>> {
    return on(position, where ? relatedIn(where) : [], ({ prepare, tablesFor }) => {
      const condition = where ? conditionOn(tables, tablesFor, where) : everything;
      const then = tablesFor(tables);
      const select = prepare(
        `SELECT ${inTexts(then, 'd', 'doc')} FROM ${then.documents} AS d
         WHERE d.id IN (SELECT value FROM json_each(?)) AND ${condition.text}`,
      );
      const found = select.all(JSON.stringify(ids), ...condition.values) as (string | null)[];
      const texts = found.map((text) => intact(text, tables.pastTexts, 'a document'));
      return new Map(texts.map((text) => [idIn(text), text]));
    });
  }

  /** A page of the documents that met a condition, and how many did. A limit of -1 gives all of them. */
  function list(position: number, tables: Tables, request: ListRequest): Promise<Page> {
    const { where, sort } = request;
    const read = [tables, ...(where ? relatedIn(where) : []), ...sort.flatMap(({ steps }) => relatedOf(steps))];
    return on(position, read, (lease) => {
      const { prepare, tablesFor } = lease;
      const asked: ListRequest = {
        ...request,
        where: where && withTables(where, tablesFor),
        sort: sortWithTables(sort, tablesFor),
      };
      const then = tablesFor(tables);
      const totals = where && asksToday(where) ? lease.totalsOfToday() : lease.totals;
      const total = (condition: Sql) => {
        const rows = condition.text === everything.text ? lease.rowsOf(tables) : null;
        const key = JSON.stringify([then.documents, condition]);
        const known = rows ?? totals.get(key);
        if (known !== undefined) return known;
        const select = prepare(`SELECT count(*) FROM ${then.documents} AS d WHERE ${condition.text}`);
        const found = select.get(...condition.values) as number;
        totals.set(key, found);
        return found;
      };
      return lease.together(() => pageOf(then, asked, { prepare, total, factors: measured }));
    });
  }

  /** A `join`: for some documents, the ids of those of `tables` that pointed at each, in the order of their creation. */
  function sources(
    position: number,
    tables: Tables,
    field: string,
    ids: readonly string[],
  ): Promise<Map<string, string[]>> {
    const isMany = tables.links.some(({ name }) => name === field);
    return on(position, isMany ? [] : [tables], ({ prepare, tablesFor }) => {
      const { documents, linkTable } = tablesFor(tables);
      const column = quote(`f.${field}`);
      const from = isMany
        ? `SELECT target, source FROM ${linkTable} AS l WHERE l.field = ? AND l.target IN`
        : `SELECT ${column} AS target, id AS source FROM ${documents} AS d WHERE d.${column} IN`;
      const select = prepare(
        `SELECT json_array(target, source) FROM (${from} (SELECT value FROM json_each(?))) ORDER BY source`,
      );
      const rows = select.all(...(isMany ? [field] : []), JSON.stringify(ids)) as string[];
      const pairs = rows.map((row) => JSON.parse(row) as [target: string, source: string]);
      const byTarget = Map.groupBy(pairs, ([target]) => target);
      return new Map([...byTarget].map(([target, found]) => [target, found.map(([, source]) => source)]));
    });
  }

  return { matches, some, list, sources, close: snapshots.close };
}

function conditionOn(tables: Tables, tablesFor: Lease['tablesFor'], where: Where): Sql {
  return compileWhere(withTables(where, tablesFor), tablesFor(tables), 'd');
}

/** The tables that a condition goes through as of then. */
function relatedIn(where: Where): Tables[] {
  if ('and' in where) return where.and.flatMap(relatedIn);
  if ('or' in where) return where.or.flatMap(relatedIn);
  return 'today' in where ? [] : relatedOf(where.steps);
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
  return where.steps.some((step) => step.kind === 'related' && step.filter !== null && asksToday(step.filter));
}
