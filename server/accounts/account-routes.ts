import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { decideRevoke, decideUnlock } from '../../events/accounts.ts';
import { authorize } from '../access/access.ts';
import { refuseMissing } from '../access/document-access.ts';
import type { App, Call } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type AuthTarget, authTargets, requireLiving } from '../callers/sessions.ts';
import { noPayload } from '../http/body.ts';
import { idOf } from '../http/requests.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { accountOperation, endSessionOfOperation, unlockOperation } from './operations.ts';
import { record } from './record.ts';
import { type SessionView, sessionsOf } from './session-answers.ts';

type AccountCall = Call<AuthTarget['model']>;

/** The state of an account beside its document. Times are ISO 8601. */
type AccountView = {
  locked: boolean;
  lockedUntil: string | null;
  failures: number;
  lastLoginAt: string | null;
  hasPassword: boolean;
  sessions: SessionView[];
};

/** The lock and the sessions of each account, for callers who may update it. */
export function accountStates(server: Server, app: App): void {
  for (const target of authTargets(app)) {
    const { slug, model } = target;
    const path = `/api/collections/${slug}/{id}`;
    const admitted = (request: Request) => admit({ app, request, target });
    server.route([
      {
        method: 'GET',
        path: `${path}/account`,
        options: { auth: strategy, plugins: { openApi: () => accountOperation(model) } },
        handler: async (request) => {
          const document = await admitted(request);
          return viewOf({ app, request, target }, document);
        },
      },
      {
        method: 'POST',
        path: `${path}/unlock`,
        options: { auth: strategy, plugins: { openApi: () => unlockOperation(model) }, payload: noPayload },
        handler: async (request) => {
          const document = await admitted(request);
          return unlock({ app, request, target }, document);
        },
      },
      {
        method: 'DELETE',
        path: `${path}/sessions/{sid}`,
        options: { auth: strategy, plugins: { openApi: () => endSessionOfOperation(model) }, payload: noPayload },
        handler: async (request) => {
          await admitted(request);
          const id = idOf(request);
          const { sid } = request.params;
          const ended = sessionsOf(app, { slug, id }, ownSession(request)).find((session) => session.sid === sid);
          if (!ended) throw new DomainError('not-found', `this account has no session ${show(sid)}`);
          requireLiving(app, request);
          await record({ app, request }, decideRevoke({ slug, id }, ended.sid));
          return ended;
        },
      },
    ]);
  }
}

/** The document of an account that the caller may update, with whatever values. @throws DomainError `not-found`, `forbidden`. */
async function admit(call: AccountCall): Promise<JsonObject> {
  const { request, target } = call;
  const current = target.documents.current(idOf(request));
  if (!current) return refuseMissing(call, 'update');
  await authorize(call, 'update', { doc: () => current.document, data: {} });
  rejectQuery(request.query);
  return current.document;
}

/** Ends the lock of an account and the count of failed logins. @throws DomainError `forbidden` for the caller's own. */
async function unlock(call: AccountCall, document: JsonObject): Promise<AccountView> {
  const { app, request, target } = call;
  const { slug } = target;
  const id = idOf(request);
  const own = request.auth.credentials?.user?.session;
  // A stolen session would let its thief try one password after the other.
  if (own?.slug === slug && own.id === id) throw new DomainError('forbidden', 'you may not unlock your own account');
  requireLiving(app, request);
  const { email } = document;
  const isEnded = typeof email === 'string' && (await app.passwords.unlock(slug, email));
  if (isEnded) await record(call, decideUnlock({ slug, id }));
  return viewOf(call, document);
}

async function viewOf({ app, request, target }: AccountCall, { email }: JsonObject): Promise<AccountView> {
  const ref = { slug: target.slug, id: idOf(request) };
  const none = { failures: 0, lockedUntil: null };
  const { failures, lockedUntil } = typeof email === 'string' ? await app.passwords.lockOf(ref.slug, email) : none;
  const { credential = null, lastLoginAt = null } = app.accounts.account(ref.slug, ref.id) ?? {};
  return {
    locked: lockedUntil !== null,
    lockedUntil: lockedUntil === null ? null : new Date(lockedUntil).toISOString(),
    failures,
    lastLoginAt: lastLoginAt === null ? null : new Date(lastLoginAt).toISOString(),
    hasPassword: credential !== null,
    sessions: sessionsOf(app, ref, ownSession(request)),
  };
}

function ownSession({ auth }: Request): string | null {
  return auth.credentials?.user?.session?.sid ?? null;
}
