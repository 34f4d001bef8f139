import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../../config/errors.ts';
import type { Field } from '../../config/model.ts';
import { type Json, type JsonObject, memberOf } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import type { App, Call } from '../app.ts';

const maxErrors = 100;

type Asked = Pick<Call, 'app' | 'target'>;

/**
 * Refuses ids of documents that do not exist, wherever in the values they stand. One that is deleted later stays its id,
 * so a field that comes as it is already is not looked at: a document read can be sent back.
 *
 * @param before the document that is changed; null for a new one.
 * @throws DomainError `invalid` naming each field, nested ones by dotted path.
 */
export function checkRelations({ app, target }: Asked, values: JsonObject, before: JsonObject | null): void {
  const changed = target.model.fields.filter(
    ({ name }) => !before || !isDeepStrictEqual(memberOf(values, name), memberOf(before, name)),
  );
  const errors = danglingIn(app, changed, values).map(({ field, id, slug }) => {
    return { field, message: `${field} must be the id of a document of ${slug}, got ${show(id)}` };
  });
  if (errors.length === 0) return;
  throw new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}

/** An id in a document that is that of no other: where it stands, and the collection that it would be of. */
export type Dangling = { field: string; id: Json; slug: string };

/** The ids of documents that do not exist, wherever in the values they stand: at most 100. */
export function danglingIn(app: App, fields: readonly Field[], values: JsonObject): Dangling[] {
  const found: Dangling[] = [];
  walk(app, fields, values, '', found);
  return found;
}

function walk(app: App, fields: readonly Field[], values: JsonObject, prefix: string, found: Dangling[]): void {
  for (const field of fields) {
    const value = memberOf(values, field.name);
    if (value === undefined || value === null) continue;
    const path = prefix + field.name;
    if (field.relationTo) check(app, field.relationTo, value, path, found);
    else if (field.type === 'object') walk(app, field.fields ?? [], value as JsonObject, `${path}.`, found);
    else if (field.type === 'array' || field.type === 'blocks')
      walkItems(app, field, value as JsonObject[], path, found);
  }
}

function walkItems(app: App, field: Field, items: readonly JsonObject[], path: string, found: Dangling[]): void {
  items.forEach((item, index) => {
    const block = field.blocks?.find(({ slug }) => slug === item.blockType);
    walk(app, block?.fields ?? field.fields ?? [], item, `${path}.${index}.`, found);
  });
}

function check(app: App, slug: string, value: Json, path: string, found: Dangling[]): void {
  const target = app.collections.get(slug);
  const isList = Array.isArray(value);
  for (const [index, id] of (isList ? value : [value]).entries()) {
    if (found.length >= maxErrors || target?.documents.exists(String(id))) continue;
    found.push({ field: isList ? `${path}.${index}` : path, id, slug });
  }
}
