import type { VaultPort } from '../../../events/vault/vault-port.ts';
import type { KeyService } from '../../ports.ts';
import { canWait } from '../../writer/disk-full.ts';
import { refusedOnFullDisk } from '../full-disk.ts';

/**
 * Creates the service that keeps the secrets of API keys, one per service.
 *
 * @param now milliseconds since the epoch.
 */
export function createKeyService(secrets: VaultPort['apiKeys'], now: () => number): KeyService {
  return {
    store: (secret) => refusedOnFullDisk(secrets.put(secret, now())),
    match: secrets.match,
    forget: (id, credentials) => unlessUnavailable(secrets.delete(id, credentials)),
    retain: (credentials) => unlessUnavailable(secrets.retain(new Set(credentials), now())),
    used: (id, at) => unlessUnavailable(secrets.used(id, at)),
    uses: async () => Object.fromEntries(await secrets.uses()),
  };
}

/** Does work that can wait: a full disk or a vault that does not answer is no failure. */
async function unlessUnavailable(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!canWait(error)) throw error;
  }
}
