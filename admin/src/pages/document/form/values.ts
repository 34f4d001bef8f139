import { type Block, type DataField, dataFields, type Field } from '../../../schema/fields.ts';

/** The values of a form, or of an object in it: an absent member has not been touched. */
export type Values = Record<string, unknown>;

/** Text that is not yet a value of its field, such as half-typed JSON. */
type UnparsedText = { 'annals:unparsed': string };

const unparsedKey = 'annals:unparsed';

/** A text that is not a value of its field, as the form keeps it until it is one. */
export function unparsed(text: string): UnparsedText {
  return { [unparsedKey]: text };
}

/** Whether a value of the form is a text that is not a value of its field. */
export function isUnparsed(value: unknown): value is UnparsedText {
  return isObject(value) && typeof value[unparsedKey] === 'string' && Object.keys(value).length === 1;
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True for a field whose value is a list. */
export function isList({ type, hasMany }: Pick<Field, 'type' | 'hasMany'>): boolean {
  return type === 'array' || type === 'blocks' || type === 'multiSelect' || hasMany === true;
}

/** The values of an empty form. Defaults that a function of the configuration computes are absent. */
export function emptyValues(fields: readonly Field[]): Values {
  const values: Values = {};
  for (const field of dataFields(fields)) {
    const value = emptyValue(field);
    if (value !== undefined) values[field.name] = value;
  }
  return values;
}

function emptyValue(field: DataField): unknown {
  if (field.type === 'join') return undefined;
  if (field.defaultValue !== undefined) return structuredClone(field.defaultValue);
  if (field.type === 'object') return emptyValues(field.fields ?? []);
  if (field.hasDefault) return undefined;
  if (isList(field)) return [];
  // A required boolean is a switch, which has no third state: off is false.
  return field.type === 'boolean' && field.required ? false : null;
}

/** A new item of `array`, or of `blocks` if a block is given. */
export function newItem(fields: readonly Field[], blockType?: string): Values {
  return blockType === undefined ? emptyValues(fields) : { blockType, ...emptyValues(fields) };
}

/** The block that an item of `blocks` is of; undefined if the configuration has no such block. */
export function blockOf(field: Pick<Field, 'blocks'>, item: unknown): Block | undefined {
  return isObject(item) ? field.blocks?.find(({ slug }) => slug === item.blockType) : undefined;
}

/** The fields of an item of `array` or `blocks`; undefined for a block that is no longer configured. */
export function itemFields(field: DataField, item: unknown): Field[] | undefined {
  return field.type === 'blocks' ? blockOf(field, item)?.fields : field.fields;
}

/** The value at a path; undefined if a part of the path is missing. */
export function getAt(values: unknown, path: string): unknown {
  let value = values;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Values)[part];
  }
  return value;
}

/** A copy of the values with another value at a path. Objects that are not on the path are shared. */
export function setAt<Root extends object>(values: Root, path: string, value: unknown): Root {
  const [name = '', ...rest] = path.split('.');
  const old = Object.hasOwn(values, name) ? (values as Values)[name] : undefined;
  const next = rest.length === 0 ? value : setAt(containerOf(old), rest.join('.'), value);
  if (Array.isArray(values)) return values.with(Number(name), next) as Root;
  const copy = { ...values };
  // A plain assignment to `__proto__` would not make an own property.
  Object.defineProperty(copy, name, { value: next, enumerable: true, configurable: true, writable: true });
  return copy;
}

function containerOf(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

/** Whether two JSON values are the same; the order of members does not count. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSame((one as Values)[key], (other as Values)[key]));
}

/** True for a value without content. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return false;
}

/** A value without its passwords, at any depth: unsaved changes are kept without passwords. */
export function withoutPasswords<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutPasswords) as Value;
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== 'password');
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutPasswords(inner)])) as Value;
}
