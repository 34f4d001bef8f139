import assert from 'node:assert/strict';
import type { Answer, CallOptions, Service } from './service.ts';

/** A user who is logged in. */
export type LoggedIn = { token: string; id: string; as: CallOptions };

/** The options of a call with a token as its only credential. */
export function bearer(token: string): CallOptions {
  return { key: null, headers: { authorization: `Bearer ${token}` } };
}

/** The options of a call without a credential. */
export const anonymous: CallOptions = { key: null };

/** Sends a login and returns its answer, also a refusal. */
export function login(
  service: Pick<Service, 'call'>,
  slug: string,
  email: unknown,
  password: unknown,
): Promise<Answer> {
  return service.call('POST', `/api/collections/${slug}/login`, { email, password }, anonymous);
}

/** Logs in an existing user. */
export async function loggedIn(
  service: Pick<Service, 'call'>,
  slug: string,
  email: string,
  password: string,
): Promise<LoggedIn> {
  const { status, body } = await login(service, slug, email, password);
  assert.equal(status, 200, JSON.stringify(body));
  return { token: body.token, id: body.user.id, as: bearer(body.token) };
}

/** Passwords that are refused. */
export const badPasswords: Record<string, unknown> = {
  'an empty one': '',
  '7 characters': '1234567',
  '7 characters outside the first plane': '🎉'.repeat(7),
  '73 bytes': 'x'.repeat(73),
  '73 bytes in 37 characters': `x${'é'.repeat(36)}`,
  'a NUL': 'correct\0horse battery',
  'a NUL at the end': 'correct horse battery\0',
  'a lone surrogate': 'correct horse battery\ud800',
  '1 MB': 'x'.repeat(1_000_000),
  null: null,
  'a number': 1234567890,
  true: true,
  'a list': ['correct horse battery'],
  'an object': { equals: 'correct horse battery' },
  'an object that looks like a text': { length: 20, toString: 'x' },
};
