import { createHmac } from 'node:crypto';
import type { Vault } from '../../../events/vault.ts';
import type { Settings } from '../../settings/settings.ts';

/** The secrets by which nodes must name the same things the same way. */
export type CommonSecrets = Pick<Vault, 'opaqueId'> & {
  /** The key of the hashes that Idempotency-Keys are stored as. */
  attempts: () => string;
};

/** Those of the vault; of a node those that follow from its settings, which all nodes have in common. */
export function commonSecrets({ log, secrets }: Settings, vault: Vault): CommonSecrets {
  const [key] = secrets;
  if (log === undefined || key === undefined)
    return { opaqueId: vault.opaqueId, attempts: () => vault.secret('attempts') };
  const derived = (name: string) => createHmac('sha256', key).update(`annals-node/${name}`).digest();
  return {
    opaqueId: (secret) => createHmac('sha256', derived('opaque-ids')).update(secret).digest('hex').slice(0, 16),
    attempts: () => derived('attempts').toString('base64url'),
  };
}
