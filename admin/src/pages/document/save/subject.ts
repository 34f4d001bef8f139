import type { OwnDraft, OwnDraftWithData, Version } from '../../../../../client/index.ts';
import type { Field } from '../../../schema/fields.ts';
import { type Collection, type Global, isOfDrafts, viewOf } from '../../../schema/model.ts';
import { titleOf } from '../../../schema/titles.ts';
import { client } from '../../../service/client.ts';
import type { Values } from '../form/values.ts';

/** The subject of a form: a document, a new document (`id` null), or a global. */
export type Subject =
  | { kind: 'document'; collection: Collection; id: string | null }
  | { kind: 'global'; global: Global };

/** A document or global as it was read, and the tag of its version. */
export type TaggedDocument = { document: Values; etag: string | undefined };

/** The options of a write. */
export type Writing = { ifMatch?: string | undefined; idempotencyKey: string; reason?: string | undefined };

/** The slug of the collection or global. */
export function slugOf(subject: Subject): string {
  return subject.kind === 'global' ? subject.global.slug : subject.collection.slug;
}

/** The collection or global. */
export function configOf(subject: Subject): Collection | Global {
  return subject.kind === 'global' ? subject.global : subject.collection;
}

/** The fields of the collection or global. */
export function fieldsOf(subject: Subject): readonly Field[] {
  return subject.kind === 'global' ? subject.global.fields : subject.collection.fields;
}

/** The title of a document, the label of a global. */
export function nameOf(subject: Subject, document: Values): string {
  return subject.kind === 'global' ? subject.global.label : titleOf(subject.collection, document);
}

/** Whether the user may write the subject, as far as that can be known beforehand. */
export function isWritable(subject: Subject): boolean {
  if (subject.kind === 'global') return subject.global.access.update;
  return subject.id === null ? subject.collection.access.create : subject.collection.access.update;
}

/** Whether each write needs a reason. */
export function needsReason(subject: Subject): boolean {
  return subject.kind === 'document' && subject.collection.requireReason;
}

type Options = { signal?: AbortSignal; asOf?: string };

/**
 * Reads the subject, as its draft if the user works on drafts; null for a new document, and if there is no document
 * that the user may know of.
 */
export function readSubject(subject: Subject, options: Options = {}): Promise<TaggedDocument | null> {
  return read(subject, { ...options, ...viewOf(configOf(subject)) });
}

/** Reads the subject as readers get it; null if it is not public. */
export function readPublic(subject: Subject, options: Options = {}): Promise<TaggedDocument | null> {
  return read(subject, options);
}

async function read(subject: Subject, options: Options & { draft?: true }): Promise<TaggedDocument | null> {
  const found =
    subject.kind === 'global'
      ? await client.global(subject.global.slug).get(options)
      : subject.id === null
        ? null
        : await client.collection(subject.collection.slug).findOne(subject.id, options);
  return found === null ? null : readOf(found);
}

/** A document as the client gave it, with the tag of its version. */
export function readOf(document: Values): TaggedDocument {
  return { document, etag: client.etagOf(document) };
}

/**
 * Writes the subject: its draft if the user works on drafts, unless `isPublic` is set.
 *
 * @throws ApiError
 */
export async function writeSubject(
  subject: Subject,
  body: Values,
  { isPublic = false, ...options }: Writing & { isPublic?: boolean },
): Promise<TaggedDocument> {
  const isDraft = !isPublic && isOfDrafts(configOf(subject));
  const ofDraft = { ...options, draft: true } as const;
  if (subject.kind === 'global') {
    const { update } = client.global(subject.global.slug);
    return readOf(await (isDraft ? update(body, ofDraft) : update(body, options)));
  }
  const { update, create } = client.collection(subject.collection.slug);
  const { id } = subject;
  if (id !== null) return readOf(await (isDraft ? update(id, body, ofDraft) : update(id, body, options)));
  const { ifMatch: _, ...creating } = options;
  return readOf(await (isDraft ? create(body, { ...creating, draft: true }) : create(body, creating)));
}

/** A tag for `If-Match`, which compares the version in it, and whether it is of a draft. */
export function tagOf(subject: Subject, version: number): string {
  return isOfDrafts(configOf(subject)) ? `"${version}-draft-unsaved"` : `"${version}-unsaved"`;
}

/** One version in the history, with the name of its actor. @throws ApiError if the user may not read the history. */
export async function versionIn(subject: Subject, version: number, signal?: AbortSignal): Promise<Version | null> {
  // A global that was never written has no version.
  if (version < 1) return null;
  const options = { next: version - 1, limit: 1, actors: 'names' as const, signal };
  if (subject.kind === 'global') return (await client.global(subject.global.slug).history(options)).docs[0] ?? null;
  if (subject.id === null) return null;
  return (await client.collection(subject.collection.slug).history(subject.id, options)).docs[0] ?? null;
}

/** The target of unsaved changes, as `/api/drafts` names it. */
export type DraftTarget = { collection: string; id: string } | { global: string };

/** The target of the unsaved changes of a form: `draftId`, `new-<uuid>`, stands for a new document. */
export function targetOf(subject: Subject, draftId: string): DraftTarget {
  if (subject.kind === 'global') return { global: subject.global.slug };
  return { collection: subject.collection.slug, id: subject.id ?? draftId };
}

/** The target of unsaved changes as one text. */
export function targetName(target: DraftTarget): string {
  return 'global' in target ? `globals/${target.global}` : `${target.collection}/${target.id}`;
}

/** Whether an entry of the user's unsaved changes is about a target. */
export function isDraftOf(draft: OwnDraft | OwnDraftWithData, target: DraftTarget): boolean {
  if ('global' in draft) return 'global' in target && draft.global === target.global;
  return 'collection' in target && draft.collection === target.collection && draft.id === target.id;
}
