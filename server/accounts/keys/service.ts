import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import type { KeyService } from '../../ports.ts';
import { canWait, diskFull } from '../../writer/disk-full.ts';

/**
 * Creates the service that keeps the secrets of API keys, one per service.
 *
 * @param now milliseconds since the epoch.
 */
export function createKeyService(secrets: VaultPort['apiKeys'], now: () => number): KeyService {
  return {
    store: (secret) => withRoom(secrets.put(secret, now())),
    match: secrets.match,
    forget: (id, credentials) => ifRoom(secrets.delete(id, credentials)),
    retain: (credentials) => ifRoom(secrets.retain(new Set(credentials), now())),
    used: (id, at) => ifRoom(secrets.used(id, at)),
    uses: async () => Object.fromEntries(await secrets.uses()),
  };
}

/** @throws DomainError `unavailable` where the vault has no room. */
async function withRoom<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isDiskFull(error) ? diskFull() : error;
  }
}

/** Tidying, and what is known about the last use, can wait for a disk that has room, and for a vault that answers. */
async function ifRoom(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!canWait(error)) throw error;
  }
}
