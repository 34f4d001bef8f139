import { type DataField, dataFields, type Field } from '../../../schema/fields.ts';
import { emptyValues, isEmpty, isList, isObject, isSame, itemFields, type Values } from './values.ts';

/**
 * The value of a field as the service takes it: an optional object in which nothing is filled in is no value, and what
 * has not been touched stays absent, so that the service fills in its default.
 */
function sent(field: DataField, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (isList(field) && isEmpty(value)) return [];
  if (field.type === 'object') return sentObject(field, value);
  if ((field.type === 'array' || field.type === 'blocks') && Array.isArray(value)) {
    return value.map((item) => sentItem(field, item));
  }
  return value === '' && isText(field) ? null : value;
}

function isText({ type }: Field): boolean {
  return ['text', 'textarea', 'email', 'url', 'date', 'datetime', 'time', 'select', 'radio'].includes(type);
}

function sentObject(field: DataField, value: unknown): unknown {
  if (!isObject(value)) return value;
  const members = sentMembers(field.fields ?? [], value);
  return !field.required && Object.values(members).every(isEmpty) ? null : members;
}

function sentItem(field: DataField, item: unknown): unknown {
  const fields = itemFields(field, item);
  if (fields === undefined || !isObject(item)) return item;
  const members = sentMembers(fields, item);
  return field.type === 'blocks' ? { blockType: item.blockType, ...members } : members;
}

function sentMembers(fields: readonly Field[], values: Values): Values {
  const members: Values = {};
  for (const field of dataFields(fields)) {
    const value = Object.hasOwn(values, field.name) ? sent(field, values[field.name]) : undefined;
    if (value !== undefined && field.type !== 'join') members[field.name] = value;
  }
  return members;
}

/** The body of a create: what was filled in, and what was emptied that would have got a default. */
export function createBody(fields: readonly Field[], values: Values): Values {
  const initial = emptyValues(fields);
  const body: Values = {};
  for (const field of dataFields(fields)) {
    const { name } = field;
    if (field.type === 'join' || field.access?.create === false) continue;
    const value = sent(field, values[name]);
    const isUntouched = isSame(value, sent(field, initial[name]));
    if (value === undefined || (isUntouched && (field.hasDefault || isEmpty(value)))) continue;
    body[name] = value;
  }
  return body;
}

/** The body of a change: the fields that differ from what was read, each whole. */
export function updateBody(fields: readonly Field[], values: Values, base: Values): Values {
  const body: Values = {};
  for (const field of changedFields(fields, values, base)) {
    if (field.access?.update !== false) body[field.name] = sent(field, values[field.name]) ?? null;
  }
  return body;
}

/** The fields whose value is another one than in the base. */
export function changedFields(fields: readonly Field[], values: Values, base: Values): DataField[] {
  return dataFields(fields).filter(
    (field) => field.type !== 'join' && isChanged(field, values[field.name], base[field.name]),
  );
}

/** Whether a value says something else than another one of the same field. */
export function isChanged(field: DataField, value: unknown, base: unknown): boolean {
  if (value === base) return false;
  return !isSame(complete(field, sent(field, value)), complete(field, sent(field, base)));
}

/** With null for what is absent: a document has every member, and a new item only those that were touched. */
function complete(field: DataField, value: unknown): unknown {
  if (value === undefined) return isList(field) ? [] : null;
  if (field.type === 'object' && isObject(value)) return completeMembers(field.fields ?? [], value);
  if ((field.type === 'array' || field.type === 'blocks') && Array.isArray(value)) {
    return value.map((item) => {
      const fields = itemFields(field, item);
      if (fields === undefined || !isObject(item)) return item;
      return { ...completeMembers(fields, item), blockType: item.blockType ?? null };
    });
  }
  return value;
}

function completeMembers(fields: readonly Field[], values: Values): Values {
  const members = dataFields(fields).filter(({ type }) => type !== 'join');
  return Object.fromEntries(
    members.map((field) => [field.name, complete(field, sent(field, values[field.name]) ?? undefined)]),
  );
}

/** Copies for a new document: what is unique cannot be there twice, and what may not be written is left out. */
export function duplicated(fields: readonly Field[], document: Values): Values {
  const values = emptyValues(fields);
  for (const field of dataFields(fields)) {
    const isFree = !field.unique && field.type !== 'join' && field.access?.create !== false;
    if (isFree && Object.hasOwn(document, field.name)) values[field.name] = structuredClone(document[field.name]);
  }
  return values;
}
