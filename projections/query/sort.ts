import type { Tables } from '../tables/tables.ts';
import { valueAt } from '../tables/value-locations.ts';
import { advance, compile, nextAlias, type QueryLocation, type SortKey, type Sql, spotIn } from './where.ts';

/** One value that rows are ordered by. Only the last, the id, is never null. */
export type SortTerm = { value: Sql; isDescending: boolean };

/**
 * An `ORDER BY`. `index` is the path whose index has this order; `unindexed` is the same order in a form that no index
 * serves.
 */
export type SortOrder = Sql & { unindexed: string; index: string | null; terms: readonly SortTerm[] };

/**
 * Compiles a sort: nulls last, text without regard to case, ties by `id` in the direction of the first key. An index
 * has its nulls first; SQLite reads it in two runs for `ASC NULLS LAST` of its first key.
 */
export function compileSort(sort: readonly SortKey[], tables: Tables, alias: string): SortOrder {
  const terms = sortTerms(sort, tables, alias);
  const ordered = terms.map(({ value, isDescending }, index) => {
    return `${value.text} ${isDescending ? 'DESC' : 'ASC'}${index === terms.length - 1 ? '' : ' NULLS LAST'}`;
  });
  return {
    text: ordered.join(', '),
    unindexed: ordered.map((text) => `+${text}`).join(', '),
    values: terms.flatMap(({ value }) => value.values),
    index: indexOfOrder(sort, tables),
    terms,
  };
}

/** The path whose index has the order of a sort; null without one. */
export function indexOfOrder(sort: readonly SortKey[], { columns }: Tables): string | null {
  const { keys, isDescending } = decidingKeys(sort);
  const [key, ...rest] = keys;
  if (!key) return 'id';
  if (rest.length > 0 || key.isDescending !== isDescending) return null;
  if (key.steps.some(({ kind }) => kind !== 'member')) return null;
  const path = [...key.steps.map(({ name }) => name), key.leaf.name].join('.');
  const isIndexed = path === 'updatedAt' || columns.some((one) => one.isIndexed && one.path.join('.') === path);
  return isIndexed ? path : null;
}

function sortTerms(sort: readonly SortKey[], tables: Tables, alias: string): SortTerm[] {
  const row = spotIn({ tables, alias }, { lastAlias: 1000 });
  const { keys, isDescending } = decidingKeys(sort);
  return [
    ...keys.map((key) => ({ value: sortValue(key, 0, row), isDescending: key.isDescending })),
    { value: { text: `${alias}.id`, values: [] }, isDescending },
  ];
}

/**
 * The keys before the id that decide an order, and the direction of the id. Keys behind the id decide nothing. A
 * `createdAt` right before the id, in its direction, decides nothing either: an id begins with the millisecond of its
 * `createdAt`, even if a clock was wrong, so the index of ids has that order.
 */
function decidingKeys(sort: readonly SortKey[]): { keys: readonly SortKey[]; isDescending: boolean } {
  const end = sort.findIndex((key) => isOwn(key, 'id'));
  const keys = end === -1 ? sort : sort.slice(0, end);
  const isDescending = (sort[end] ?? sort[0])?.isDescending !== false;
  const last = keys.at(-1);
  const isAge = last !== undefined && isOwn(last, 'createdAt') && last.isDescending === isDescending;
  return { keys: isAge ? keys.slice(0, -1) : keys, isDescending };
}

function isOwn({ steps, leaf }: SortKey, name: string): boolean {
  return steps.length === 0 && leaf.name === name;
}

function sortValue(key: SortKey, index: number, spot: QueryLocation): Sql {
  const { steps, leaf } = key;
  const step = steps[index];
  if (!step) return { text: valueAt({ ...spot, path: [...spot.path, leaf.name] }, leaf.kind).sorted, values: [] };
  const at = advance(spot, [step]);
  if (step.kind !== 'related') return sortValue(key, index + 1, at);
  const alias = nextAlias(spot);
  const related = spotIn({ tables: step.tables, alias }, spot.aliases);
  const inner = sortValue(key, index + 1, related);
  const allowed = compile(step.filter, related);
  return {
    text: `(SELECT ${inner.text} FROM ${step.tables.documents} AS ${alias} WHERE ${alias}.id = ${valueAt(at, 'text').text} AND ${allowed.text})`,
    values: [...inner.values, ...allowed.values],
  };
}
