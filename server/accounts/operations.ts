import Joi from 'joi';
import { counted } from '../../config/counted.ts';
import type { Collection, Model } from '../../config/model.ts';
import { anyField, hasChangeHooks, hasReadHooks } from '../../config/traits.ts';
import type { Account, Caller } from '../openapi/callers.ts';
import { type Operation, readsThroughHooks } from '../openapi/operation.ts';
import { type Answer, type Answers, json, ofHooks, refusals, refusalsForNow } from '../openapi/responses.ts';

/** Routes without authentication, under the rate limit. */
const countedCaller: Caller = { kind: 'anybody', isCounted: true };
const ofBodies = [400, 408, 413, 415, 500] as const;

/** `POST /api/collections/<slug>/login` */
export function loginOperation(target: Account): Operation {
  const { slug, auth } = target;
  return {
    ...about('login', slug),
    summary: `Log a user of ${slug} in`,
    description:
      `Begins a session. The token goes into the header \`Authorization: Bearer <token>\` and lives ${counted(auth.tokenExpiration, 'second')}.` +
      `${auth.cookies ? ' A browser gets it as a cookie too.' : ''} A wrong password and an unknown e-mail get the same answer. After ` +
      `${counted(auth.maxLoginAttempts, 'failure')} in a row the account is locked for ${counted(auth.lockTime, 'second')}: 429, with the right password too.`,
    body: 'Login',
    answers: {
      200: withCookie(target, json('A token, and the user.', `collections.${slug}.login`)),
      401: json('The e-mail or the password is wrong.', 'Error'),
      ...refusals(ofBodies),
      // Without a rate limit too, failed logins lock the account.
      ...refusalsForNow([429, 503]),
      ...ofHooks(hasReadHooks(target)),
    },
    caller: countedCaller,
  };
}

