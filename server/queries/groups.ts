import { type FieldError, inQuery } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import {
  type GroupKey,
  type GroupOrder,
  type GroupRequest,
  type Measure,
  type MeasureKind,
  measureKinds,
  type TimePart,
} from '../../projections/query/groups.ts';
import { recordLimits } from './limits.ts';
import type { Now } from './moments.ts';
import { addTo, askedOf, count, describedOnly, type Query, settle, text } from './parameters.ts';
import { type FoundPath, isManyValued, resolvePath, type SearchReach } from './paths.ts';
import { draftViewParameter, listParameters } from './query.ts';
import { readWhere } from './where.ts';

const mostKeys = 3;
const mostMeasures = 20;
const parts: readonly TimePart[] = ['year', 'month', 'day'];

const limit = count(recordLimits, 'Groups in the answer');
const { where, asOf } = listParameters;
const measureOf = (what: string) =>
  describedOnly(`Paths of ${what} in each group, separated by commas.`, { minLength: 1 });

/** The query of `aggregate`. */
export const aggregateParameters = {
  groupBy: describedOnly(
    `Up to ${mostKeys} paths, separated by commas; a path to a date or time may end in .year, .month or .day, in UTC. ` +
      'A document is in the group of each item of a list, and in the group of `null` if it has no value. Without `groupBy`, ' +
      'all documents are one group. A field that the caller may not read in every document, or that a read hook changes, is ' +
      'refused.',
    { minLength: 1 },
  ),
  sum: measureOf('numbers, for their sum'),
  min: measureOf('numbers and times, for their minimum'),
  max: measureOf('numbers and times, for their maximum'),
  avg: measureOf('numbers, for their mean'),
  where,
  sort: describedOnly(
    '`count`, a figure such as `sum.views`, or a path of `groupBy`; several with commas, `-` in front for descending.',
    {
      minLength: 1,
      default: '-count',
    },
  ),
  limit,
  asOf,
};

/** The query of `distinct`. */
export const distinctParameters = {
  field: text('The path of the field whose values are listed.', { isRequired: true }),
  where,
  limit,
  asOf,
};

/** A path by its name in the answer, and the field at its end. */
export type WithName<T> = T & { name: string; field: FoundPath['field'] };

/** A checked query of groups: its keys and measures have their names in the answer. */
export type GroupQuery = Omit<GroupRequest, 'ids' | 'keys' | 'measures'> & {
  keys: readonly WithName<GroupKey>[];
  measures: readonly WithName<Measure>[];
};

/** The fields that the caller may group by, and whether the collection has drafts. */
type GroupSight = { reach: SearchReach; hasDrafts: boolean };

/**
 * Reads the query of `aggregate`.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export async function readAggregateQuery(
  query: Query,
  now: Now,
  { reach, hasDrafts }: GroupSight,
): Promise<GroupQuery> {
  const parameters = hasDrafts ? { ...aggregateParameters, ...draftViewParameter } : aggregateParameters;
  const asked = askedOf<Now, typeof aggregateParameters>(parameters, query, now);
  const { errors } = asked;
  const keys = await keysOf(query.groupBy, { reach, errors });
  const measures: WithName<Measure>[] = [];
  for (const kind of measureKinds) measures.push(...(await measuresOf(kind, query[kind], { reach, errors })));
  const where = await readWhere(query, reach).catch((error: unknown) => addTo(errors, error));
  const order = orderOf(query.sort, { keys, measures, errors });
  if (measures.length > mostMeasures)
    errors.push({
      ...inQuery('sum', 'max_items', { limit: mostMeasures }),
      message: `sum, min, max and avg may name at most ${mostMeasures} fields in all, got ${measures.length}`,
    });
  const { limit } = settle(asked);
  return { where: where ?? null, keys, measures, order, limit };
}

/**
 * Reads the query of `distinct`: the groups of one path.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export async function readDistinctQuery(query: Query, now: Now, { reach, hasDrafts }: GroupSight): Promise<GroupQuery> {
  const parameters = hasDrafts ? { ...distinctParameters, ...draftViewParameter } : distinctParameters;
  const asked = askedOf<Now, typeof distinctParameters>(parameters, query, now);
  const { errors } = asked;
  const found = typeof query.field === 'string' && query.field !== '' ? await keyAt(query.field, reach) : null;
  if (typeof found === 'string') errors.push({ ...inQuery('field', 'unknown_field'), message: `field: ${found}` });
  const where = await readWhere(query, reach).catch((error: unknown) => addTo(errors, error));
  const { limit } = settle(asked);
  const keys = found !== null && typeof found !== 'string' ? [found] : [];
  return { where: where ?? null, keys, measures: [], order: [{ by: 'count', isDescending: true }], limit };
}

type Reading = { reach: SearchReach; errors: FieldError[] };

/** The paths in a parameter, each once. */
function pathsIn(name: string, given: unknown, errors: FieldError[]): string[] {
  if (given === undefined) return [];
  if (typeof given !== 'string' || given === '') {
    errors.push({
      ...inQuery(name, given === '' ? 'required' : 'duplicate'),
      message: `${name} must be given once and not be empty; several paths are separated by commas`,
    });
    return [];
  }
  const paths = given.split(',', 100);
  const twice = paths.find((path, index) => paths.indexOf(path) < index);
  if (twice !== undefined)
    errors.push({ ...inQuery(name, 'duplicate'), message: `${name} names ${show(twice)} twice` });
  return paths;
}

