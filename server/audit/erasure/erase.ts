import type { ErasureRequest } from '../../../config/erasures.ts';
import { DomainError } from '../../../config/errors.ts';
import type { Category, JsonObject } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { documentStream } from '../../../events/facts/catalogue.ts';
import type { Change } from '../../../events/facts/log.ts';
import { retryAfterFetch } from '../../../events/segments/fetching.ts';
import { type RemainingAccount, remainingAdministrator } from '../../access/administrators.ts';
import { noteErasure } from '../../access/admission.ts';
import { erasableOf, mayErase, requireOpenToKey } from '../../access/erasing.ts';
import { auditRightsOf } from '../../access/rights.ts';
import type { App, RouteCall, RouteParts } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { releaseRemovals } from '../../documents/releases/removal.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';
import { type ErasurePlan, planErasure } from './plan.ts';

/** The extent of an erasure. `filesKept`: files that other documents need. `mails`: waiting and caught mails. */
type ErasureExtent = ErasurePlan['counts'] & { files: number; filesKept: number; mails: number };

/** The service with its way to the worker that finishes erasures. */
export type ErasingApp = App & Pick<RouteParts, 'erasures'>;

type ErasingCall = RouteCall & { app: ErasingApp };

/** Logins may change the account meanwhile, again and again. */
const maxTries = 100;

/**
 * Admits a request that may erase a document, and that leaves an account that can manage others.
 *
 * @returns the state that must not change until the erasure is recorded; null if nothing must be kept.
 * @throws DomainError `forbidden`; `conflict` for the last account that can manage others. If there is nothing to
 *   erase, as {@link planErasure}, to a caller whose rights to headers show that anyway.
 */
async function admit({ app, request }: ErasingCall, asked: ErasureRequest): Promise<RemainingAccount | null> {
  const call = { app, request };
  requireOpenToKey(call, asked);
  const { collection, id } = asked;
  const erasable = await erasableOf(app, asked);
  if (!(await mayErase(call, asked, erasable))) {
    const { has } = await auditRightsOf(app, request);
    if (!erasable && has('headers')) await retryAfterFetch(() => planErasure(app, collection, id));
    throw new DomainError('forbidden', `you may not erase ${show(`${collection}/${id}`)}`);
  }
  // The operator decides on every account.
  if (collection !== app.model.adminCollection || !erasable || actorOf(request).type === 'system') return null;
  const { document, lastAt } = erasable;
  return remainingAdministrator(call, { id, document, isDeleted: lastAt !== null });
}

/** Gives the extent of an erasure, and changes nothing. */
export async function previewErasure(call: ErasingCall, asked: ErasureRequest): Promise<JsonObject> {
  await admit(call, asked);
  const { collection, id } = asked;
  const plan = await retryAfterFetch(() => planErasure(call.app, collection, id));
  return { collection, id, dryRun: true, erases: await takenBy(call.app, plan) };
}

/**
 * Erases a document with all that is about it, and waits a while for the last byte of it to be gone.
 *
 * @returns the answer, and whether it is finished.
 */
export async function eraseDocument(
  { app, request }: ErasingCall,
  asked: ErasureRequest,
): Promise<{ answer: JsonObject; isFinished: boolean }> {
  const { collection, id, reason } = asked;
  noteErasure(request, app.model.erase);
  const append = appendOf(app, request);
  const category = app.names.categoryFor(collection);
  const context = { ...contextOf(request), reason };
  for (let count = 1; count <= maxTries; count += 1) {
    const remaining = await admit({ app, request }, asked);
    const plan = await retryAfterFetch(() => planErasure(app, collection, id));
    const erases = await takenBy(app, plan);
    requireLiving(app, request);
    const who = { actor: actorOf(request), correlationId: requestId(request), context };
    const outcome = await append({
      ...plan.change,
      otherStreams: [...plan.otherStreams, ...unchanged(remaining), ...releaseRemovals(app, [{ category, id }])],
      erases: plan.erases,
      ...who,
    });
    if (!outcome.ok) continue;
    const { position, recordedAt } = outcome;
    const settled = app.erasures.settle(position);
    // A recorded erasure goes on even if the rest fails here.
    settled.catch(() => {});
    await forget(app, category, plan);
    const isFinished = await settled;
    return { answer: { position, recordedAt, collection, id, erases, finished: isFinished }, isFinished };
  }
  throw new DomainError('write_conflict', 'others keep changing this document; try again');
}

function unchanged(remaining: RemainingAccount | null): Change[] {
  return remaining ? [decideNothing(documentStream(remaining.category, remaining.id), remaining.version)] : [];
}

async function takenBy(
  { accounts, erasures }: Pick<ErasingApp, 'accounts' | 'erasures'>,
  { counts, erases, emails, files }: ErasurePlan,
): Promise<ErasureExtent> {
  const streams = new Set(erases);
  const isTaken = (stream: string | null) => stream !== null && streams.has(stream);
  const waiting = accounts.waitingMails().filter(({ stream, about }) => isTaken(stream) || isTaken(about)).length;
  const caught = emails.length > 0 ? await erasures.countMails(emails) : 0;
  const needed = files.length > 0 ? await erasures.neededBeside(files, erases) : [];
  return { ...counts, files: files.length - needed.length, filesKept: needed.length, mails: waiting + caught };
}

/** Removes the secrets and mails of an account; after a crash, the next start removes secrets that no event names. */
async function forget(
  { passwords, erasures }: Pick<ErasingApp, 'passwords' | 'erasures'>,
  category: Category,
  { credentials, emails }: ErasurePlan,
): Promise<void> {
  await Promise.all(credentials.map((credential) => passwords.forgetPassword(credential)));
  await Promise.all(emails.map((email) => passwords.unlock(category, email)));
  if (emails.length === 0) return;
  // Waiting mails are not sent; caught mails are not shown.
  await passwords.mailWaits();
  await erasures.forgetMails(emails);
}
