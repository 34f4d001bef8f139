import type { ErasureRequest } from '../../../config/erasures.ts';
import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { accountStream, documentStream } from '../../../events/catalogue.ts';
import { whenHere } from '../../../events/fetching.ts';
import { noteErasure } from '../../access/admission.ts';
import { requireScope } from '../../access/key-scopes.ts';
import { isClosedToKeys } from '../../access/rights.ts';
import type { App, RouteCall, RouteParts } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { actorOf, contextOf, madeKeyOf, requestId, userOf } from '../../http/requests.ts';
import { type Plan, planErasure } from './plan.ts';

/** The extent of an erasure. `filesKept`: files that other documents need. `mails`: those that wait, or were caught. */
type Taken = Plan['counts'] & { files: number; filesKept: number; mails: number };

/** The service with its way to the worker that finishes erasures. */
export type ErasingApp = App & Pick<RouteParts, 'erasures'>;

type ErasingCall = RouteCall & { app: ErasingApp };

/** Logins may change the account meanwhile, again and again. */
const maxTries = 100;

/**
 * Lets a request pass that may erase: of the operator, under an API key, or of a user of the admin collection. The right to
 * read the history is not enough.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export function requireMayErase({ app, request }: RouteCall): void {
  const { type } = actorOf(request);
  if (type === 'anonymous') throw new DomainError('unauthorized', 'an API key or a token is needed');
  const key = madeKeyOf(request);
  if (key && !key.audit.includes('erase'))
    throw new DomainError('forbidden', 'you may not erase: this API key was not given the right to');
  if (type !== 'user') return;
  if (userOf(request)?.collection === app.model.adminCollection) return;
  throw new DomainError('forbidden', 'only users of the admin collection may erase');
}

/**
 * To a key accounts are closed here as they are everywhere else, also those of a collection that is gone. An erasure deletes too, so
 * one that was made at run time needs a scope for that.
 */
function requireOpen({ app, request }: RouteCall, { collection: slug, id }: ErasureRequest): void {
  if (actorOf(request).type !== 'apiKey') return;
  requireScope(request, { kind: 'collection', slug }, 'delete');
  const isAccount = app.events.versionOf(accountStream(slug, id)) > 0;
  const stream = isAccount ? accountStream(slug, id) : documentStream(slug, id);
  if (isClosedToKeys(app, stream)) {
    throw new DomainError('forbidden', `an API key may not erase accounts of ${slug}: its useAPIKey is not set`);
  }
}

/** Gives the extent of an erasure, and changes nothing. */
export async function previewErasure(call: ErasingCall, asked: ErasureRequest): Promise<JsonObject> {
  requireOpen(call, asked);
  const { collection, id } = asked;
  const plan = await whenHere(() => planErasure(call.app, collection, id));
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
  requireOpen({ app, request }, asked);
  const { collection, id, reason } = asked;
  noteErasure(request);
  const append = appendOf(app, request);
  const context = { ...contextOf(request), reason };
  for (let count = 1; count <= maxTries; count += 1) {
    const plan = await whenHere(() => planErasure(app, collection, id));
    const erases = await takenBy(app, plan);
    requireLiving(app, request);
    const who = { actor: actorOf(request), correlationId: requestId(request), context };
    const outcome = await append({ ...plan.change, otherStreams: plan.otherStreams, erases: plan.erases, ...who });
    if (!outcome.ok) continue;
    const { position, recordedAt } = outcome;
    const settled = app.erasures.settle(position);
    // A recorded erasure goes on even where the rest fails here.
    settled.catch(() => {});
    await forget(app, collection, plan);
    const isFinished = await settled;
    return { answer: { position, recordedAt, collection, id, erases, finished: isFinished }, isFinished };
  }
  throw new DomainError('conflict', 'others keep changing this document; try again');
}

async function takenBy(
  { accounts, erasures }: Pick<ErasingApp, 'accounts' | 'erasures'>,
  { counts, erases, emails, files }: Plan,
): Promise<Taken> {
  const streams = new Set(erases);
  const waiting = accounts.waitingMails().filter(({ stream }) => streams.has(stream)).length;
  const caught = emails.length > 0 ? await erasures.countMails(emails) : 0;
  const needed = files.length > 0 ? await erasures.neededBeside(files, erases) : [];
  return { ...counts, files: files.length - needed.length, filesKept: needed.length, mails: waiting + caught };
}

/** Removes the secrets and mails of an account; after a crash, the next start removes secrets that no event names. */
async function forget(
  { passwords, erasures }: Pick<ErasingApp, 'passwords' | 'erasures'>,
  slug: string,
  { credentials, emails }: Plan,
): Promise<void> {
  await Promise.all(credentials.map((credential) => passwords.forgetPassword(credential)));
  await Promise.all(emails.map((email) => passwords.unlock(slug, email)));
  if (emails.length === 0) return;
  // Those that wait are not sent; those that were caught before are not shown.
  await passwords.mailWaits();
  await erasures.forgetMails(emails);
}
