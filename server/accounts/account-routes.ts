import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { decideRevoke, decideUnlock } from '../../events/facts/accounts.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { authorize } from '../access/access.ts';
import { refuseMissing } from '../access/document-access.ts';
import type { App, Call } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type AuthTarget, authTargets, requireLiving } from '../callers/sessions.ts';
import { answerOnce } from '../documents/concurrency/answer-once.ts';
import { noPayload } from '../http/body.ts';
import { idOf } from '../http/requests.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { accountStateOf } from './account-state.ts';
import { accountOperation, endSessionOperation, unlockOperation } from './operations.ts';
import { record } from './record.ts';
import { sendEnded, sessionsOf } from './session-answers.ts';

type AccountCall = Call<AuthTarget['model']>;

/** The state of an account beside its document. */
type AccountView = AnswerOf<'Account'>;

/** The lock and the sessions of each account, for callers who may update it. */
export function accountStates(server: Server, app: App): void {
  for (const target of authTargets(app)) {
    const { slug, category, model } = target;
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
        options: {
          auth: strategy,
          plugins: { openApi: () => unlockOperation(model), takes: ['idempotency-key'] },
          payload: noPayload,
        },
        handler: async (request, h) => {
          const document = await admitted(request);
          const run = async (app: App) => ({ body: await unlock({ app, request, target }, document) });
          return answerOnce({ app, request, h }, run, { about: documentStream(category, idOf(request)) });
        },
      },
      {
        method: 'DELETE',
        path: `${path}/sessions/{sid}`,
        options: { auth: strategy, plugins: { openApi: () => endSessionOperation(model) }, payload: noPayload },
        handler: async (request, h) => {
          await admitted(request);
          const id = idOf(request);
          const { sid } = request.params;
          const ended = sessionsOf(app, { category, id }, ownSession(request)).find((session) => session.sid === sid);
          if (!ended) throw new DomainError('not_found', `this account has no session ${show(sid)}`);
          requireLiving(app, request);
          await record({ app, request }, decideRevoke({ category, id }, ended.sid));
          return sendEnded(h, ended);
        },
      },
    ]);
  }
}

/** The document of an account that the caller may update. @throws DomainError `not_found`, `forbidden`. */
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
  const { category } = target;
  const id = idOf(request);
  const own = request.auth.credentials?.user?.session;
  // A stolen session would let its thief try one password after the other.
  if (own?.category === category && own.id === id)
    throw new DomainError('forbidden', 'you may not unlock your own account');
  requireLiving(app, request);
  const { email } = document;
  const isEnded = typeof email === 'string' && (await app.passwords.unlock(category, email));
  if (isEnded) await record(call, decideUnlock({ category, id }));
  return viewOf(call, document);
}

async function viewOf({ app, request, target }: AccountCall, document: JsonObject): Promise<AccountView> {
  const state = await accountStateOf(app, target, document);
  return { ...state, sessions: sessionsOf(app, { category: target.category, id: idOf(request) }, ownSession(request)) };
}

function ownSession({ auth }: Request): string | null {
  return auth.credentials?.user?.session?.sid ?? null;
}
