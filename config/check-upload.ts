import type { UploadOptions } from './model.ts';
import { at, optionOf, passes, readSwitch, report, rules, type Spot, wholeNumber } from './problems.ts';
import type { CollectionSchema, FieldSchema } from './schema.ts';
import { show } from './suggest.ts';
import { type Fields, fileFields, fileSchemas } from './uploads.ts';

const uploadKeys = ['maxFileSize', 'mimeTypes'] as const;
const defaultMaxFileSize = 7_000_000;

/** A media type; after the slash, `*` stands for any subtype. */
const mimePattern = /^[a-z\d][a-z\d!#$&^_.+-]*\/(\*|[a-z\d][a-z\d!#$&^_.+-]*)$/i;

/**
 * Names that are taken in an upload collection: the fields that describe the file, and the part of the body that
 * carries it.
 */
export const namesInUploads: readonly string[] = ['file', ...fileSchemas.map(({ name }) => name)];

/** Checks the options of an upload collection; null if the documents are not files. */
export function checkUpload(input: Spot): UploadOptions | null {
  const spot = readSwitch(input, uploadKeys, 'upload');
  if (!spot) return null;
  return {
    maxFileSize: optionOf(at(spot, 'maxFileSize'), wholeNumber(1, undefined, ' of bytes'), defaultMaxFileSize),
    mimeTypes: checkMimeTypes(at(spot, 'mimeTypes')),
  };
}

function checkMimeTypes(spot: Spot): string[] | null {
  if (!passes(spot, rules.list)) return null;
  const types = spot.value.map((type, index) => {
    const isType = typeof type === 'string' && mimePattern.test(type);
    if (!isType) report(at(spot, index), `must be a type like "image/png" or "image/*", got ${show(type)}`);
    return String(type).toLowerCase();
  });
  if (types.length === 0) report(spot, 'must not be empty; leave it out to take any type');
  return types;
}

/** The options as the schema records them. */
export function schemaOf({ maxFileSize, mimeTypes }: UploadOptions): NonNullable<CollectionSchema['upload']> {
  return { maxFileSize, ...(mimeTypes ? { mimeTypes: [...mimeTypes] } : {}) };
}

/** The fields of an upload collection: those that describe the file, then the declared ones. */
export function withFile(spot: Spot, { schema, fields }: Fields): Fields {
  const taken = new Set<string>(fileSchemas.map(({ name }) => name.toLowerCase()));
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom !== undefined && taken.has(renamedFrom.toLowerCase())) {
      report(at(at(spot, name), 'renamedFrom'), `${show(renamedFrom)} is still a field here`);
    }
  }
  return {
    schema: [...fileSchemas.map((one): FieldSchema => ({ ...one })), ...schema],
    fields: [...fileFields, ...fields],
  };
}
