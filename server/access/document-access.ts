import { DomainError } from '../../config/errors.ts';
import type { Collection, Operation } from '../../config/model.ts';
import type { SomeRequest } from '../../projections/past.ts';
import type { Call } from '../app.ts';
import { type AsOf, actorOf, asOfFor, idOf } from '../http/requests.ts';
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
  const then = target.documents.asOf(id, moment.position);
  const today = target.documents.text(id);
  const isHidden = today === null && moment.scopeFor(target) !== 'every';
  if (then === null || isHidden) return refuseMissing(call, 'read');
  await authorize(call, 'read', { doc: () => JSON.parse(then.text), data: null, isPast: true });
  if (today !== null) await authorize(call, 'read', { doc: () => JSON.parse(today), data: null });
  return then;
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
