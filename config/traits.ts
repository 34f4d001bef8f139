import type { Collection, Field, Global, Model } from './model.ts';
import { fieldsInside, withParts } from './nesting.ts';

/** True if a write of this target runs hooks, whose results have to be checked again. */
export function hasChangeHooks({ hooks, fields }: Collection | Global): boolean {
  return Boolean(hooks.beforeChange) || anyField(fields, (field) => Boolean(field.hooks?.beforeChange));
}

/** True if a read of this target runs hooks. */
export function hasReadHooks({ hooks, fields }: Collection | Global): boolean {
  return Boolean(hooks.beforeRead ?? hooks.afterRead) || anyField(fields, (field) => Boolean(field.hooks?.afterRead));
}

/** True if a field, at any depth, passes the test. */
export function anyField(fields: readonly Field[], passes: (field: Field) => boolean): boolean {
  return fields.some((field) => passes(field) || anyField(fieldsInside(field), passes));
}

/** True if a collection or global of the configuration has drafts. */
export function hasDrafts({ collections, globals }: Pick<Model, 'collections' | 'globals'>): boolean {
  return [...collections.values(), ...globals.values()].some(({ drafts }) => drafts !== null);
}

/** True if a field of this target has a `read` rule. */
export function hasReadRules({ fields }: Collection | Global): boolean {
  return anyField(fields, ({ access }) => Boolean(access?.read));
}

/** True if the target itself, not one of its fields, has read hooks, which may change every value. */
export function readsAreHooked({ hooks }: Collection | Global): boolean {
  return Boolean(hooks.beforeRead ?? hooks.afterRead);
}

/**
 * The fields by which callers may filter, sort and search if read hooks change what they see: fields that no read hook
 * can change, and fields that are declared `queryable`.
 */
export function queryableFields(target: Collection | Global): readonly Field[] {
  return hasReadHooks(target) ? queryableAmong(target.fields, hidesByHooks(target)) : target.fields;
}

/** True if read hooks of the target itself may hide stored values, and the target is not declared `queryable`. */
export function hidesByHooks(target: Collection | Global): boolean {
  return readsAreHooked(target) && !(target.kind === 'collection' && target.isQueryable);
}

/** @param isHooked whether hooks of the target itself may change each of these fields. */
function queryableAmong(fields: readonly Field[], isHooked: boolean): Field[] {
  return fields
    .filter((field) => isQueryable(field, isHooked))
    .map((field) => ({ ...field, ...withParts(field, (inside) => queryableAmong(inside, false)) }));
}

/** True if callers may query by the stored values of a field and of all fields inside it. */
export function isWhollyQueryable(field: Field, isHooked: boolean): boolean {
  return isQueryable(field, isHooked) && fieldsInside(field).every((inside) => isWhollyQueryable(inside, false));
}

function isQueryable({ queryable, hooks }: Field, isHooked: boolean): boolean {
  return queryable === true || !(isHooked || hooks?.afterRead);
}
