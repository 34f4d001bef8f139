import type { Sqlite } from '../../storage/sqlite.ts';
import { interruptibleScan, requireUninterrupted } from '../tables/interruption.ts';
import type { Tables } from '../tables/tables.ts';
import { eachOf, valueAt } from '../tables/value-locations.ts';
import type { Prepare } from './lists.ts';
import {
  advance,
  type Bound,
  compile,
  compileWhere,
  type Leaf,
  nextAlias,
  type PathStep,
  type QueryLocation,
  spotIn,
  type Where,
} from './where.ts';

/** The number of characters of a time up to its year, month or day, in UTC. */
const lengths = { year: 4, month: 7, day: 10 } as const;
export type TimePart = keyof typeof lengths;

/** A path by whose values documents are grouped; of a time, `part` alone may count. */
export type GroupKey = { steps: readonly PathStep[]; leaf: Leaf; part: TimePart | null };

export const measureKinds = ['sum', 'min', 'max', 'avg'] as const;
export type MeasureKind = (typeof measureKinds)[number];

/** A figure of each group. */
export type Measure = { kind: MeasureKind; steps: readonly PathStep[]; leaf: Leaf };

/** A term of the order of groups: a key or a measure, by its index, or the number of documents. */
export type GroupOrder =
  | { by: 'key' | 'measure'; index: number; isDescending: boolean }
  | { by: 'count'; isDescending: boolean };

/**
 * A request for groups. `ids`: only these documents; null for all that meet `where`. `patience`: the milliseconds that
 * it may take if lists are combined; by default five seconds.
 */
export type GroupRequest = {
  where: Where | null;
  ids: readonly string[] | null;
  keys: readonly GroupKey[];
  measures: readonly Measure[];
  order: readonly GroupOrder[];
  limit: number;
  patience?: number;
};

/** A group: its keys and measures in the order of the request, as they are stored. */
type Group = { keys: Bound[]; count: number; measures: (number | string | null)[] };

/** The first groups, and the number of all groups. */
export type Groups = { groups: Group[]; total: number };

/** The thread answers nothing else in this time. */
const groupingMilliseconds = 5000;
/** Many documents may take longer than a few. */
const documentMilliseconds = 1;
const rowsPerLook = 64;

/** Thrown if the lists of documents have too many combinations of items to be grouped in time. */
export class TooManyCombinationsError extends Error {
  override name = 'TooManyCombinationsError';

  constructor() {
    super('the lists have too many combinations');
  }
}

/** The time at which the running query must have ended, by `performance.now()`. A thread runs one query at a time. */
let deadline = Number.POSITIVE_INFINITY;

/**
 * Registers `in_time`, which queries call with each combination of the items of a document, after the key of the
 * document: it is true, or throws {@link TooManyCombinationsError}.
 */
export function registerGroups(db: Sqlite): void {
  let rows = 0;
  let last: unknown = null;
  db.function('in_time', { varargs: true }, (document) => {
    if (document !== last) deadline += documentMilliseconds;
    last = document;
    rows += 1;
    if (rows % rowsPerLook > 0) return 1;
    requireUninterrupted();
    if (performance.now() > deadline) throw new TooManyCombinationsError();
    return 1;
  });
}

function inTime<T>(milliseconds: number, run: () => T): T {
  deadline = performance.now() + milliseconds;
  try {
    return run();
  } finally {
    deadline = Number.POSITIVE_INFINITY;
  }
}

/**
 * Groups documents. A document is once in the group of each item of a list, and in the group of null if a path leads to
 * no value. Without keys, all documents are one group.
 *
 * @throws TooManyCombinationsError
 */
export function groupsOf(tables: Tables, request: GroupRequest, prepare: Prepare): Groups {
  const { where, ids, keys, measures, order, limit } = request;
  const from = openFrom(tables);
  const grouped = keys.map((key) => expressionOf(from, key));
  const measured = measures.map(
    (measure) =>
      `${measure.kind}(${expressionOf(from, { ...measure, part: null })}${measure.kind === 'sum' ? ' * 1.0' : ''})`,
  );
  const condition = where ? compileWhere(where, { tables, alias: 'd' }) : { text: '1', values: [] };
  const among = ids ? ' AND d.id IN (SELECT value FROM json_each(?))' : '';
  const columns = [
    ...grouped.map((text, index) => `${text} AS k${index}`),
    'count(*) AS n',
    ...measured.map((text, index) => `${text} AS m${index}`),
    'count(*) OVER () AS total',
  ];
  const by = keys.length > 0 ? ` GROUP BY ${grouped.map((_, index) => `k${index}`).join(', ')}` : '';
  const bound = boundOf(from, keys.length + measures.length);
  const rows = `SELECT ${columns.join(', ')} FROM ${fromText(from)} WHERE ${interruptibleScan(tables, 'd')}${condition.text}${among}${bound}${by}`;
  const shown = [...grouped.map((_, index) => `k${index}`), 'n', ...measured.map((_, index) => `m${index}`), 'total'];
  const select = prepare<string>(
    `SELECT json_array(${shown.join(', ')}) FROM (${rows}) ORDER BY ${orderOf(order, keys)} LIMIT ?`,
  );
  const values = [
    ...from.joins.flatMap((join) => join.values),
    ...condition.values,
    ...(ids ? [JSON.stringify(ids)] : []),
    limit,
  ];
  const texts = inTime(request.patience ?? groupingMilliseconds, () => select.all(...values));
  const found = texts.map((row) => JSON.parse(row) as Bound[]);
  return {
    groups: found.map((row) => ({
      keys: row.slice(0, keys.length),
      count: Number(row[keys.length]),
      measures: row.slice(keys.length + 1, -1),
    })),
    total: Number(found[0]?.at(-1) ?? 0),
  };
}

