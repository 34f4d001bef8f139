import { hash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Request, ServerAuthScheme } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';
import type { Actor } from '../events/envelope.ts';

/** The name of the authentication strategy; every route names it, for a default would be server-wide. */
export const strategy = 'annals';

/** A valid API key, by the hash it is compared with, and the opaque id that events name. */
export type ApiKey = { hash: Buffer; id: string };

/** @param opaqueId gives the id that may stand in the log for a key. */
export function readApiKeys(keys: readonly string[], opaqueId: (key: string) => string): ApiKey[] {
  return keys.map((key) => ({ hash: hash('sha256', key, 'buffer'), id: opaqueId(key) }));
}

/**
 * Reads the credential of a request (contract, section 5). No credential is fine here, whether one is needed is for the
 * access rules to say; one that is presented and wrong is refused everywhere.
 */
export function authenticationScheme(apiKeys: readonly ApiKey[], trustProxy: boolean): ServerAuthScheme {
  return () => ({
    authenticate(request, h) {
      // Read while there is a socket: of a request that is destroyed, Node has none left.
      request.app.ip = trustProxy ? forwardedAddress(request) : request.info.remoteAddress;
      const { 'x-api-key': key, authorization } = request.headers;
      if (key === undefined && authorization === undefined) {
        return h.authenticated({ credentials: anonymous });
      }
      if (authorization !== undefined) throw new DomainError('unauthorized', 'the token is not valid');
      const id = matching(apiKeys, String(key));
      if (id === null) throw new DomainError('unauthorized', 'the API key is not valid');
      return h.authenticated({ credentials: { user: { actor: { type: 'apiKey', id } satisfies Actor } } });
    },
  });
}

const anonymous = { user: { actor: { type: 'anonymous' } satisfies Actor as Actor } };

/** The address that the proxy in front of us saw: it is the last one, all before it may be made up by the client. */
function forwardedAddress({ headers, info }: Request): string {
  const forwarded: unknown = headers['x-forwarded-for'];
  const last = typeof forwarded === 'string' ? forwarded.split(',').at(-1)?.trim() : '';
  return last && isIP(last) ? last : info.remoteAddress;
}

/** Looks at every key, so that the time tells nothing about which one matched or how far. */
function matching(apiKeys: readonly ApiKey[], presented: string): string | null {
  const presentedHash = hash('sha256', presented, 'buffer');
  let found: string | null = null;
  for (const { hash: known, id } of apiKeys) if (timingSafeEqual(known, presentedHash)) found = id;
  return found;
}
