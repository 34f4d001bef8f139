import type { Server, ServerRoute } from '@hapi/hapi';
import { counted } from '../../config/counted.ts';
import { readLogin } from '../../config/credentials.ts';
import { DomainError } from '../../config/errors.ts';
import { decideFailedLogin, decideLogin, decideRefresh, decideRevoke } from '../../events/facts/accounts.ts';
import type { App, Call } from '../app.ts';
import { publicStrategy, strategy } from '../callers/authentication.ts';
import { clearCookie, setCookie } from '../callers/cookies.ts';
import { countCall } from '../callers/counting.ts';
import {
  type AuthTarget,
  authTargets,
  becomeUser,
  expiryOf,
  newSession,
  requireSession,
  userWith,
} from '../callers/sessions.ts';
import { tokenFor } from '../callers/tokens.ts';
import { leftBehind, unstored } from '../callers/vary.ts';
import { sendText } from '../documents/read/sending.ts';
import { pageText } from '../documents/read/serialize.ts';
import { tooBusy } from '../documents/write/passwords.ts';
import { jsonPayload, noPayload, readBody } from '../http/body.ts';
import { addressOf } from '../http/requests.ts';
import { pageParameters } from '../queries/pages.ts';
import { readQuery, rejectQuery } from '../queries/parameters.ts';
import {
  endOwnSessionOperation,
  loginOperation,
  logoutOperation,
  meOperation,
  refreshOperation,
  sessionsOperation,
} from './operations.ts';
import { record, recordLater } from './record.ts';
import { sendEnded, sessionPage, sessionsOf } from './session-answers.ts';
import { userAnswersOf } from './user-answers.ts';

/** Login, logout, the current user and sessions (contract, section 4.4), for each auth collection. */
export function accounts(server: Server, app: App): void {
  for (const target of authTargets(app)) server.route([...loginRoutes(app, target), ...sessionRoutes(app, target)]);
}

function loginRoutes(app: App, target: AuthTarget): ServerRoute[] {
  const { slug, category, model } = target;
  const path = `/api/collections/${slug}`;
  const maxBytes = app.model.limits.body;
  const { userText, sendSession } = userAnswersOf(app, target);

  return [
    {
      method: 'POST',
      path: `${path}/login`,
      options: { auth: publicStrategy, plugins: { openApi: () => loginOperation(model) }, payload: jsonPayload },
      handler: async (request, h) => {
        rejectQuery(request.query);
        const { email, password } = readLogin(await readBody(request, maxBytes));
        await countCall(app, request, email);
        const { id, credential } = await checkPassword({ app, request, target }, email, password);
        const session = newSession(app, target, credential);
        becomeUser({ app, request }, { category, id, sid: session.sid });
        await record({ app, request }, decideLogin({ category, id }, session));
        return sendSession(request, h, { id, sid: session.sid });
      },
    },
    {
      method: 'POST',
      path: `${path}/logout`,
      options: {
        auth: strategy,
        plugins: { openApi: () => logoutOperation(model) },
        payload: noPayload,
        response: { emptyStatusCode: 200 },
      },
      handler: async (request, h) => {
        const { sid, id } = requireSession(request, target);
        rejectQuery(request.query);
        await record({ app, request }, decideRevoke({ category, id }, sid));
        clearCookie(app, model, h);
        return leftBehind(h.response());
      },
    },
    {
      method: 'GET',
      path: `${path}/me`,
      options: { auth: strategy, plugins: { openApi: () => meOperation(app.model, model) } },
      handler: async (request, h) => {
        const { id } = requireSession(request, target);
        rejectQuery(request.query);
        return sendText(h, await userText(request, id, model.auth.depth));
      },
    },
    {
      method: 'POST',
      path: `${path}/refresh-token`,
      options: { auth: strategy, plugins: { openApi: () => refreshOperation(model) }, payload: noPayload },
      handler: async (request, h) => {
        const { sid, id } = requireSession(request, target);
        rejectQuery(request.query);
        await record({ app, request }, decideRefresh({ category, id }, sid, expiryOf(app, model.auth)));
        const token = tokenFor(app, target, { id, sid });
        setCookie(h, app, { model, token });
        return unstored(h.response({ token }));
      },
    },
  ];
}

function sessionRoutes(app: App, target: AuthTarget): ServerRoute[] {
  const { slug, category, model } = target;
  const path = `/api/collections/${slug}/sessions`;

  return [
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => sessionsOperation(model) } },
      handler: (request, h) => {
        const { sid, id } = requireSession(request, target);
        const query = readQuery(pageParameters, request.query, app);
        const { sessions, total } = sessionPage(app, { account: { category, id }, own: sid }, query);
        return sendText(h, pageText(sessions, total, query));
      },
    },
    {
      method: 'DELETE',
      path: `${path}/{sid}`,
      options: { auth: strategy, plugins: { openApi: () => endOwnSessionOperation(model) }, payload: noPayload },
      handler: async (request, h) => {
        const { sid, id } = requireSession(request, target);
        rejectQuery(request.query);
        const ended = sessionsOf(app, { category, id }, sid).find((session) => session.sid === request.params.sid);
        if (!ended) throw new DomainError('not_found', 'you have no such session');
        await record({ app, request }, decideRevoke({ category, id }, ended.sid));
        return sendEnded(h, ended);
      },
    },
  ];
}

/**
 * Finds the account of an address and a password.
 *
 * @throws DomainError `unauthorized`; `rate_limited` while it is locked. An address without an account gets the same.
 */
async function checkPassword({ app, request, target }: Call<AuthTarget['model']>, email: string, password: string) {
  const { category } = target;
  const id = userWith(target, email);
  const credential = id === null ? null : (app.accounts.account(category, id)?.credential ?? null);
  const checked = await app.passwords.checkPassword({
    address: addressOf(request),
    category,
    email,
    credential,
    password,
  });
  if (checked.kind === 'right' && id !== null && credential !== null) return { id, credential };
  if (checked.kind === 'busy') throw tooBusy(checked.seconds);
  if (checked.kind === 'locked') throw locked(checked.seconds);
  if (checked.kind === 'wrong' && id !== null) {
    const until = checked.lockedUntil === null ? null : new Date(checked.lockedUntil);
    // Recorded in the background: the time of the answer must not reveal whether the account exists.
    recordLater({ app, request }, decideFailedLogin({ category, id }, until));
  }
  throw new DomainError('invalid_credentials', 'the e-mail or the password is wrong');
}

function locked(seconds: number): DomainError {
  return new DomainError('locked', `too many failed logins; try again in ${counted(seconds, 'second')}`, [], seconds);
}
