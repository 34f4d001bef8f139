import type { UploadOptions } from './model.ts';
import { type Checking, join, own, passes, readOption, readSwitch, report, rules, wholeNumber } from './problems.ts';
import type { CollectionSchema, FieldSchema } from './schema.ts';
import { show } from './suggest.ts';
import { type Fields, fileFields, fileSchemas } from './uploads.ts';

const uploadKeys = ['maxFileSize', 'mimeTypes'] as const;
const defaultMaxFileSize = 7_000_000;

/** What `*` may stand for is all that comes behind the slash. */
const mimePattern = /^[a-z\d][a-z\d!#$&^_.+-]*\/(\*|[a-z\d][a-z\d!#$&^_.+-]*)$/i;

/** Names that an upload collection has already: those of the fields that tell of the file, and of the part it is sent as. */
export const namesInUploads: readonly string[] = ['file', ...fileSchemas.map(({ name }) => name)];

/** The options of an upload collection; null where the documents are no files. */
export function checkUpload(checking: Checking, path: string, input: unknown): UploadOptions | null {
  const entry = readSwitch(checking, path, input, uploadKeys, 'upload');
  if (!entry) return null;
  return {
    maxFileSize: readOption(
      checking,
      path,
      entry,
      'maxFileSize',
      wholeNumber(1, undefined, ' of bytes'),
      defaultMaxFileSize,
    ),
    mimeTypes: checkMimeTypes(checking, join(path, 'mimeTypes'), own(entry, 'mimeTypes')),
  };
}

function checkMimeTypes(checking: Checking, path: string, input: unknown): string[] | null {
  if (!passes(checking, path, input, rules.list)) return null;
  const types = input.map((type, index) => {
    const isType = typeof type === 'string' && mimePattern.test(type);
    if (!isType) report(checking, join(path, index), `must be a type like "image/png" or "image/*", got ${show(type)}`);
    return String(type).toLowerCase();
  });
  if (types.length === 0) report(checking, path, 'must not be empty; leave it out to take any type');
  return types;
}

/** The options as plain data. */
export function schemaOf({ maxFileSize, mimeTypes }: UploadOptions): NonNullable<CollectionSchema['upload']> {
  return { maxFileSize, ...(mimeTypes ? { mimeTypes: [...mimeTypes] } : {}) };
}

/** The fields of an upload collection: those that tell of the file, then its own. */
export function withFile(checking: Checking, path: string, { schema, fields }: Fields): Fields {
  const taken = new Set<string>(fileSchemas.map(({ name }) => name.toLowerCase()));
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom !== undefined && taken.has(renamedFrom.toLowerCase())) {
      report(checking, join(join(path, name), 'renamedFrom'), `${show(renamedFrom)} is still a field here`);
    }
  }
  return {
    schema: [...fileSchemas.map((one): FieldSchema => ({ ...one })), ...schema],
    fields: [...fileFields, ...fields],
  };
}
