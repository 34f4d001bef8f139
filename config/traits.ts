import type { Collection, Field, Global } from './model.ts';
import { fieldsInside, withParts } from './nesting.ts';

/** True when a write of this target runs hooks, so that what they return has to be checked again. */
export function hasChangeHooks({ hooks, fields }: Collection | Global): boolean {
  return Boolean(hooks.beforeChange) || anyField(fields, (field) => Boolean(field.hooks?.beforeChange));
}

/** True when a read of this target runs hooks. */
export function hasReadHooks({ hooks, fields }: Collection | Global): boolean {
  return Boolean(hooks.beforeRead ?? hooks.afterRead) || anyField(fields, (field) => Boolean(field.hooks?.afterRead));
}

/** True when a field, at any depth, passes the test. */
export function anyField(fields: readonly Field[], passes: (field: Field) => boolean): boolean {
  return fields.some((field) => passes(field) || anyField(fieldsInside(field), passes));
}

/** True when some field of this target is not for every reader. */
export function hasReadRules({ fields }: Collection | Global): boolean {
  return anyField(fields, ({ access }) => Boolean(access?.read));
}

/** True when the hooks of a target itself, not of a field, may change each value that is read. */
export function readsAreHooked({ hooks }: Collection | Global): boolean {
  return Boolean(hooks.beforeRead ?? hooks.afterRead);
}

/**
 * The fields that callers who see only what read hooks make of documents may filter, sort and search by: those that no
 * read hook changes, and those whose author says so.
 */
export function queryableFields(target: Collection | Global): readonly Field[] {
  return hasReadHooks(target) ? queryableAmong(target.fields, hidesByHooks(target)) : target.fields;
}

/** True when the hooks of a target itself may hide what is stored in each of its fields. */
export function hidesByHooks(target: Collection | Global): boolean {
  return readsAreHooked(target) && !(target.kind === 'collection' && target.isQueryable);
}

/** @param isHooked whether hooks around these fields may change each of them. */
function queryableAmong(fields: readonly Field[], isHooked: boolean): Field[] {
  return fields
    .filter((field) => isQueryable(field, isHooked))
    .map((field) => ({ ...field, ...withParts(field, (inside) => queryableAmong(inside, false)) }));
}

/** True when a field, and each inside it, shows its stored value to its readers, or may be queried by it. */
export function isWhollyQueryable(field: Field, isHooked: boolean): boolean {
  return isQueryable(field, isHooked) && fieldsInside(field).every((inside) => isWhollyQueryable(inside, false));
}

function isQueryable({ queryable, hooks }: Field, isHooked: boolean): boolean {
  return queryable === true || !(isHooked || hooks?.afterRead);
}
