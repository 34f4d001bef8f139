import type { ApiError } from '../../../../../client/index.ts';
import type { ReadableField } from '../view/columns.ts';

/** The field types with a simple input. */
const simple = new Set<string>([
  'text',
  'textarea',
  'email',
  'url',
  'number',
  'boolean',
  'date',
  'datetime',
  'time',
  'select',
  'radio',
  'multiSelect',
  'relationship',
  'upload',
]);

/** The fields that can be changed in many documents at once: those that the user may write, by a simple input. */
export function changeable(readable: readonly ReadableField[]): ReadableField[] {
  return readable.filter(({ path, field }) => {
    const isOwn = ['id', 'createdAt', 'updatedAt', 'password'].includes(path) || path.startsWith('__');
    // A member of an object can only be written with the whole object.
    const isWhole = !path.includes('.') && simple.has(field.type) && !(field.relationTo !== undefined && field.hasMany);
    return (
      isWhole && !isOwn && field.access?.update !== false && field.admin?.readOnly !== true && field.unique !== true
    );
  });
}

/**
 * The messages of a refused bulk call, line by line, with the titles of documents: the service names them by their
 * place in the call (`docs.3.title`) or by their id.
 */
export function problemsOf(error: ApiError, chosen: ReadonlyMap<string, string>): string[] {
  const ids = [...chosen.keys()];
  const said = error.errors.length > 0 ? error.errors.map(({ message }) => message) : [error.message];
  return [...new Set(said)].map((text) => namedText(text, ids, chosen));
}

function namedText(text: string, ids: readonly string[], chosen: ReadonlyMap<string, string>): string {
  const byPlace = text.replace(/\b(?:docs|ids)\.(\d+)\b/g, (place, index: string) => {
    const title = chosen.get(ids[Number(index)] ?? '');
    return title === undefined ? place : `“${title}”`;
  });
  return byPlace.replace(/"?([0-9a-f]{8}-[0-9a-f-]{27})"?/g, (whole, id: string) => {
    const title = chosen.get(id);
    return title === undefined ? whole : `“${title}”`;
  });
}
