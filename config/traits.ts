import type { Collection, Field, Global } from './model.ts';
import { fieldsInside } from './nesting.ts';

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
