import { DomainError } from '../../config/errors.ts';
import type { Collection, Operation } from '../../config/model.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { SomeRequest } from '../../projections/past/past.ts';
import type { Call } from '../app.ts';
import { type AsOf, actorOf, asOfFor, idOf } from '../http/requests.ts';
import { absenceThen, type Turn } from './absence.ts';
import { authorize } from './access.ts';
import { requireScope } from './key-scopes.ts';

/** A document as it is stored, and the version of its stream. */
export type Stored = { text: string; version: number };

/**
 * The document that the path names by its `{id}`, once it is known that the caller may read it.
 *
 * @throws DomainError `not-found`; `unauthorized` or `forbidden`.
 */
export async function readableDocument(call: Call<Collection>): Promise<Stored> {
  const { request, target } = call;
  const moment = asOfFor(request);
  if (moment) return readableThen(call, moment);
  const stored = target.documents.stored(idOf(request));
  if (stored === null) return refuseMissing(call, 'read');
  await authorize(call, 'read', { doc: () => JSON.parse(stored.text), data: null });
  return stored;
}

/** As {@link readableDocument}, as of the moment that the request looks back to. */
async function readableThen(call: Call<Collection>, moment: AsOf): Promise<Stored> {
  const { request, target } = call;
  const id = idOf(request);
  const then = moment.fold ? await provenThen(call, moment.fold) : target.documents.asOf(id, moment.position);
  const today = target.documents.text(id);
  const isHidden = today === null && moment.scopeFor(target) !== 'every';
  if (then === null && !isHidden) await refuseAbsent(call, moment);
  if (then === null || isHidden) return refuseMissing(call, 'read');
  await authorize(call, 'read', { doc: () => JSON.parse(then.text), data: null, isPast: true });
  if (today !== null) await authorize(call, 'read', { doc: () => JSON.parse(today), data: null });
  return then;
}

/**
 * Refuses a request for a document that is not there as of then, if the caller may know that there is one at another
 * time.
 */
async function refuseAbsent(call: Call<Collection>, { position }: AsOf): Promise<void> {
  const { request, target } = call;
  const absence = await absenceThen(call, idOf(request), position);
  if (absence === null) return;
  const [yet, what] =
    'created' in absence ? [' yet', `created ${at(absence.created)}`] : ['', `deleted ${at(absence.deleted)}`];
  const it = `the document "${idOf(request)}" in ${target.slug}`;
  const message = `${it} did not exist${yet} as of position ${position}: it was ${what}`;
  throw new DomainError('not-found', message, [], null, absence);
}

function at({ position, recordedAt }: Turn): string {
  return `at position ${position}, ${recordedAt}`;
}

/** Made of the events, which are proven as they are read: the read tables decide on rights alone. */
async function provenThen(
  { request, target }: Call<Collection>,
  fold: NonNullable<AsOf['fold']>,
): Promise<Stored | null> {
  const id = idOf(request);
  const folded = await fold(documentStream(target.category, id));
  return folded && { text: JSON.stringify(target.documentOf(id, folded.document)), version: folded.version };
}

/** Those of the documents that meet a condition, by id: today, or as of the moment that the request looks back to. */
export function someOf(
  { app, request, target }: Call,
  asked: SomeRequest,
): Map<string, string> | Promise<Map<string, string>> {
  const { documents, tables } = target;
  const moment = asOfFor(request);
  if (moment) return app.past.some(moment.position, tables, asked);
  return documents.some(asked.ids, asked.where, asked.only);
}

/**
 * Refuses a request for a document that does not exist. A caller who might not be admitted anyway is not told so.
 *
 * @param id of the document; without it the one that the path names.
 */
export async function refuseMissing(call: Call, operation: Operation, id = idOf(call.request)): Promise<never> {
  const { request, target } = call;
  requireScope(request, target.model, operation);
  if (actorOf(request).type === 'anonymous') {
    // A rule that looks at the document may throw without one; that would tell it from a document that is hidden.
    await authorize(call, operation, { doc: () => null, data: null }).catch(() => {
      throw new DomainError('unauthorized', 'an API key or a token is needed');
    });
  }
  const shown = JSON.stringify(id.slice(0, 100));
  const moment = asOfFor(request);
  const then = moment ? ` as of position ${moment.position}` : '';
  throw new DomainError('not-found', `there is no document ${shown} in ${target.slug}${then}`);
}