/**
 * The `ORDER BY` of groups. Ties are in the order of the keys, texts first without regard to case, so every order is
 * total.
 */
function orderOf(order: readonly GroupOrder[], keys: readonly GroupKey[]): string {
  const terms = order.flatMap((one) => {
    const direction = `${one.isDescending ? 'DESC' : 'ASC'} NULLS LAST`;
    if (one.by === 'count') return [`n ${direction}`];
    if (one.by === 'measure') return [`m${one.index} ${direction}`];
    return [`fold(k${one.index}) ${direction}`, `k${one.index} ${direction}`];
  });
  const ties = keys.flatMap((_, index) => [`fold(k${index}) ASC NULLS LAST`, `k${index} ASC NULLS LAST`]);
  return [...terms, ...ties, '1'].join(', ');
}

/** The FROM clause of a query: the tables that paths lead through, each joined once. */
type From = {
  tables: Tables;
  row: QueryLocation;
  joins: { text: string; values: Bound[] }[];
  /** The aliases of the items of lists. */
  items: string[];
  /** The spots by their steps: paths through one list speak of the same item. */
  spots: Map<string, QueryLocation>;
  /** The aliases of the items of lists, by the list and by the type of its items. */
  lists: Map<string, string>;
};

function openFrom(tables: Tables): From {
  const row = spotIn({ tables, alias: 'd' }, { lastAlias: 2000 });
  return { tables, row, joins: [], items: [], spots: new Map(), lists: new Map() };
}

function fromText({ tables, joins }: From): string {
  return [`${tables.documents} AS d`, ...joins.map(({ text }) => text)].join(' ');
}

function expressionOf(from: From, { steps, leaf, part }: GroupKey): string {
  const spot = spotAt(from, steps);
  const at = { ...spot, path: [...spot.path, leaf.name] };
  if (leaf.kind !== 'list') {
    const { text } = valueAt(at, leaf.kind);
    if (part === null) return text;
    const time = leaf.kind === 'number' ? `strftime('%Y-%m-%d', ${text} / 1000.0, 'unixepoch')` : text;
    return `substr(${time}, 1, ${lengths[part]})`;
  }
  return textsAt(from, at);
}

/**
 * The condition that ends what takes too long. A document of a megabyte may have 10,000 items in each of several lists,
 * or be read anew for each item of a list; one figure of one list takes time in proportion to the list.
 */
function boundOf({ items, joins }: From, figures: number): string {
  const isBounded = items.length === 0 || (joins.length === 1 && figures === 1);
  // It names all items, so SQLite asks it behind the last of them.
  return isBounded ? '' : ` AND in_time(${['d', ...items].map((alias) => `${alias}.key`).join(', ')})`;
}

function spotAt(from: From, steps: readonly PathStep[]): QueryLocation {
  const step = steps.at(-1);
  if (!step) return from.row;
  const key = JSON.stringify(
    steps.map(({ kind, name, ...rest }) => [kind, name, 'blockTypes' in rest ? rest.blockTypes : null]),
  );
  const known = from.spots.get(key);
  if (known) return known;
  const made = enter(from, step, advance(spotAt(from, steps.slice(0, -1)), [step]));
  from.spots.set(key, made);
  return made;
}

function enter(from: From, step: PathStep, at: QueryLocation): QueryLocation {
  const { row, joins } = from;
  if (step.kind === 'member') return at;
  if (step.kind === 'items') return objectsAt(from, at, step.blockTypes);
  const id = step.isList ? textsAt(from, at) : valueAt(at, 'text').text;
  const alias = nextAlias(row);
  const related = spotIn({ tables: step.tables, alias }, row.aliases);
  const allowed = compile(step.filter, related);
  joins.push({
    text: `LEFT JOIN ${step.tables.documents} AS ${alias} ON ${alias}.id = ${id} AND ${allowed.text}`,
    values: allowed.values,
  });
  return related;
}

/** The items of a list of objects. An item of a block that lacks the field of a path is an item without a value. */
function objectsAt(from: From, at: QueryLocation, blockTypes: readonly string[] | null): QueryLocation {
  const value = `${itemsAt(from, at, 'object')}.value`;
  const types = blockTypes?.map((type) => `'${type.replaceAll("'", "''")}'`).join(', ');
  const expression = types ? `CASE WHEN ${value} ->> '$.blockType' IN (${types}) THEN ${value} END` : value;
  return { expression, path: [], row: null, aliases: at.aliases };
}

function textsAt(from: From, at: QueryLocation): string {
  return `${itemsAt(from, at, 'text')}.value`;
}

/** The alias of the items of a list: one join, also if one path ends at a list of ids and another leads through it. */
function itemsAt({ row, joins, items, lists }: From, at: QueryLocation, type: 'object' | 'text'): string {
  const list = `${type} ${at.expression} ${at.path.join('.')}`;
  const known = lists.get(list);
  if (known) return known;
  const alias = nextAlias(row);
  joins.push({ text: `LEFT JOIN ${eachOf(at)} AS ${alias} ON ${alias}.type = '${type}'`, values: [] });
  items.push(alias);
  lists.set(list, alias);
  return alias;
}
