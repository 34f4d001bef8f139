import type { Groups } from '../../../projections/query/groups.ts';
import type { Bound } from '../../../projections/query/where.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import type { GroupQuery, WithName } from '../../queries/groups.ts';

type Aggregated = AnswerOf<'Groups'>['groups'][number];
type GroupValue = Aggregated['key'][string];
type Figures = Omit<Aggregated, 'key' | 'count'>;

/** The answer of `aggregate`: a key and the figures of each group, by the paths of the query. */
export function aggregateAnswer({ keys, measures }: GroupQuery, { groups, total }: Groups): AnswerOf<'Groups'> {
  return {
    groups: groups.map((group) => ({
      key: Object.fromEntries(keys.map((key, index) => [key.name, keyValue(key, group.keys[index] ?? null)])),
      count: group.count,
      ...figuresOf(measures, group.measures),
    })),
    total,
  };
}

/** The answer of `distinct`: each value, and how many documents have it. */
export function distinctAnswer({ keys: [key] }: GroupQuery, { groups, total }: Groups): AnswerOf<'Values'> {
  const values = groups.map(({ keys: [value = null], count }) => ({ value: key ? keyValue(key, value) : null, count }));
  return { values, total };
}

function figuresOf(measures: GroupQuery['measures'], values: readonly Bound[]): Figures {
  const figures: Figures = {};
  for (const [index, measure] of measures.entries()) {
    // Only numbers and times are measured, no booleans.
    const figure = answered(measure, values[index] ?? null) as Bound;
    figures[measure.kind] = { ...figures[measure.kind], [measure.name]: figure };
  }
  return figures;
}

function keyValue(key: GroupQuery['keys'][number], value: Bound): GroupValue {
  return key.part === null ? answered(key, value) : value;
}

/** A value as documents have it: booleans and the times of the server are stored as numbers. */
function answered({ field, leaf }: WithName<{ leaf: { kind: string } }>, value: Bound): GroupValue {
  if (value === null) return null;
  if (field.type === 'boolean') return value === 1;
  if (field.type === 'datetime' && leaf.kind === 'number') return new Date(Number(value)).toISOString();
  return value;
}
