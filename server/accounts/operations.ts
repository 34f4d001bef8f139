import Joi from 'joi';
import { counted } from '../../config/counted.ts';
import type { Collection, Model } from '../../config/model.ts';
import { hasReadHooks } from '../../config/traits.ts';
import type { AdmittedCallers, AuthCollection } from '../openapi/callers.ts';
import { type ApiOperation, headersOfKept, readsThroughHooks } from '../openapi/operation.ts';
import {
  type DescribedAnswer,
  type DescribedAnswers,
  json,
  ofHooks,
  refusals,
  refusalsForNow,
  refusalsOfKept,
  replayable,
  unauthorized,
} from '../openapi/responses.ts';
import { pageParameters } from '../queries/pages.ts';

/** Routes without authentication, under the rate limit. */
export const countedCaller: AdmittedCallers = { kind: 'anybody', isCounted: true };
/** The refusals of an operation with a body. */
export const ofBodies = [400, 408, 413, 415, 500] as const;

/** `POST /api/collections/<slug>/login` */
export function loginOperation(target: AuthCollection): ApiOperation {
  const { slug, auth } = target;
  return {
    ...about('login', slug),
    summary: `Log a user of ${slug} in`,
    description:
      'Begins a session. The token, for the header `Authorization: Bearer <token>`, is valid for ' +
      `${counted(auth.tokenExpiration, 'second')}.${auth.cookies ? ' Browsers also get it as a cookie.' : ''} A wrong ` +
      `password and an unknown e-mail get the same answer. After ${counted(auth.maxLoginAttempts, 'failure')} in a row the ` +
      `account is locked for ${counted(auth.lockTime, 'second')}: 429, also with the right password.`,
    body: 'Login',
    answers: {
      200: withCookie(target, json('A token, and the user.', `collections.${slug}.login`)),
      401: unauthorized('The e-mail or the password is wrong.'),
      ...refusals(ofBodies),
      // Without a rate limit too, failed logins lock the account.
      ...refusalsForNow([429, 503]),
      ...ofHooks(hasReadHooks(target)),
    },
    caller: countedCaller,
  };
}

