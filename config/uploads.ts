import type { Field } from './model.ts';
import type { FieldSchema } from './schema.ts';

/** The fields of a collection, as plain data and with their functions. */
export type Fields = { schema: FieldSchema[]; fields: Field[] };

const admin = { readOnly: true };

/** The fields about the file that every upload collection has, before its own. `filesize` is bytes. */
export const fileSchemas = [
  { name: 'filename', type: 'text', required: true, index: true, admin },
  { name: 'mimeType', type: 'text', required: true, index: true, admin },
  { name: 'filesize', type: 'number', required: true, integer: true, admin },
  { name: 'width', type: 'number', integer: true, admin },
  { name: 'height', type: 'number', integer: true, admin },
  { name: 'sha256', type: 'text', required: true, index: true, admin },
  { name: 'url', type: 'text', required: true, admin },
] as const satisfies readonly FieldSchema[];

/** The same for the model. */
export const fileFields: readonly Field[] = fileSchemas.map((schema): Field => ({ ...schema, isServerMade: true }));

/** The part of these that an event records: all but the URL, which follows from the rest. */
export type FileValues = {
  filename: string;
  mimeType: string;
  filesize: number;
  width: number | null;
  height: number | null;
  sha256: string;
};

/** The beginning of the paths of all files. */
export const mediaRoot = '/api/media/';

/** The path of a file (contract's decisions, 'Uploads'): its name is for people, the document is found by its id. */
export function mediaPath(slug: string, id: string, filename: string): string {
  return `${mediaRoot}${slug}/${id}/${encodeURIComponent(filename)}`;
}
