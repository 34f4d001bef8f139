import Joi from 'joi';
import { normalEmail } from './addresses.ts';
import { accountEmailField } from './check-auth.ts';
import { compileBody, compileMembers, schemaOfMembers } from './documents.ts';
import type { Problem } from './errors.ts';
import { fieldTypes } from './fields.ts';
import { mustError } from './invalid-body.ts';
import { newPassword, passwordProblem, secret } from './passwords.ts';
import type { JsonObject } from './schema.ts';

const maxLookedFor = 1000;

const tooLong: Problem = {
  code: 'max_length',
  problem: `have at most ${maxLookedFor} characters`,
  limit: maxLookedFor,
};

/** Without a minimum length joi refuses the empty text. */
const anyText = Joi.string().min(0);

/** An e-mail to look an account up by. Its form is not checked: a text of any form finds an account or finds none. */
const soughtEmail = anyText
  .custom((value: string, helpers) => (value.length > maxLookedFor ? mustError(helpers, tooLong) : normalEmail(value)))
  .required();

const newEmail = fieldTypes.email.schema(accountEmailField).required();

const token = secret((text) => (text.length > maxLookedFor ? tooLong : undefined)).required();

const account = { collection: anyText.required(), email: anyText.required() };

type EmailBody = { email: string };
type Login = EmailBody & { password: string };
type WithToken = { token: string; password: string };

const bodies = {
  login: compileMembers<Login>({ email: soughtEmail, password: secret().required() }),
  accept: compileBody<WithToken>(
    schemaOfMembers({ token, password: secret().required(), email: Joi.forbidden() }).unknown(),
  ),
  firstUser: compileBody<Login & { setupToken: string }>(
    schemaOfMembers({ setupToken: token, email: soughtEmail, password: secret().required() }).unknown(),
  ),
};

/**
 * Reads the body of a login. The e-mail is normalised. A password that could never have been set becomes '', which is
 * just as wrong: a long password would cost time, and bcrypt might cut it to the right one.
 *
 * @throws InvalidBody with every wrong member, as do all functions below.
 */
export function readLogin(body: unknown): Login {
  const { email, password } = bodies.login(body);
  return { email, password: passwordProblem(password) === undefined ? password : '' };
}

/** Reads the body of a request for a reset. Any text is accepted as an e-mail: either an account has it or not. */
export const readForgotten = compileMembers<EmailBody>({ email: soughtEmail });

/** Reads the body of an invitation: a valid e-mail, normalised. */
export const readInvite = compileMembers<EmailBody>({ email: newEmail });

/** Reads the body of a reset: a token of any form, and a valid new password. */
export const readReset = compileMembers<WithToken>({ token, password: newPassword().required() });

/**
 * Splits the body by which an invited user accepts. `values` go through the validator of the collection, with the
 * e-mail of the invitation added. They include the password, so that problems of the password are reported together
 * with those of the fields.
 */
export function readAccept(body: unknown): WithToken & { values: JsonObject } {
  const { token, password } = bodies.accept(body);
  const { token: _, ...values } = body as JsonObject;
  return { token, password, values };
}

/**
 * Splits the body of the first user. `values`, which include e-mail and password, go through the validator of the
 * collection, which checks both. `email` is the normalised e-mail, not checked.
 */
export function readFirstUser(body: unknown): Login & { setupToken: string; values: JsonObject } {
  const { setupToken, email, password } = bodies.firstUser(body);
  const { setupToken: _, ...values } = body as JsonObject;
  return { setupToken, email, password, values };
}

/** The name of an account in commands of the operator. */
type AccountName = { collection: string; email: string };

/** Reads the new password that the operator sets for an account. */
export const readNewPassword = compileMembers<AccountName & { password: string }>({
  ...account,
  password: newPassword().required(),
});

/** Reads which page of accounts the operator lists: accounts of a collection, beginning after an id. */
export const readUsersAsked = compileMembers<{ collection: string; after?: string }>({
  collection: anyText.required(),
  after: anyText,
});

/** Reads the account that the operator unlocks. */
export const readUnlock = compileMembers<AccountName>(account);

/** Reads the account whose session `sid` the operator ends; without `sid`, all sessions of the account. */
export const readRevocation = compileMembers<AccountName & { sid?: string }>({ ...account, sid: anyText });
