import type { Request } from '@hapi/hapi';
import type { DraftRequest } from '../../../config/drafts.ts';
import { DomainError } from '../../../config/errors.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import { authorize } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import type { App } from '../../app.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { actorOf, userOf } from '../../http/requests.ts';
import type { KeptDraft } from '../../ports.ts';
import { openPreview, signPreview } from './tokens.ts';

/**
 * Keeps a draft of a document that the caller may change, and gives the token that shows it. The content of the draft
 * is checked by the rule alone.
 *
 * @throws DomainError `not-found`, `forbidden`; `unavailable` when there is no room for it.
 */
export async function keepPreview(app: App, request: Request, draft: DraftRequest): Promise<string> {
  const { collection, id, data } = draft;
  const target = app.collections.get(collection);
  if (!target) {
    const hint = didYouMean(collection, app.model.collections.keys());
    throw new DomainError('not-found', `there is no collection ${show(collection)}${hint}`);
  }
  const call = { app, request, target };
  const current = target.documents.current(id);
  if (!current) return refuseMissing(call, 'update', id);
  await authorize(call, 'update', { doc: () => current.document, data });
  requireLiving(app, request);
  const { type, id: who } = actorOf(request);
  // A password is never kept as it came.
  const { password: _, ...withoutPassword } = data;
  const kept = await app.passwords.storeDraft({
    caller: who ?? type,
    by: type === 'apiKey' ? 'key' : userOf(request)?.collection === app.model.adminCollection ? 'user' : 'other',
    // As its stream is recorded, for an erasure.
    collection: target.category,
    document: id,
    data: JSON.stringify(target.model.auth ? withoutPassword : data),
  });
  // One that was erased meanwhile had its drafts forgotten before this one was there.
  if (target.documents.text(id) === null) {
    await app.passwords.dropDraft(kept);
    return refuseMissing(call, 'update', id);
  }
  return signPreview(app.credentials.secrets, kept, app.site, app.clock.believed());
}

/** The draft that a token shows. @throws DomainError `unauthorized` for every other token, and one that is too old. */
export async function readPreview(app: App, token: string): Promise<KeptDraft> {
  const { credentials, site, passwords, clock, names } = app;
  const id = openPreview(credentials.secrets, token, site, clock.believed());
  const draft = id === null ? null : await passwords.draft(id);
  if (!draft) throw new DomainError('unauthorized', 'the preview token is not valid, or has expired');
  return { ...draft, collection: names.slugFor(draft.collection) };
}
