import type { Json, JsonObject } from '../../../config/schema.ts';
import type { Groups } from '../../../projections/query/groups.ts';
import type { Bound } from '../../../projections/query/where.ts';
import type { GroupQuery, Named } from '../../queries/groups.ts';

/** The answer of `aggregate`: a key and the figures of each group, by the paths of the query. */
export function aggregateAnswer({ keys, measures }: GroupQuery, { groups, total }: Groups): JsonObject {
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
export function distinctAnswer({ keys: [key] }: GroupQuery, { groups, total }: Groups): JsonObject {
  const values = groups.map(({ keys: [value = null], count }) => ({ value: key ? keyValue(key, value) : null, count }));
  return { values, total };
}

function figuresOf(measures: GroupQuery['measures'], values: readonly Bound[]): JsonObject {
  const figures: Record<string, JsonObject> = {};
  for (const [index, measure] of measures.entries()) {
    figures[measure.kind] = { ...figures[measure.kind], [measure.name]: answered(measure, values[index] ?? null) };
  }
  return figures;
}

function keyValue(key: GroupQuery['keys'][number], value: Bound): Json {
  return key.part === null ? answered(key, value) : value;
}

/** A value as documents have it: booleans and the times of the server are stored as numbers. */
function answered({ field, leaf }: Named<{ leaf: { kind: string } }>, value: Bound): Json {
  if (value === null) return null;
  if (field.type === 'boolean') return value === 1;
  if (field.type === 'datetime' && leaf.kind === 'number') return new Date(Number(value)).toISOString();
  return value;
}
