import type { FieldSchema, FieldType } from './schema.ts';

/** The affinity of a column of a STRICT SQLite table. */
export type Affinity = 'TEXT' | 'REAL' | 'INTEGER';

/**
 * The affinity of each type of field; null for types whose value is a list or nested. Apart from what else is known of them
 * because threads that only write columns need no joi, which takes a fifth of their start.
 */
const affinities: Record<FieldType, Affinity | null> = {
  text: 'TEXT',
  textarea: 'TEXT',
  richText: null,
  email: 'TEXT',
  url: 'TEXT',
  number: 'REAL',
  boolean: 'INTEGER',
  date: 'TEXT',
  datetime: 'TEXT',
  time: 'TEXT',
  select: 'TEXT',
  radio: 'TEXT',
  multiSelect: null,
  relationship: 'TEXT',
  upload: 'TEXT',
  object: null,
  array: null,
  blocks: null,
  json: null,
  join: null,
  row: null,
};

/** The affinity of the column that serves where and sort; null for values that are lists or nested. */
export function affinityOf(field: Pick<FieldSchema, 'type' | 'hasMany'>): Affinity | null {
  return field.hasMany ? null : affinities[field.type];
}
