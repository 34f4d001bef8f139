import type { PublicationPlan } from '../../../../../client/index.ts';
import { client, reasonOfTrial } from '../../../service/client.ts';
import type { Values } from '../form/values.ts';
import { readOf, type Subject, type TaggedDocument, type Writing, writeSubject } from '../save/subject.ts';

type Options = Partial<Writing>;

/** Writes and publishes what is in a form: in one call, and for a new document by its creation. @throws ApiError */
export function publishForm(subject: Subject, body: Values, options: Writing): Promise<TaggedDocument> {
  const isNew = subject.kind === 'document' && subject.id === null;
  if (isNew) return writeSubject(subject, body, { ...options, isPublic: true });
  return publishSubject(subject, Object.keys(body).length === 0 ? {} : { data: body }, options);
}

/** Publishes the draft of a document or global, with the values in `data`. @throws ApiError */
export async function publishSubject(
  subject: Subject,
  data: { data?: Values },
  options: Options,
): Promise<TaggedDocument> {
  if (subject.kind === 'global') return readOf(await client.global(subject.global.slug).publish(data, options));
  return readOf(await client.collection(subject.collection.slug).publish(subject.id ?? '', data, options));
}

/** Makes the draft of a document or global what is public. @throws ApiError */
export async function discardSubject(subject: Subject, options: Options): Promise<TaggedDocument> {
  if (subject.kind === 'global') return readOf(await client.global(subject.global.slug).discard(options));
  return readOf(await client.collection(subject.collection.slug).discard(subject.id ?? '', options));
}

/** Takes a document out of what is public. @throws ApiError */
export async function unpublishSubject(subject: Subject, options: Options): Promise<TaggedDocument> {
  if (subject.kind === 'global') throw new Error('a global is always public');
  return readOf(await client.collection(subject.collection.slug).unpublish(subject.id ?? '', options));
}

/** Says what a publication of the draft would do, and does nothing. @throws ApiError */
export function tryPublication(subject: Subject, options: { signal: AbortSignal }): Promise<PublicationPlan> {
  const trial = { ...options, ...reasonOfTrial, dryRun: true } as const;
  if (subject.kind === 'global') return client.global(subject.global.slug).publish({}, trial);
  return client.collection(subject.collection.slug).publish(subject.id ?? '', {}, trial);
}