/** `POST /api/collections/<slug>/logout` */
export function logoutOperation(target: AuthCollection): ApiOperation {
  const { slug, auth } = target;
  return {
    ...about('logout', slug),
    summary: 'End the session of the token',
    description: `Ends the session of the request, with every token of it; other sessions of the user go on.${auth.cookies ? ' The cookie is cleared.' : ''}`,
    answers: {
      200: leaving(withCookie(target, { description: 'The session has ended.' })),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `GET /api/collections/<slug>/me` */
export function meOperation(model: Model, target: AuthCollection): ApiOperation {
  const { slug, auth } = target;
  const isHooked = auth.depth ? readsThroughHooks(model, target) : hasReadHooks(target);
  return {
    ...about('me', slug),
    summary: 'Read the user of the token',
    description:
      'Answers with the user of the token, regardless of the read rule of the collection; rules of fields apply.' +
      (auth.depth ? ` Related documents replace their ids, as with \`depth=${auth.depth}\`.` : ''),
    answers: { 200: json('The user.', `collections.${slug}`), ...refusals([400, 500]), ...ofHooks(isHooked) },
    caller: { kind: 'user', of: slug },
  };
}

/** `POST /api/collections/<slug>/refresh-token` */
export function refreshOperation(target: AuthCollection): ApiOperation {
  const { slug, auth } = target;
  return {
    ...about('refreshToken', slug),
    summary: 'Exchange the token for one that is valid for longer',
    description:
      `Returns a token of the same session that is valid for another ${counted(auth.tokenExpiration, 'second')}. The old ` +
      'token stays valid until it expires, or the session ends.',
    answers: {
      200: withCookie(target, json('The new token, of the same session.', 'Token')),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `GET /api/collections/<slug>/sessions` */
export function sessionsOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('listSessions', slug),
    summary: 'List the sessions of the user',
    description:
      'Returns a page of the sessions of the user, oldest first, with the start time, the address and the program. `isCurrent` is ' +
      'the session of this request.',
    query: pageParameters,
    answers: { 200: json('A page of the active sessions.', 'Sessions'), ...refusals([400, 500]) },
    caller: { kind: 'user', of: slug },
  };
}

/** `DELETE /api/collections/<slug>/sessions/{sid}` */
export function endOwnSessionOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('endOwnSession', slug),
    summary: 'End a session of the user',
    description:
      'Ends a session of the user of the token, by the `sid` in the list of sessions; its tokens are no longer valid. The sessions of ' +
      'other users are a 404.',
    params: Joi.object({ sid: Joi.string().guid().required().description('The id of the session.') }),
    answers: {
      200: leaving(json('The session that was ended.', 'Session'), 'with the session of the request only'),
      404: json('The user has no such session.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

const ofAccount = Joi.object({ id: Joi.string().guid().required().description('The id of the account.') });
const noAccount: DescribedAnswers = { 404: json('There is no such account.', 'Error') };

/** `GET /api/collections/<slug>/{id}/account` */
export function accountOperation(target: AuthCollection): ApiOperation {
  return {
    ...about('readAccount', target.slug),
    summary: 'Read the lock and the sessions of an account',
    description:
      'Returns whether the account is locked, how many failed logins count, the time of the last login, and the sessions, ' +
      'oldest first. Needs the right to update the account.',
    params: ofAccount,
    answers: { 200: json('The state of the account.', 'Account'), ...noAccount, ...refusals([400, 500]) },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `POST /api/collections/<slug>/{id}/unlock` */
export function unlockOperation(target: AuthCollection): ApiOperation {
  return {
    ...about('unlock', target.slug),
    summary: 'End the lock of an account',
    description:
      "Ends a lock and resets the count of failed logins. Needs the right to update the account; the caller's own account is " +
      'a 403.',
    params: ofAccount,
    headers: headersOfKept,
    answers: {
      200: replayable(json('The state of the account, which is not locked.', 'Account')),
      ...noAccount,
      ...refusals([400, 500]),
      ...refusalsOfKept,
      ...refusalsForNow([503]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `DELETE /api/collections/<slug>/{id}/sessions/{sid}` */
export function endSessionOperation(target: AuthCollection): ApiOperation {
  return {
    ...about('endSession', target.slug),
    summary: 'End a session of an account',
    description:
      'Ends a session, by the `sid` in the state of the account; its tokens are no longer valid. Needs the right to update the account.',
    params: ofAccount.append({ sid: Joi.string().guid().required().description('The id of the session.') }),
    answers: {
      200: leaving(json('The session that was ended.', 'Session'), 'with the session of the request only'),
      404: json('There is no such account, or it has no such session.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** The id and the tag of an operation of a collection. */
export function about(action: string, slug: string): Pick<ApiOperation, 'id' | 'tag'> {
  return { id: `${action}_${slug}`, tag: slug };
}

/** An answer that ends the session of its request, or may. */
function leaving(answer: DescribedAnswer, when = ''): DescribedAnswer {
  const description = `\`"cache"\`${when && `, ${when}`}: the browser forgets the answers that it has kept of this origin.`;
  const header = { description, schema: { type: 'string' }, required: when === '' };
  return { ...answer, headers: { ...answer.headers, 'Clear-Site-Data': header } };
}

/** An answer that sets the cookie of the users of a collection, where they have one. */
export function withCookie({ slug, auth }: Collection, answer: DescribedAnswer): DescribedAnswer {
  if (!auth?.cookies) return answer;
  const description = `The cookie of the users of ${slug}, which contains the token; empty if the session has ended.`;
  return { ...answer, headers: { 'Set-Cookie': { description, schema: { type: 'string' } } } };
}