async function keysOf(given: unknown, { reach, errors }: Reading): Promise<WithName<GroupKey>[]> {
  const paths = pathsIn('groupBy', given, errors);
  if (paths.length > mostKeys) {
    errors.push({
      ...inQuery('groupBy', 'max_items', { limit: mostKeys }),
      message: `groupBy must have at most ${mostKeys} paths, got ${paths.length}`,
    });
    return [];
  }
  const keys: WithName<GroupKey>[] = [];
  for (const path of paths) {
    const found = await keyAt(path, reach);
    if (typeof found === 'string')
      errors.push({ ...inQuery('groupBy', 'unknown_field'), message: `groupBy: ${found}` });
    else keys.push(found);
  }
  return keys;
}

/** The key of a path; a text says why the path leads to none. */
async function keyAt(path: string, reach: SearchReach): Promise<WithName<GroupKey> | string> {
  const whole = await resolvePath(path, reach);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const part = parts.find((one) => one === last) ?? null;
  const before = typeof whole === 'string' && names.length > 0 ? await resolvePath(names.join('.'), reach) : null;
  if (before !== null && typeof before !== 'string' && isDay(before)) {
    if (part !== null) return { ...before, name: path, part };
    return `${show(last)} is not a part of ${show(names.join('.'))}${didYouMean(last, parts)}; allowed: ${showAll(parts)}`;
  }
  if (typeof whole === 'string') return whole;
  if (whole.leaf.kind === 'json') return `${show(path)} is of type ${whole.field.type}, which has no value to group by`;
  return { ...whole, name: path, part: null };
}

/** Whether a field has values with a year, a month and a day. */
function isDay({ field: { type } }: FoundPath): boolean {
  return type === 'date' || type === 'datetime';
}

async function measuresOf(kind: MeasureKind, given: unknown, { reach, errors }: Reading): Promise<WithName<Measure>[]> {
  const measures: WithName<Measure>[] = [];
  for (const path of pathsIn(kind, given, errors)) {
    const found = await resolvePath(path, reach);
    const problem = typeof found === 'string' ? found : problemOf(kind, path, found);
    const code = typeof found === 'string' ? 'unknown_field' : 'not_allowed';
    if (problem !== null) errors.push({ ...inQuery(kind, code), message: `${kind}: ${problem}` });
    else if (typeof found !== 'string') measures.push({ ...found, name: path, kind });
  }
  return measures;
}

const comparable: readonly string[] = ['number', 'date', 'datetime', 'time'];

function problemOf(kind: MeasureKind, path: string, found: FoundPath): string | null {
  if (isManyValued(found)) return `${show(path)} has no single value`;
  const { type } = found.field;
  const types = kind === 'sum' || kind === 'avg' ? ['number'] : comparable;
  return types.includes(type) ? null : `${show(path)} is of type ${type}; the types that it takes: ${showAll(types)}`;
}

type Ordering = {
  keys: readonly { name: string }[];
  measures: readonly { name: string; kind: string }[];
  errors: FieldError[];
};

function orderOf(given: unknown, { keys, measures, errors }: Ordering): GroupOrder[] {
  if (given === undefined) return [{ by: 'count', isDescending: true }];
  const figures = measures.map(({ kind, name }) => `${kind}.${name}`);
  const names = keys.map(({ name }) => name);
  const order: GroupOrder[] = [];
  for (const term of pathsIn('sort', given, errors)) {
    const isDescending = term.startsWith('-');
    const name = isDescending ? term.slice(1) : term;
    if (name === 'count') order.push({ by: 'count', isDescending });
    else if (figures.includes(name)) order.push({ by: 'measure', index: figures.indexOf(name), isDescending });
    else if (names.includes(name)) order.push({ by: 'key', index: names.indexOf(name), isDescending });
    else {
      const allowed = ['count', ...figures, ...names];
      const message = `sort: ${show(name)} is not something to sort groups by${didYouMean(name, allowed)}; allowed: ${showAll(allowed)}`;
      errors.push({ ...inQuery('sort', 'unknown_field'), message });
    }
  }
  return order;
}
