import assert from 'node:assert/strict';
import type { Answer, CallOptions, Service } from './service.ts';

/** A user who is logged in. */
export type LoggedIn = { token: string; id: string; as: CallOptions };

/** Calls with a token and nothing else. */
export function bearer(token: string): CallOptions {
  return { key: null, headers: { authorization: `Bearer ${token}` } };
}

/** Calls without a credential. */
export const anonymous: CallOptions = { key: null };

/** Logs in; whatever the answer. */
export function login(
  service: Pick<Service, 'call'>,
  slug: string,
  email: unknown,
  password: unknown,
): Promise<Answer> {
  return service.call('POST', `/api/collections/${slug}/login`, { email, password }, anonymous);
}

/** Logs in a user that there is. */
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
