import type { KeySecrets } from '../../../events/key-secrets.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import type { KeyService } from '../../ports.ts';
import { noRoom } from '../../writer/no-room.ts';

/**
 * Creates the service that keeps the secrets of API keys, one per service.
 *
 * @param now milliseconds since the epoch.
 */
export function createKeyService(secrets: KeySecrets, now: () => number): KeyService {
  return {
    store: async (secret) => withRoom(() => secrets.put(secret, now())),
    match: async (credentials, secret) => secrets.match(credentials, secret),
    forget: async (id, credentials) => ifRoom(() => secrets.delete(id, credentials)),
    retain: async (credentials) => ifRoom(() => secrets.retain(new Set(credentials), now())),
    used: async (id, at) => ifRoom(() => secrets.used(id, at)),
    uses: async () => Object.fromEntries(secrets.uses()),
  };
}

/** @throws DomainError `unavailable` where the vault has no room. */
function withRoom<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isDiskFull(error) ? noRoom() : error;
  }
}

/** Tidying, and what is known about the last use, can wait for a disk that has room. */
function ifRoom(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}
