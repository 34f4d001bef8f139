import { type DataField, dataFields, type Field } from '../../../schema/fields.ts';
import { emptyValues, isEmpty, isList, isObject, isSame, itemFields, type Values } from './values.ts';

/**
 * The value of a field as the service takes it: an optional object without any value becomes null, and an untouched
 * field stays absent, so that the service fills in its default.
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

/** The body of a create: the fields that were filled in, and those with a default that were emptied. */
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

/** The body of an update: the fields that differ from the document as it was read, each with its whole value. */
export function updateBody(fields: readonly Field[], values: Values, base: Values): Values {
  const body: Values = {};
  for (const field of changedFields(fields, values, base)) {
    if (field.access?.update !== false) body[field.name] = sent(field, values[field.name]) ?? null;
  }
  return body;
}

/** The fields whose value differs from the base. */
export function changedFields(fields: readonly Field[], values: Values, base: Values): DataField[] {
  return dataFields(fields).filter(
    (field) => field.type !== 'join' && isChanged(field, values[field.name], base[field.name]),
  );
}

/** Whether two values of a field differ, once both are in the form that the service stores. */
export function isChanged(field: DataField, value: unknown, base: unknown): boolean {
  if (value === base) return false;
  return !isSame(complete(field, sent(field, value)), complete(field, sent(field, base)));
}

/** A value with null for each absent member: a document has all members, a new item only those that were touched. */
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

/** The values of a copy of a document, without unique fields and fields that the user may not write. */
export function duplicated(fields: readonly Field[], document: Values): Values {
  const values = emptyValues(fields);
  for (const field of dataFields(fields)) {
    const isFree = !field.unique && field.type !== 'join' && field.access?.create !== false;
    if (isFree && Object.hasOwn(document, field.name)) values[field.name] = structuredClone(document[field.name]);
  }
  return values;
}
