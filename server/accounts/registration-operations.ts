import Joi from 'joi';
import type { Collection } from '../../config/model.ts';
import { anyField, hasChangeHooks, hasReadHooks } from '../../config/traits.ts';
import { type ApiOperation, headersOfKept } from '../openapi/operation.ts';
import {
  created,
  type DescribedAnswers,
  json,
  ofHooks,
  orInUse,
  refusalOfOther,
  refusals,
  refusalsForNow,
  replayable,
} from '../openapi/responses.ts';
import { pageParameters } from '../queries/pages.ts';
import { about, countedCaller, ofBodies, withCookie } from './operations.ts';

/** `POST /api/collections/<slug>/invite` */
export function inviteOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('invite', slug),
    summary: `Invite a person to become a user of ${slug}`,
    description:
      'Sends a mail with a link that works once, within 7 days: the recipient chooses a password and so creates the account. ' +
      'A second invitation to an address replaces the first. Needs a user who may create accounts here; an API key alone is ' +
      'refused.',
    headers: headersOfKept,
    body: 'Invite',
    answers: {
      200: replayable(json('The invitation is on its way.', 'Success')),
      403: json('The user may not create users here, or a write under a cookie came from another origin.', 'Error'),
      409: json(`There is an account with this e-mail. ${orInUse}`, 'Error'),
      ...refusals(ofBodies),
      ...refusalOfOther,
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user' },
  };
}

const ofInvitation = Joi.object({ id: Joi.string().guid().required().description('The id of the invitation.') });

/** `GET /api/collections/<slug>/invitations` */
export function invitationsOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('listInvitations', slug),
    summary: `List the open invitations to ${slug}`,
    description:
      'Returns a page of the open invitations that the user would be allowed to send, oldest first. Needs a user who may ' +
      'create accounts here; an API key alone is refused.',
    query: pageParameters,
    answers: {
      200: json('A page of the open invitations.', 'Invitations'),
      403: json('The user may not create users here.', 'Error'),
      ...refusals([400, 500]),
    },
    caller: { kind: 'user' },
  };
}

/** `GET /api/collections/<slug>/invitations/{id}` */
export function readInvitationOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('readInvitation', slug),
    summary: 'Read an invitation',
    description: 'Returns an open invitation that the user would be allowed to send, as the list shows it.',
    params: ofInvitation,
    answers: {
      200: json('The invitation.', 'Invitation'),
      403: json('The user may not create users here.', 'Error'),
      404: json('There is no such open invitation.', 'Error'),
      ...refusals([400, 500]),
    },
    caller: { kind: 'user' },
  };
}

/** `DELETE /api/collections/<slug>/invitations/{id}` */
export function withdrawOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('withdrawInvitation', slug),
    summary: 'Withdraw an invitation',
    description: 'Ends an open invitation: its link no longer works, and a mail that waits is not sent.',
    params: ofInvitation,
    answers: {
      200: json('The invitation that was withdrawn.', 'Invitation'),
      403: json('The user may not create users here, or a write under a cookie came from another origin.', 'Error'),
      404: json('There is no such open invitation.', 'Error'),
      409: json('Other writers keep changing it.', 'Error'),
      ...refusals([400, 500]),
      ...refusalsForNow([503]),
    },
    caller: { kind: 'user' },
  };
}

/** `POST /api/collections/<slug>/accept-invite` */
export function acceptInviteOperation(target: Collection): ApiOperation {
  const { slug, fields } = target;
  const isRuled = anyField(fields, ({ access }) => Boolean(access?.create));
  return {
    ...about('acceptInvite', slug),
    summary: 'Become a user with the token of an invitation',
    description:
      'Creates the account of an invitation, with the e-mail of the invitation, and logs in. The body may have other fields ' +
      'of the account, and must have the required ones. A refused request does not use up the token.',
    body: `collections.${slug}.acceptInvite`,
    answers: { ...registered(target), ...(isRuled ? refusals([403]) : {}) },
    caller: countedCaller,
  };
}

/** `GET /api/collections/<slug>/init` */
export function initOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('readInit', slug),
    summary: `Check whether ${slug} has a user`,
    description:
      'Returns whether the collection has an account, so that a front end can show a login or a setup page. Needs no ' +
      'credential.',
    answers: { 200: json('Whether an account exists.', 'Init'), ...refusals([400, 500]) },
    caller: { kind: 'anybody' },
  };
}

/** `POST /api/collections/<slug>/first-user`, of the admin collection alone. */
export function firstUserOperation(target: Collection): ApiOperation {
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
export function forgotPasswordOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('forgotPassword', slug),
    summary: 'Request a mail to reset a password',
    description:
      'Sends a mail with a link that works once, within an hour; only the newest link works. The answer is the same whether ' +
      'or not such an account exists. An account gets at most five of these mails in an hour.',
    body: 'ForgotPassword',
    answers: {
      200: json('The answer is the same whether or not such an account exists.', 'Success'),
      ...refusals(ofBodies),
    },
    caller: countedCaller,
  };
}

/** `POST /api/collections/<slug>/reset-password` */
export function resetPasswordOperation({ slug }: Collection): ApiOperation {
  return {
    ...about('resetPassword', slug),
    summary: 'Set a new password with the token of a mail',
    description:
      'Sets a password with the token of such a mail, also the first password of an account. Ends all sessions of the user ' +
      'and a lock, but does not log in.',
    body: 'ResetPassword',
    answers: {
      200: json('The password is changed, and all sessions of the user have ended.', 'Success'),
      ...refusals([...ofBodies, 409]),
      ...refusalsForNow([503]),
    },
    caller: countedCaller,
  };
}

function registered(target: Collection): DescribedAnswers {
  return {
    201: created(withCookie(target, json('A token, and the user.', `collections.${target.slug}.login`))),
    ...refusals([...ofBodies, 409]),
    ...refusalsForNow([503]),
    ...ofHooks(hasChangeHooks(target) || hasReadHooks(target)),
  };
}
