import type { Field } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { fieldsOn, valueIn } from '../../../config/text-fields.ts';
import { readsAreHooked } from '../../../config/traits.ts';
import { filterableFields } from '../../access/field-access.ts';
import type { Call, Target } from '../../app.ts';

/** Whether the value at a path of a target may be shown outside its document. */
export type Showable = (path: readonly string[]) => boolean;

/**
 * Makes the test of values that may be shown outside their document: of fields that the caller may read in every
 * document, and that no read hook changes.
 */
export async function showableIn(call: Call): Promise<Showable> {
  if (readsAreHooked(call.target.model)) return () => false;
  const readable = await filterableFields(call);
  return (path) => {
    const fields = fieldsOn(readable, path);
    return fields.length > 0 && fields.every((field) => !field.hooks?.afterRead);
  };
}

/** The name of a document: the first of its title fields that may be shown and has a value, else its id. */
export function titleOf(target: Target, document: JsonObject, isShowable: Showable): string {
  for (const path of titlePaths(target)) {
    const value = isShowable(path) ? valueIn(document, path) : undefined;
    if (typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')) return String(value);
  }
  return String(document.id ?? target.slug);
}

function titlePaths({ model }: Target): (readonly string[])[] {
  const named = model.kind === 'collection' ? model.schema.admin?.useAsTitle : undefined;
  const first = model.fields.find(({ type, isServerMade }: Field) => type === 'text' && !isServerMade);
  const isFile = model.kind === 'collection' && model.upload !== null;
  return [
    ...(named === undefined ? [] : [named.split('.')]),
    ...(first ? [[first.name]] : []),
    ...(isFile ? [['filename']] : []),
  ];
}
