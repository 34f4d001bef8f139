import { type Block, type DataField, dataFields, type Field } from '../../../schema/fields.ts';

/** The values of a form, or of an object inside: what is absent has not been touched. */
export type Values = Record<string, unknown>;

/** Text that is typed where a value of another kind belongs, and is not one yet: half of some JSON. */
type Unparsed = { 'annals:unparsed': string };

const unparsedKey = 'annals:unparsed';

/** A text that is not a value of its field, as the form keeps it until it is one. */
export function unparsed(text: string): Unparsed {
  return { [unparsedKey]: text };
}

/** Whether a value of the form is a text that is not a value of its field. */
export function isUnparsed(value: unknown): value is Unparsed {
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

/** The values of a form that nothing was typed into; those that a function of the configuration gives are absent. */
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
  // A switch that is off has no third state: it says no.
  return field.type === 'boolean' && field.required ? false : null;
}

/** A new item of `array`, or of `blocks` if a block is given. */
export function newItem(fields: readonly Field[], blockType?: string): Values {
  return blockType === undefined ? emptyValues(fields) : { blockType, ...emptyValues(fields) };
}

/** The block that an item of `blocks` is of; undefined where the configuration has none such. */
export function blockOf(field: Pick<Field, 'blocks'>, item: unknown): Block | undefined {
  return isObject(item) ? field.blocks?.find(({ slug }) => slug === item.blockType) : undefined;
}

/** The fields of an item of `array` or `blocks`; undefined for a block that is configured no longer. */
export function itemFields(field: DataField, item: unknown): Field[] | undefined {
  return field.type === 'blocks' ? blockOf(field, item)?.fields : field.fields;
}

/** The value at a path; undefined where something on the way is missing. */
export function getAt(values: unknown, path: string): unknown {
  let value = values;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Values)[part];
  }
  return value;
}

/** The values with another one at a path; what is not on the way is the same object as before. */
export function setAt<Root extends object>(values: Root, path: string, value: unknown): Root {
  const [name = '', ...rest] = path.split('.');
  const old = Object.hasOwn(values, name) ? (values as Values)[name] : undefined;
  const next = rest.length === 0 ? value : setAt(containerOf(old), rest.join('.'), value);
  if (Array.isArray(values)) return values.with(Number(name), next) as Root;
  const copy = { ...values };
  // A plain assignment of `__proto__` would set none of its own.
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

/** True for a value that says nothing. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return false;
}

/** A value without its passwords, at any depth: drafts hold none. */
export function withoutPasswords<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutPasswords) as Value;
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== 'password');
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutPasswords(inner)])) as Value;
}
