import { dataFields, type Field, valueAt } from './fields.ts';
import type { Collection } from './model.ts';

/** A document that a relationship points at. */
export type Related = { relationTo: string; id: string };

/** The title field of a collection, by the same rule as in the service; `id` if there is no field for it. */
export function titleField({ hints, fields, upload }: Pick<Collection, 'hints' | 'fields' | 'upload'>): string {
  if (hints.useAsTitle !== undefined) return hints.useAsTitle;
  const text = dataFields(fields).find((field: Field) => field.type === 'text');
  return text?.name ?? (upload ? 'filename' : 'id');
}

/** The title of a document: the value of its title field, else its file name, else its id. */
export function titleOf(collection: Pick<Collection, 'hints' | 'fields' | 'upload'>, document: object): string {
  const value = valueAt(document, titleField(collection));
  if (typeof value === 'string' && value.trim() !== '') return value;
  if (typeof value === 'number') return String(value);
  const { filename, id } = document as { filename?: unknown; id?: unknown };
  return typeof filename === 'string' ? filename : String(id ?? '');
}
