import assert from 'node:assert/strict';
import type { CallOptions, Service } from '../helpers/service.ts';

/** The password of every user in the tests of keys. */
export const password = 'correct horse battery';

/** A made key: `as` are the options of a call with it. */
export type Made = { id: string; secret: string; as: CallOptions };

/** The rights and the end of a key. */
export type Rights = { scopes?: object[]; audit?: string[]; expiresAt?: string | null };

/** Makes an API key with the API key of the environment. */
export async function make(service: Pick<Service, 'call'>, rights: Rights = {}, name = 'a test'): Promise<Made> {
  const { status, body } = await service.call('POST', '/api/keys', { name, ...rights });
  assert.equal(status, 201, JSON.stringify(body));
  return { id: body.id, secret: body.secret, as: { key: body.secret } };
}

/** A scope of collections. */
export const of = (collections: string[] | '*', ...operations: string[]) => ({ collections, operations });

/** A scope of globals. */
export const ofGlobals = (globals: string[] | '*', ...operations: string[]) => ({ globals, operations });

/** The scope of everything. */
export const all = { collections: '*', globals: '*', operations: ['read', 'create', 'update', 'delete'] };
