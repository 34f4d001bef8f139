import Joi from 'joi';
import { normalEmail } from './addresses.ts';
import { accountEmailField } from './check-auth.ts';
import { compileBody } from './documents.ts';
import { fieldTypes, objectSchema } from './fields.ts';
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

const bodies = {
  login: membersOf<Login>({ email: soughtEmail, password: secret().required() }),
  forgotten: membersOf<Addressed>({ email: soughtEmail }),
  invite: membersOf<Addressed>({ email: newEmail }),
  reset: membersOf<{ token: string; password: string }>({ token, password: newPassword().required() }),
  accept: compileBody<{ token: string; password: string }>(
    schemaOf({ token, password: secret().required(), email: Joi.forbidden() }).unknown(),
  ),
  firstUser: compileBody<Login & { setupToken: string }>(
    schemaOf({ setupToken: token, email: soughtEmail, password: secret().required() }).unknown(),
  ),
  unlock: membersOf<NamedAccount>(account),
  revocation: membersOf<NamedAccount & { sid?: string }>({ ...account, sid: anyText }),
};

/**
 * Reads the body of a login. The e-mail is in its one form; a password that cannot have been chosen is '', which is as
 * wrong, and neither long nor cut by bcrypt to one that is right.
 *
 * @throws InvalidBody with every wrong member. So do all that follow.
 */
export function readLogin(body: unknown): { email: string; password: string } {
  const { email, password } = bodies.login(body);
  return { email, password: passwordProblem(password) === undefined ? password : '' };
}

/** Reads the body of a forgotten password. Any text is taken for an e-mail: there is an account of it or not. */
export function readForgotten(body: unknown): { email: string } {
  return bodies.forgotten(body);
}

/** Reads the body of an invitation: an e-mail that an account may have, in its one form. */
export function readInvite(body: unknown): { email: string } {
  return bodies.invite(body);
}

/** Reads the body of a reset: a token of any form, and a password that may be chosen. */
export function readReset(body: unknown): { token: string; password: string } {
  return bodies.reset(body);
}

/**
 * Splits the body of a new user who was invited. `values` go through the validator of the collection, with the e-mail of
 * the invitation added. They hold the password too, so that its form is judged, and told, together with the fields.
 */
export function readAccept(body: unknown): { token: string; password: string; values: JsonObject } {
  const { token, password } = bodies.accept(body);
  const { token: _, ...values } = body as JsonObject;
  return { token, password, values };
}

/**
 * Splits the body of the first user. `values`, e-mail and password among them, go through the validator of the
 * collection, which judges both. `email` is the same in its one form, whatever that is worth.
 */
export function readFirstUser(body: unknown): {
  setupToken: string;
  email: string;
  password: string;
  values: JsonObject;
} {
  const { setupToken, email, password } = bodies.firstUser(body);
  const { setupToken: _, ...values } = body as JsonObject;
  return { setupToken, email, password, values };
}

/** An account as the operator names it. */
export type NamedAccount = { collection: string; email: string };

/** Reads what the operator wants to be unlocked. */
export function readUnlock(body: unknown): NamedAccount {
  return bodies.unlock(body);
}

/** Reads whose sessions the operator ends: that one, or all when there is no `sid`. */
export function readRevocation(body: unknown): NamedAccount & { sid?: string } {
  return bodies.revocation(body);
}

function schemaOf(members: Record<string, Joi.Schema>): Joi.ObjectSchema {
  return objectSchema([], 'create', members, Object.keys(members));
}

function membersOf<T>(members: Record<string, Joi.Schema>): (body: unknown) => T {
  return compileBody<T>(schemaOf(members));
}
