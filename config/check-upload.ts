import type { UploadOptions } from './model.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  join,
  own,
  passes,
  readOption,
  report,
  rules,
  wholeNumber,
} from './problems.ts';
import type { CollectionSchema, FieldSchema } from './schema.ts';
import { show } from './suggest.ts';
import { type Fields, fileFields, fileSchemas } from './uploads.ts';

const uploadKeys = ['maxFileSize', 'mimeTypes'] as const;
const defaultMaxFileSize = 7_000_000;

/** What `*` may stand for is all that comes behind the slash. */
const mimePattern = /^[a-z\d][a-z\d!#$&^_.+-]*\/(\*|[a-z\d][a-z\d!#$&^_.+-]*)$/i;

/** Names that an upload collection has already: those of the fields that tell of the file, and of the part it is sent as. */
export const namesInUploads: readonly string[] = ['file', ...fileSchemas.map(({ name }) => name)];

/** True for a collection whose author asks for files, rightly or not. */
export function wantsUpload(entry: Entry): boolean {
  const upload = own(entry, 'upload');
  return upload !== undefined && upload !== false;
}

/** The options of an upload collection; null where the documents are no files. */
export function checkUpload(checking: Checking, path: string, input: unknown): UploadOptions | null {
  if (input === undefined || input === false) return null;
  const entry: Entry = isEntry(input) ? input : {};
  if (input !== true && !isEntry(input)) report(checking, path, `must be true, false or an object, got ${show(input)}`);
  checkKeys(checking, path, entry, uploadKeys, 'upload');
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
  const types = (input as unknown[]).map((type, index) => {
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
