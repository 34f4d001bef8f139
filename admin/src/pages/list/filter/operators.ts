import type { DataField, FieldType } from '../../../schema/fields.ts';

/** The operators of the service (docs/rest.md, Filtering). */
export const operators = [
  'equals',
  'not_equals',
  'in',
  'not_in',
  'like',
  'contains',
  'greater_than',
  'less_than',
  'greater_than_equal',
  'less_than_equal',
  'exists',
] as const;

/** An operator of `where`. */
export type Operator = (typeof operators)[number];

const equality: Operator[] = ['equals', 'not_equals'];
const ranges: Operator[] = ['greater_than', 'greater_than_equal', 'less_than', 'less_than_equal'];
const lists: Operator[] = ['in', 'not_in'];

const text: Operator[] = ['like', ...equality, 'exists'];
const choice: Operator[] = ['equals', 'not_equals', 'in', 'not_in', 'exists'];
const amount: Operator[] = ['equals', ...ranges, 'not_equals', 'exists'];

const byType: Record<FieldType, Operator[]> = {
  text,
  textarea: text,
  email: text,
  url: text,
  number: amount,
  date: amount,
  datetime: amount,
  time: amount,
  boolean: [...equality, 'exists'],
  select: choice,
  radio: choice,
  multiSelect: ['contains', ...lists, 'exists'],
  relationship: [...equality, 'exists'],
  upload: [...equality, 'exists'],
  richText: ['exists'],
  array: ['exists'],
  object: ['exists'],
  blocks: ['exists'],
  json: ['exists'],
  row: [],
  join: [],
};

/** The operators that fit a field, the most likely first; none where the field is no field to filter by. */
export function operatorsOf(field: Pick<DataField, 'type' | 'hasMany' | 'name'>): readonly Operator[] {
  if (field.name === 'id') return ['equals', ...ranges];
  if (field.type === 'relationship' && field.hasMany) return ['contains', 'exists'];
  return byType[field.type];
}

/** Whether an operator takes several values. */
export function takesMany(operator: string): boolean {
  return operator === 'in' || operator === 'not_in';
}

/** Whether a list can be sorted by a field of this type. */
export function isSortable(field: Pick<DataField, 'type' | 'hasMany'>): boolean {
  return !field.hasMany && operatorsOf({ ...field, name: '' }).includes('equals') && field.type !== 'upload';
}
