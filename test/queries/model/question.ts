import fc from 'fast-check';
import type { Json, JsonObject } from '../../../config/schema.ts';
import {
  asObject,
  type Condition,
  type End,
  ends,
  type Level,
  level,
  some,
  sortable,
} from '../../projections/filters.ts';
import { asBrackets, compare, type Key, matches } from '../../projections/matching.ts';
import { mayUse, type Role, type Sight, worldOf } from './documents.ts';
import { formed } from './world.ts';

/** A question to a list. `moment`: a number that chooses a moment of the past; null for today. */
export type Question = {
  role: Role;
  filter: Level | null;
  isJson: boolean;
  sort: Key[];
  limit: number;
  page: number;
  depth: number;
  select: string[];
  moment: number | null;
};

/** `createdAt` often, since documents share it. */
const anyEnd = fc.oneof(
  { weight: 4, arbitrary: some(sortable) },
  { weight: 1, arbitrary: some(sortable.filter(({ path }) => /^(id|createdAt|updatedAt)$/.test(path))) },
);
const anySort = fc.array(fc.record({ end: anyEnd, isDescending: fc.boolean() }), { maxLength: 3 });

/** Paths of which none leads through another one. */
const anySelect = fc.array(some(ends.map(({ path }) => path)), { minLength: 1, maxLength: 4 }).map((paths) => {
  const unique = [...new Set(paths)];
  return unique.filter((path) => !unique.some((other) => path.startsWith(`${other}.`)));
});

export const anyQuestion: fc.Arbitrary<Question> = fc
  .record({
    role: some<Role>(['key', 'key', 'where', 'row']),
    filter: fc.option(level, { freq: 8 }),
    isJson: fc.boolean(),
    sort: anySort,
    limit: fc.integer({ min: 1, max: 12 }),
    page: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 4 }) }),
    depth: some([0, 0, 0, 0, 0, 1, 1, 1, 2, 3]),
    select: fc.oneof({ weight: 2, arbitrary: fc.constant<string[]>([]) }, { weight: 1, arbitrary: anySelect }),
    moment: fc.constant(null),
  })
  .map((one) => ({ ...one, limit: one.depth > 1 ? Math.ceil(one.limit / (one.depth === 2 ? 4 : 12)) : one.limit }));

/** The same question, if the caller may ask it, of the ids and times that there really are. */
export function realized(question: Question, real: (text: string) => string): Question {
  const { role, filter, sort, select } = question;
  const isOf = ({ end }: { end: End }) => mayUse(role, end.path, 'filter');
  const level = (one: Level): Level => ({
    conditions: one.conditions.filter(isOf).map((condition) => realCondition(condition, real)),
    or: one.or.map(level).filter(isSaid),
    and: one.and.map(level).filter(isSaid),
  });
  const found = filter && level(filter);
  return {
    ...question,
    filter: found && isSaid(found) ? found : null,
    sort: sort.filter(isOf),
    select: select.filter((path) => mayUse(role, path, 'select')),
  };
}

function isSaid({ conditions, or, and }: Level): boolean {
  return conditions.length + or.length + and.length > 0;
}

function realCondition({ end, operator, value }: Condition, real: (text: string) => string): Condition {
  const one = (text: Json): Json => {
    if (typeof text !== 'string') return text;
    const isFormed = operator !== 'like' && (end.field.type === 'email' || end.field.type === 'url');
    return isFormed ? formed(end.field, text) : real(text);
  };
  return { end, operator, value: Array.isArray(value) ? value.map(one) : one(value) };
}

/** The filter of a question as query parameters, in one of the notations. */
export function whereOf({ filter, isJson }: Pick<Question, 'filter' | 'isJson'>): [string, string][] {
  if (!filter) return [];
  const object = asObject(filter);
  if (isJson) return [['where', JSON.stringify(object)]];
  return asBrackets(object).flatMap(([name, value]): [string, string][] =>
    Array.isArray(value) ? value.map((text) => [name, text]) : [[name, value]],
  );
}

/** The query of a question, without its page. */
export function queryOf(question: Question, position: number | null): URLSearchParams {
  const { sort, depth, select } = question;
  const by = sort.map(({ end, isDescending }) => (isDescending ? '-' : '') + end.path).join(',');
  return new URLSearchParams([
    ...whereOf(question),
    ...(by ? [['sort', by]] : []),
    ...(depth > 0 ? [['depth', String(depth)]] : []),
    ...(select.length > 0 ? [['select', select.join(',')]] : []),
    ...(position === null ? [] : [['asOf', String(position)]]),
  ]);
}

/** The documents that a question finds, in their order. */
export function foundBy({ filter, sort }: Pick<Question, 'filter' | 'sort'>, sight: Sight): JsonObject[] {
  const world = worldOf(sight);
  return world.things
    .filter((doc) => world.isShown(doc, 'things') && (!filter || matches(world, doc, filter)))
    .toSorted((a, b) => compare(world, sort, a, b));
}
