import type { Sqlite } from '../../storage/sqlite.ts';
import { quote, type Tables } from '../tables/tables.ts';
import { everything, preparer } from './lists.ts';
import { compileSort } from './sort.ts';
import { compileWhere, type SortKey, type Sql, type Where } from './where.ts';

/** A `join`: the documents of `tables` that point at others through their field `field`, in the order of `sort`. */
export type JoinField = { tables: Tables; field: string; sort: readonly SortKey[] };

/**
 * A request to a join for the documents that point at these ids and meet a condition; at most `limit` for each id, or
 * all if it is null.
 */
export type JoinRequest = { ids: readonly string[]; where: Where | null; limit: number | null };

/** By the id of a document, the ids of the documents that point at it. A document that nothing points at is missing. */
export type JoinSources = Map<string, string[]>;

/** The order of joins by default: the order of creation. */
export const oldestFirst: readonly SortKey[] = [{ steps: [], leaf: { name: 'id', kind: 'text' }, isDescending: false }];

/** Prepares a join over today's tables. One query, however many documents are requested. */
export function openJoin(db: Sqlite, join: JoinField): (request: JoinRequest) => JoinSources {
  const prepare = preparer(db, (statement) => statement.raw());
  return ({ ids, where, limit }) => {
    const { text, values } =
      limit === null
        ? compileAll(join, { ids, where }, (target, source) => `${target}, ${source}`)
        : compileFirst(join, { ids, where, limit });
    return sourcesIn(prepare<[target: string, source: string]>(text).all(...values));
  };
}

/**
 * Compiles a join with all documents that point at the requested ones.
 *
 * @param row makes the columns of a row from the SQL of the id that is pointed at and of the id that points.
 */
export function compileAll(
  join: JoinField,
  { ids, where }: Omit<JoinRequest, 'limit'>,
  row: (target: string, source: string) => string,
): Sql {
  const { from, condition, target, source, order, values } = pointing(join, where, 'd');
  return {
    text: `SELECT ${row(target, source)} FROM ${from}
      WHERE ${target} IN (SELECT value FROM json_each(?)) AND ${condition} ORDER BY ${order.text}`,
    values: [JSON.stringify(ids), ...values, ...order.values],
  };
}

/** Compiles a join with the first documents for each requested one. If an index has their order, no more are read. */
function compileFirst(join: JoinField, { ids, where, limit }: JoinRequest): Sql {
  const { from, condition, target, source, order, values } = pointing(join, where, 'x');
  const shown = compileSort(join.sort, join.tables, 'd');
  return {
    text: `SELECT w.value, d.id FROM json_each(?) AS w CROSS JOIN ${join.tables.documents} AS d ON d.id IN (
        SELECT ${source} FROM ${from} WHERE ${target} = w.value AND ${condition} ORDER BY ${order.text} LIMIT ? + 0
      ) ORDER BY w.key, ${shown.text}`,
    values: [JSON.stringify(ids), ...values, ...order.values, limit, ...shown.values],
  };
}

/** The rows of documents that point at others, as parts of a query; `values` are the values of the condition. */
function pointing(join: JoinField, where: Where | null, alias: string) {
  const { tables, field, sort } = join;
  const { documents, linkTable } = tables;
  const met = where ? compileWhere(where, { tables, alias }) : everything;
  const { index, ...order } = compileSort(sort, tables, alias);
  const rows = `${documents} AS ${alias}`;
  if (!isMany(join)) {
    const target = `${alias}.${quote(`f.${field}`)}`;
    return { from: rows, condition: met.text, target, source: `${alias}.id`, order, values: met.values };
  }
  const links = `${linkTable} AS l`;
  // Links are in the order of ids already.
  const byId = { text: `l.source ${sort[0]?.isDescending ? 'DESC' : 'ASC'}`, values: [] };
  return {
    from: readsDocuments(join, where) ? `${links} CROSS JOIN ${rows} ON ${alias}.id = l.source` : links,
    condition: `l.field = ? AND ${met.text}`,
    target: 'l.target',
    source: 'l.source',
    order: index === 'id' ? byId : order,
    values: [field, ...met.values],
  };
}

function isMany({ tables, field }: JoinField): boolean {
  return tables.links.some(({ name }) => name === field);
}

/**
 * Whether a join without a limit reads documents. Links alone say which document points at which, in the order of ids.
 */
export function readsDocuments(join: JoinField, where: Where | null): boolean {
  return !isMany(join) || where !== null || compileSort(join.sort, join.tables, 'd').index !== 'id';
}

/** Puts the rows of a join together, in their order. */
export function sourcesIn(rows: readonly (readonly [target: string, source: string])[]): JoinSources {
  const result: JoinSources = new Map();
  for (const [target, source] of rows) {
    const sources = result.get(target);
    if (sources) sources.push(source);
    else result.set(target, [source]);
  }
  return result;
}
