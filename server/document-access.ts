import type { Request } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';
import type { Collection, Operation } from '../config/model.ts';
import { authorize } from './access.ts';
import type { App, Target } from './app.ts';
import { actorOf, idOf } from './requests.ts';

/** A document as it is stored, and the version of its stream. */
export type Stored = { text: string; version: number };

/**
 * The document that the path names by its `{id}`, once it is known that the caller may read it.
 *
 * @throws DomainError `not-found`; `unauthorized` or `forbidden`.
 */
export async function readableDocument(app: App, request: Request, target: Target<Collection>): Promise<Stored> {
  const stored = target.documents.stored(idOf(request));
  if (stored === null) return refuseMissing(app, request, target, 'read');
  await authorize(app, request, target, 'read', { doc: () => JSON.parse(stored.text), data: null });
  return stored;
}

/** Whether a document exists is not told to somebody who might not be let near it anyway. */
export async function refuseMissing(
  app: App,
  request: Request,
  target: Target<Collection>,
  operation: Operation,
): Promise<never> {
  if (actorOf(request).type === 'anonymous') {
    // A rule that looks at the document may throw without one; that would tell it from a document that is hidden.
    await authorize(app, request, target, operation, { doc: () => null, data: null }).catch(() => {
      throw new DomainError('unauthorized', 'an API key or a token is needed');
    });
  }
  const id = JSON.stringify(idOf(request).slice(0, 100));
  throw new DomainError('not-found', `there is no document ${id} in ${target.slug}`);
}
