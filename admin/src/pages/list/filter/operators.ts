import type { FieldType, Operator } from '../../../../../client/index.ts';
import type { DataField } from '../../../schema/fields.ts';

/** The operand of each operator of the service (docs/filtering.md). */
const operands: Record<Operator, 'value' | 'values' | 'flag'> = {
  equals: 'value',
  not_equals: 'value',
  in: 'values',
  not_in: 'values',
  like: 'value',
  contains: 'value',
  greater_than: 'value',
  less_than: 'value',
  greater_than_equal: 'value',
  less_than_equal: 'value',
  exists: 'flag',
};

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

/** The operators that fit a field, the most likely first; empty if the field cannot be filtered by. */
export function operatorsOf(field: Pick<DataField, 'type' | 'hasMany' | 'name'>): readonly Operator[] {
  if (field.name === 'id') return ['equals', ...ranges];
  if (field.type === 'relationship' && field.hasMany) return ['contains', 'exists'];
  return byType[field.type];
}

/** Whether a word, for example from an address, is an operator of the service. */
export function isOperator(word: string): word is Operator {
  return Object.hasOwn(operands, word);
}

/** Whether an operator takes several values. */
export function takesMany(operator: string): boolean {
  return isOperator(operator) && operands[operator] === 'values';
}

/** Whether a list can be sorted by a field of this type. */
export function isSortable(field: Pick<DataField, 'type' | 'hasMany'>): boolean {
  return !field.hasMany && operatorsOf({ ...field, name: '' }).includes('equals') && field.type !== 'upload';
}
