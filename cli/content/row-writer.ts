import { compileDraftValidator, compileValidator, type Validator } from '../../config/documents.ts';
import type { Collection } from '../../config/model.ts';
import { type Json, type JsonObject, memberOf } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { given } from './columns.ts';
import { accepted, asRowError, documentIn, findDocument, type JsonDocument, RowError } from './documents.ts';
import { digestOf, type FindFile, fileMember } from './files.ts';
import { uniqueFieldsOf } from './relations.ts';
import type { Calls, SentFile } from './service.ts';

/** The end of a row: what became of its document, and the id, which a dry run does not know. */
export type WriteResult = { outcome: 'created' | 'updated' | 'unchanged'; id: string | null };

/** A row as it is written: its values with the ids of this service, and an idempotency key. */
export type ToWrite = { values: JsonObject; source: JsonObject; key: string };

/**
 * The way of all rows of an import into a collection. `upsert` is the unique field by which existing documents are
 * found.
 */
type Writing = {
  calls: Calls;
  collection: Collection;
  upsert: string | null;
  isDryRun: boolean;
  /** Whether rows are saved as drafts. */
  isDraft: boolean;
  reason: string;
  findFile: FindFile;
};

/** Gives the function that writes a row. The function throws a RowError if the row is refused. */
export function rowWriter(writing: Writing): (row: ToWrite) => Promise<WriteResult> {
  const { calls, collection, upsert, isDryRun, reason } = writing;
  const { slug } = collection;
  const path = `/api/collections/${slug}`;
  const { drafts } = collection;
  const validator =
    writing.isDraft && drafts ? compileDraftValidator(collection, drafts) : compileValidator(collection);

  return async ({ values, source, key }) => {
    const file = collection.upload ? await writing.findFile(source) : null;
    const body = rowBodyOf(collection, values);
    const before = upsert === null ? null : await findDocument(calls, slug, keyIn(upsert, body));
    if (isDryRun) return check(writing, { body, file, before, validator });
    return before ? update(before, body, file) : create(body, file, key);
  };

  async function create(body: JsonObject, file: SentFile | null, key: string): Promise<WriteResult> {
    const sent = { method: 'POST', path, body, key, reason, ...(file ? { file } : {}) } as const;
    const { id } = documentIn(await calls.ask(sent));
    // A form cannot say that a field has no value, and a field that is left out gets its default.
    const cleared = file ? nullsWithDefault(collection, body) : {};
    if (Object.keys(cleared).length > 0) {
      await writeChange(writing, { path: `${path}/${id}`, values: cleared });
    }
    return { outcome: 'created', id };
  }

  async function update(before: JsonDocument, body: JsonObject, file: SentFile | null): Promise<WriteResult> {
    const { id } = before;
    const target = { method: 'PATCH', path: `${path}/${id}`, reason } as const;
    const changed = documentIn(await calls.ask({ ...target, body }));
    const isNew = file !== null && (await digestOf(file.path)) !== before.sha256;
    const last = isNew ? documentIn(await calls.ask({ ...target, body: {}, file })) : changed;
    return { outcome: last.updatedAt === before.updatedAt ? 'unchanged' : 'updated', id };
  }
}

/** A change of a document or global that exists: the values of some of its fields. */
type Change = { path: string; values: JsonObject };

/** Writes a change. @throws RowError if the service refuses it. */
export async function writeChange(
  { calls, reason }: Pick<Writing, 'calls' | 'reason'>,
  { path, values }: Change,
): Promise<JsonObject> {
  return accepted(await calls.ask({ method: 'PATCH', path, body: values, reason }));
}

/** The body of a row's document. @throws RowError for one with a password. */
export function rowBodyOf(collection: Collection, values: JsonObject): JsonObject {
  if (!collection.auth || !Object.hasOwn(values, 'password')) return bodyOf(collection, values);
  throw new RowError('password is not imported: accounts come without, and are given one by a reset of the password');
}

/** The value by which `--upsert` finds the document of a row. @throws RowError without one. */
export function keyIn(field: string, body: JsonObject): { field: string; value: Json } {
  const value = memberOf(body, field) ?? null;
  if (value === null) throw new RowError(`${field} is missing: --upsert finds the document by it`);
  return { field, value };
}

/** The values of a row without what the service gives a document itself. */
export function bodyOf(
  { fields, upload }: Pick<Collection, 'fields'> & { upload?: object | null },
  values: JsonObject,
): JsonObject {
  const left = new Set(
    fields.filter(({ type, isServerMade }) => type === 'join' || isServerMade).map(({ name }) => name),
  );
  for (const name of given) left.add(name);
  if (upload) left.add(fileMember);
  return Object.fromEntries(Object.entries(values).filter(([name]) => !left.has(name)));
}

function nullsWithDefault({ fields }: Collection, body: JsonObject): JsonObject {
  const names = fields.filter(({ name, makeDefault }) => makeDefault && memberOf(body, name) === null);
  return Object.fromEntries(names.map(({ name }) => [name, null]));
}

type ToCheck = { body: JsonObject; file: SentFile | null; before: JsonDocument | null; validator: Validator };

/** As far as a write can be foreseen: the form of the values, and unique values that other documents have. */
async function check({ calls, collection }: Writing, { body, file, before, validator }: ToCheck): Promise<WriteResult> {
  if (collection.upload && !file && !before) throw new RowError('file is missing');
  if (file && collection.upload && file.size > collection.upload.maxFileSize) {
    throw new RowError(`file has ${file.size} bytes, and at most ${collection.upload.maxFileSize} are allowed`);
  }
  let values: JsonObject;
  try {
    values = before ? validator.update(body) : validator.create(body);
  } catch (error) {
    asRowError(error);
  }
  for (const field of uniqueFieldsOf(collection)) {
    const value = memberOf(values, field) ?? null;
    const rival = value === null ? null : await findDocument(calls, collection.slug, { field, value });
    if (rival && rival.id !== before?.id)
      throw new RowError(`${field} is taken by another document, got ${show(value)}`);
  }
  const isSame =
    before !== null && Object.entries(values).every(([name, value]) => isEqual(value, before[name] ?? null));
  return { outcome: before ? (isSame ? 'unchanged' : 'updated') : 'created', id: before?.id ?? null };
}

function isEqual(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
