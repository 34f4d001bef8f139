import type { DraftRequest } from '../../../config/drafts.ts';
import { DomainError } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import type { PreviewContent } from '../../../events/vault/previews.ts';
import { authorize } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import type { App, Call, RouteCall } from '../../app.ts';
import { callerForQuota } from '../../callers/quota-caller.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { refuseKeyOfPassword } from '../concurrency/idempotency-key.ts';
import { openPreview, signPreview } from './tokens.ts';

type PreviewCall = Call<Collection>;

/**
 * Refuses callers who may not change a document to the values of a preview; gives the call with the collection. Only
 * the access rule looks at the values.
 *
 * @throws DomainError `not_found`, `forbidden`; `validation_failed` for a password under an idempotency key.
 */
export async function requirePreviewer({ app, request }: RouteCall, preview: DraftRequest): Promise<PreviewCall> {
  const { collection, id, data } = preview;
  const target = app.collections.get(collection);
  if (!target) {
    const hint = didYouMean(collection, app.model.collections.keys());
    throw new DomainError('not_found', `there is no collection ${show(collection)}${hint}`);
  }
  const call = { app, request, target };
  const current = target.documents.current(id);
  if (!current) return refuseMissing(call, 'update', id);
  await authorize(call, 'update', { doc: () => current.document, data });
  if (target.model.auth && Object.hasOwn(data, 'password')) refuseKeyOfPassword(request);
  return call;
}

/**
 * Keeps a preview of a document, and gives the token that shows it.
 *
 * @param call of a caller whom {@link requirePreviewer} has admitted.
 * @throws DomainError `not_found`; `unavailable` when there is no room for it.
 */
export async function keepPreview(call: PreviewCall, { id, data }: DraftRequest): Promise<string> {
  const { app, request, target } = call;
  requireLiving(app, request);
  // A password is never kept as it came.
  const { password: _, ...withoutPassword } = data;
  const kept = await app.previews.keep({
    ...callerForQuota(app, request),
    // As the stream is named, by which an erasure finds it.
    collection: target.category,
    document: id,
    data: JSON.stringify(target.model.auth ? withoutPassword : data),
  });
  // If the document was erased meanwhile, its previews were deleted before this one was there.
  if (target.documents.text(id) === null) {
    await app.previews.drop(kept);
    return refuseMissing(call, 'update', id);
  }
  return signPreview(kept, signingOf(app));
}

/** The preview that a token shows. @throws DomainError `unauthorized` for a token that is wrong or too old. */
export async function readPreview(app: App, token: string): Promise<PreviewContent> {
  const { previews, names } = app;
  const id = openPreview(token, signingOf(app));
  const preview = id === null ? null : await previews.read(id);
  if (!preview) throw new DomainError('invalid_token', 'the preview token is not valid, or has expired');
  return { ...preview, collection: names.slugFor(preview.collection) };
}

function signingOf({ credentials, site, clock }: App) {
  return { secrets: credentials.secrets, site, now: clock.believed() };
}
