import type { Field } from './model.ts';
import type { FieldSchema } from './schema.ts';

/** The fields of a collection, as plain data (`schema`) and with their functions (`fields`). */
export type Fields = { schema: FieldSchema[]; fields: Field[] };

const admin = { readOnly: true };

/**
 * The fields that describe the file. Every upload collection has them before the declared ones. `filesize` is in bytes.
 */
export const fileSchemas = [
  { name: 'filename', type: 'text', required: true, index: true, admin },
  { name: 'mimeType', type: 'text', required: true, index: true, admin },
  { name: 'filesize', type: 'number', required: true, integer: true, admin },
  { name: 'width', type: 'number', integer: true, admin },
  { name: 'height', type: 'number', integer: true, admin },
  { name: 'sha256', type: 'text', required: true, index: true, admin },
  { name: 'url', type: 'text', required: true, admin },
] as const satisfies readonly FieldSchema[];

/** The same fields for the model. */
export const fileFields: readonly Field[] = fileSchemas.map((schema): Field => ({ ...schema, isServerMade: true }));

/** The values of these fields that an event records: all but the URL, which follows from the others. */
export type FileValues = {
  filename: string;
  mimeType: string;
  filesize: number;
  width: number | null;
  height: number | null;
  sha256: string;
};

/** The beginning of the path of every file. */
export const mediaRoot = '/api/media/';

/**
 * The path of a file (contract's decisions, 'Uploads'). The service finds the document by the id; the name is for
 * people.
 */
export function mediaPath(slug: string, id: string, filename: string): string {
  return `${mediaRoot}${slug}/${id}/${encodeURIComponent(filename)}`;
}
