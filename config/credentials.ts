import Joi from 'joi';
import { normalEmail } from './addresses.ts';
import { accountEmailField } from './check-auth.ts';
import { compileBody, compileMembers, schemaOfMembers } from './documents.ts';
import { fieldTypes } from './fields.ts';
import { newPassword, passwordProblem, secret } from './passwords.ts';
import type { JsonObject } from './schema.ts';

const maxLookedFor = 1000;

/** Without a least length joi refuses the empty text. */
const anyText = Joi.string().min(0);

/** The e-mail of an account that there may be; of whatever form, it finds an account or none. */
const soughtEmail = anyText
  .custom((value: string, helpers) =>
    value.length > maxLookedFor
      ? helpers.error('must', { must: `have at most ${maxLookedFor} characters` })
      : normalEmail(value),
  )
  .required();

const newEmail = fieldTypes.email.schema(accountEmailField).required();

const token = secret((text) =>
  text.length > maxLookedFor ? `have at most ${maxLookedFor} characters` : undefined,
).required();

const account = { collection: anyText.required(), email: anyText.required() };

type Addressed = { email: string };
type Login = Addressed & { password: string };
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
 * Reads the body of a login. The e-mail is in its one form; a password that cannot have been chosen is '', which is as
 * wrong, and neither long nor cut by bcrypt to one that is right.
 *
 * @throws InvalidBody with every wrong member. So do all that follow.
 */
export function readLogin(body: unknown): Login {
  const { email, password } = bodies.login(body);
  return { email, password: passwordProblem(password) === undefined ? password : '' };
}

/** Reads the body of a forgotten password. Any text is taken for an e-mail: there is an account of it or not. */
export const readForgotten = compileMembers<Addressed>({ email: soughtEmail });

/** Reads the body of an invitation: an e-mail that an account may have, in its one form. */
export const readInvite = compileMembers<Addressed>({ email: newEmail });

/** Reads the body of a reset: a token of any form, and a password that may be chosen. */
export const readReset = compileMembers<WithToken>({ token, password: newPassword().required() });

/**
 * Splits the body of a new user who was invited. `values` go through the validator of the collection, with the e-mail
 * of the invitation added. They hold the password too, so that its form is judged, and told, together with the fields.
 */
export function readAccept(body: unknown): WithToken & { values: JsonObject } {
  const { token, password } = bodies.accept(body);
  const { token: _, ...values } = body as JsonObject;
  return { token, password, values };
}

/**
 * Splits the body of the first user. `values`, e-mail and password among them, go through the validator of the
 * collection, which judges both. `email` is the same in its one form, whatever that is worth.
 */
export function readFirstUser(body: unknown): Login & { setupToken: string; values: JsonObject } {
  const { setupToken, email, password } = bodies.firstUser(body);
  const { setupToken: _, ...values } = body as JsonObject;
  return { setupToken, email, password, values };
}

/** An account as the operator names it. */
type NamedAccount = { collection: string; email: string };

/** Reads the new password that the operator gives an account. */
export const readNewPassword = compileMembers<NamedAccount & { password: string }>({
  ...account,
  password: newPassword().required(),
});

/** Reads which accounts the operator wants to see: those of a collection, the next ones after an id. */
export const readUsersAsked = compileMembers<{ collection: string; after?: string }>({
  collection: anyText.required(),
  after: anyText,
});

/** Reads what the operator wants to be unlocked. */
export const readUnlock = compileMembers<NamedAccount>(account);

/** Reads whose sessions the operator ends: that one, or all when there is no `sid`. */
export const readRevocation = compileMembers<NamedAccount & { sid?: string }>({ ...account, sid: anyText });
