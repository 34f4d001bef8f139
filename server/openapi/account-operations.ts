import Joi from 'joi';
import type { Collection, Model } from '../../config/model.ts';
import { anyField, hasChangeHooks, hasReadHooks } from '../hooks.ts';
import { type Answer, type Answers, json, ofHooks, refusals, refusalsForNow } from './answers.ts';
import type { Caller } from './callers.ts';
import { type Operation, readsThroughHooks } from './operations.ts';

/** Routes that look at no credential, whose calls are counted. */
const counted: Caller = { kind: 'anybody', isCounted: true };
const ofBodies = [400, 408, 413, 415, 500] as const;

/** `POST /api/collections/<slug>/login` */
export function loginOperation(target: Collection): Operation {
  const { slug } = target;
  return {
    id: `login_${slug}`,
    tag: slug,
    summary: `Log a user of ${slug} in`,
    body: 'Login',
    answers: {
      200: withCookie(target, json('A token, and the user.', `collections.${slug}.login`)),
      401: json('The e-mail or the password is wrong.', 'Error'),
      ...refusals(ofBodies),
      // Whether calls are counted or not, too many that fail lock the account.
      ...refusalsForNow([429, 503]),
      ...ofHooks(hasReadHooks(target)),
    },
    caller: counted,
  };
}

/** `POST /api/collections/<slug>/logout` */
export function logoutOperation(target: Collection): Operation {
  const { slug } = target;
  return {
    id: `logout_${slug}`,
    tag: slug,
    summary: 'End the session of the token',
    answers: {
      200: withCookie(target, { description: 'It has ended.' }),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `GET /api/collections/<slug>/me` */
export function meOperation(model: Model, target: Collection): Operation {
  const { slug, auth } = target;
  const isHooked = auth?.depth ? readsThroughHooks(model, target) : hasReadHooks(target);
  return {
    id: `me_${slug}`,
    tag: slug,
    summary: 'Read the user whose token it is',
    answers: { 200: json('The user.', `collections.${slug}`), ...refusals([400, 500]), ...ofHooks(isHooked) },
    caller: { kind: 'user', of: slug },
  };
}

/** `POST /api/collections/<slug>/refresh-token` */
export function refreshOperation(target: Collection): Operation {
  const { slug } = target;
  return {
    id: `refreshToken_${slug}`,
    tag: slug,
    summary: 'Exchange the token for one that is valid for longer',
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
    id: `listSessions_${slug}`,
    tag: slug,
    summary: 'List the sessions of the user',
    answers: { 200: json('Those that have not ended.', 'Sessions'), ...refusals([400, 500]) },
    caller: { kind: 'user', of: slug },
  };
}

/** `DELETE /api/collections/<slug>/sessions/{sid}` */
export function endSessionOperation({ slug }: Collection): Operation {
  return {
    id: `endSession_${slug}`,
    tag: slug,
    summary: 'End a session of the user',
    params: Joi.object({ sid: Joi.string().guid().required().description('The id of the session.') }),
    answers: {
      200: json('The session that was.', 'Session'),
      404: json('The user has no such session.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user', of: slug },
  };
}

/** `POST /api/collections/<slug>/invite` */
export function inviteOperation({ slug }: Collection): Operation {
  return {
    id: `invite_${slug}`,
    tag: slug,
    summary: `Invite somebody to become a user of ${slug}`,
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

/** `POST /api/collections/<slug>/accept-invite` */
export function acceptInviteOperation(target: Collection): Operation {
  const { slug, fields } = target;
  const isRuled = anyField(fields, ({ access }) => Boolean(access?.create));
  return {
    id: `acceptInvite_${slug}`,
    tag: slug,
    summary: 'Become a user with the token of an invitation',
    body: `collections.${slug}.acceptInvite`,
    answers: { ...registered(target), ...(isRuled ? refusals([403]) : {}) },
    caller: counted,
  };
}

/** `GET /api/collections/<slug>/init` */
export function initOperation({ slug }: Collection): Operation {
  return {
    id: `readInit_${slug}`,
    tag: slug,
    summary: `Ask whether ${slug} has a user`,
    answers: { 200: json('Whether there is one.', 'Init'), ...refusals([400, 500]) },
    caller: { kind: 'anybody' },
  };
}

/** `POST /api/collections/<slug>/first-user` of the admin collection: nobody else has a first user. */
export function firstUserOperation(target: Collection): Operation {
  const { slug } = target;
  // Nobody is there yet who could have anything that is unique.
  const { 409: _, ...answers } = registered(target);
  return {
    id: `createFirstUser_${slug}`,
    tag: slug,
    summary: `Become the first user of ${slug} with the setup token`,
    body: `collections.${slug}.firstUser`,
    answers: {
      ...answers,
      403: json('There is a user, or the token is wrong.', 'Error'),
    },
    caller: counted,
  };
}

/** `POST /api/collections/<slug>/forgot-password` */
export function forgotPasswordOperation({ slug }: Collection): Operation {
  return {
    id: `forgotPassword_${slug}`,
    tag: slug,
    summary: 'Ask for a mail with which a password can be reset',
    body: 'ForgotPassword',
    answers: { 200: json('The same whether there is such an account or not.', 'Success'), ...refusals(ofBodies) },
    caller: counted,
  };
}

/** `POST /api/collections/<slug>/reset-password` */
export function resetPasswordOperation({ slug }: Collection): Operation {
  return {
    id: `resetPassword_${slug}`,
    tag: slug,
    summary: 'Set a new password with the token of a mail',
    body: 'ResetPassword',
    answers: {
      200: json('The password is changed, and all sessions of the user have ended.', 'Success'),
      ...refusals([...ofBodies, 409]),
      ...refusalsForNow([503]),
    },
    caller: counted,
  };
}

/** The answers to who becomes a user. */
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