/** `POST /api/collections/<slug>/logout` */
export function logoutOperation(target: Account): Operation {
  const { slug, auth } = target;
  return {
    ...about('logout', slug),
    summary: 'End the session of the token',
    description: `Ends the session of the request, with every token of it; other sessions of the user go on.${auth.cookies ? ' The cookie is cleared.' : ''}`,
    answers: {
      200: withCookie(target, { description: 'The session has ended.' }),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `GET /api/collections/<slug>/me` */
export function meOperation(model: Model, target: Account): Operation {
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
export function refreshOperation(target: Account): Operation {
  const { slug, auth } = target;
  return {
    ...about('refreshToken', slug),
    summary: 'Exchange the token for one that is valid for longer',
    description:
      `Gives a token of the same session that lives another ${counted(auth.tokenExpiration, 'second')}. The old token stays valid until it ` +
      'expires, or the session ends.',
    answers: {
      200: withCookie(target, json('The new token, of the same session.', 'Token')),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `GET /api/collections/<slug>/sessions` */
export function sessionsOperation({ slug }: Collection): Operation {
  return {
    ...about('listSessions', slug),
    summary: 'List the sessions of the user',
    description:
      'Lists the sessions of the user, oldest first, with the start time, the address and the program. `isCurrent` is the session of ' +
      'this request.',
    answers: { 200: json('The active sessions.', 'Sessions'), ...refusals([400, 500]) },
    caller: { kind: 'user', of: slug },
  };
}

/** `DELETE /api/collections/<slug>/sessions/{sid}` */
export function endSessionOperation({ slug }: Collection): Operation {
  return {
    ...about('endSession', slug),
    summary: 'End a session of the user',
    description:
      'Ends a session of the user of the token, by the `sid` in the list of sessions; its tokens are no longer valid. The sessions of ' +
      'other users are a 404.',
    params: Joi.object({ sid: Joi.string().guid().required().description('The id of the session.') }),
    answers: {
      200: json('The session that was ended.', 'Session'),
      404: json('The user has no such session.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

const ofAccount = Joi.object({ id: Joi.string().guid().required().description('The id of the account.') });
const noAccount: Answers = { 404: json('There is no such account.', 'Error') };

/** `GET /api/collections/<slug>/{id}/account` */
export function accountOperation(target: Account): Operation {
  return {
    ...about('readAccount', target.slug),
    summary: 'Read the lock and the sessions of an account',
    description:
      'Tells whether the account is locked, how many failed logins count, when it was logged in to last, and its sessions, oldest ' +
      'first. Needs the right to update the account.',
    params: ofAccount,
    answers: { 200: json('The state of the account.', 'Account'), ...noAccount, ...refusals([400, 500]) },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `POST /api/collections/<slug>/{id}/unlock` */
export function unlockOperation(target: Account): Operation {
  return {
    ...about('unlock', target.slug),
    summary: 'End the lock of an account',
    description:
      'Ends a lock, and the count of failed logins. Needs the right to update the account; the own account is a 403.',
    params: ofAccount,
    answers: {
      200: json('The state of the account, which is not locked.', 'Account'),
      ...noAccount,
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `DELETE /api/collections/<slug>/{id}/sessions/{sid}` */
export function endSessionOfOperation(target: Account): Operation {
  return {
    ...about('endSessionOf', target.slug),
    summary: 'End a session of an account',
    description:
      'Ends a session, by the `sid` in the state of the account; its tokens are no longer valid. Needs the right to update the account.',
    params: ofAccount.append({ sid: Joi.string().guid().required().description('The id of the session.') }),
    answers: {
      200: json('The session that was ended.', 'Session'),
      404: json('There is no such account, or it has no such session.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'admitted', target, right: 'update' },
  };
}

/** `POST /api/collections/<slug>/invite` */
export function inviteOperation({ slug }: Collection): Operation {
  return {
    ...about('invite', slug),
    summary: `Invite a person to become a user of ${slug}`,
    description:
      'Sends a mail with a link that works once, for 7 days: there the recipient chooses a password and creates the account. A second ' +
      'invitation to an address replaces the first. Needs a user who may create accounts here; an API key alone is refused.',
    body: 'Invite',
    answers: {
      200: json('The invitation is on its way.', 'Success'),
      403: json('The user may not create users here, or a write under a cookie came from another origin.', 'Error'),
      409: json('There is an account with this e-mail.', 'Error'),
      ...refusals(ofBodies),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user' },
  };
}

/** `GET /api/collections/<slug>/invitations` */
export function invitationsOperation({ slug }: Collection): Operation {
  return {
    ...about('listInvitations', slug),
    summary: `List the open invitations to ${slug}`,
    description:
      'Lists the invitations that can be accepted and that the user might have sent, oldest first. Needs a user who may create ' +
      'accounts here; an API key alone is refused.',
    answers: {
      200: json('The open invitations.', 'Invitations'),
      403: json('The user may not create users here.', 'Error'),
      ...refusals([400, 500]),
    },
    caller: { kind: 'user' },
  };
}

/** `DELETE /api/collections/<slug>/invitations/{id}` */
export function withdrawOperation({ slug }: Collection): Operation {
  return {
    ...about('withdrawInvitation', slug),
    summary: 'Withdraw an invitation',
    description: 'Ends an open invitation: its link no longer works, and a mail that waits is not sent.',
    params: Joi.object({ id: Joi.string().guid().required().description('The id of the invitation.') }),
    answers: {
      200: json('The invitation that was withdrawn.', 'Invitation'),
      403: json('The user may not create users here, or a write under a cookie came from another origin.', 'Error'),
      404: json('There is no such open invitation.', 'Error'),
      409: json('Others keep changing it.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user' },
  };
}

/** `POST /api/collections/<slug>/accept-invite` */
export function acceptInviteOperation(target: Collection): Operation {
  const { slug, fields } = target;
  const isRuled = anyField(fields, ({ access }) => Boolean(access?.create));
  return {
    ...about('acceptInvite', slug),
    summary: 'Become a user with the token of an invitation',
    description:
      'Creates the account of an invitation, with its e-mail, and logs in. The body may have other fields of the account, and must ' +
      'have the required ones. A refused request does not use up the token.',
    body: `collections.${slug}.acceptInvite`,
    answers: { ...registered(target), ...(isRuled ? refusals([403]) : {}) },
    caller: countedCaller,
  };
}

/** `GET /api/collections/<slug>/init` */
export function initOperation({ slug }: Collection): Operation {
  return {
    ...about('readInit', slug),
    summary: `Ask whether ${slug} has a user`,
    description:
      'Tells whether the collection has an account, so that a front end can show a login or a setup. Needs no credential.',
    answers: { 200: json('Whether an account exists.', 'Init'), ...refusals([400, 500]) },
    caller: { kind: 'anybody' },
  };
}

/** `POST /api/collections/<slug>/first-user`, of the admin collection alone. */
export function firstUserOperation(target: Collection): Operation {
  const { slug } = target;
  // Without a user, no unique value is taken.
  const { 409: _, ...answers } = registered(target);
  return {
    ...about('createFirstUser', slug),
    summary: `Become the first user of ${slug} with the setup token`,
    description:
      'Creates the first account, with the setup token that the service prints at each start without an account, and logs in. Access ' +
      'rules do not apply. Of several calls at once one succeeds; later calls are a 403.',
    body: `collections.${slug}.firstUser`,
    answers: {
      ...answers,
      403: json('There is a user, or the token is wrong.', 'Error'),
    },
    caller: countedCaller,
  };
}

/** `POST /api/collections/<slug>/forgot-password` */
export function forgotPasswordOperation({ slug }: Collection): Operation {
  return {
    ...about('forgotPassword', slug),
    summary: 'Request a mail to reset a password',
    description:
      'Sends a mail with a link that works once, for an hour; only the newest link works. The answer is the same with and without ' +
      'such an account. An account gets at most five of these mails in an hour.',
    body: 'ForgotPassword',
    answers: { 200: json('The same with and without such an account.', 'Success'), ...refusals(ofBodies) },
    caller: countedCaller,
  };
}

/** `POST /api/collections/<slug>/reset-password` */
export function resetPasswordOperation({ slug }: Collection): Operation {
  return {
    ...about('resetPassword', slug),
    summary: 'Set a new password with the token of a mail',
    description:
      'Sets a password with the token of such a mail, also the first password of an account. Ends all sessions of the user, and a ' +
      'lock. Does not log in.',
    body: 'ResetPassword',
    answers: {
      200: json('The password is changed, and all sessions of the user have ended.', 'Success'),
      ...refusals([...ofBodies, 409]),
      ...refusalsForNow([503]),
    },
    caller: countedCaller,
  };
}

function about(action: string, slug: string): Pick<Operation, 'id' | 'tag'> {
  return { id: `${action}_${slug}`, tag: slug };
}

function registered(target: Collection): Answers {
  return {
    201: withCookie(target, json('A token, and the user.', `collections.${target.slug}.login`)),
    ...refusals([...ofBodies, 409]),
    ...refusalsForNow([503]),
    ...ofHooks(hasChangeHooks(target) || hasReadHooks(target)),
  };
}

function withCookie({ slug, auth }: Collection, answer: Answer): Answer {
  if (!auth?.cookies) return answer;
  const description = `The cookie of the users of ${slug}, which holds the token; empty when the session has ended.`;
  return { ...answer, headers: { 'Set-Cookie': { description, schema: { type: 'string' } } } };
}
