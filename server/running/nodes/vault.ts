import { randomUUID } from 'node:crypto';
import type { SignedHead } from '../../../events/log-keys.ts';
import { readAddress } from '../../../events/postgres/address.ts';
import { openPostgresVault, type PostgresVault } from '../../../events/postgres/vault/vault.ts';
import { messageOf } from '../../../storage/errors.ts';
import type { Log } from '../../platform/logging.ts';
import type { Loaded } from '../../settings/configuration.ts';
import type { Settings } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';
import { refuseForNodes } from './limits.ts';

/**
 * The vault that all nodes have together. `holder` names this node, from this start on, in what it holds there; `signed` are the heads
 * that the keys of the log had signed when it was opened.
 */
export type NodeVault = PostgresVault & { holder: string; signed: readonly SignedHead[] };

type Options = { settings: Settings; loaded: Pick<Loaded, 'model'>; log: Log };

/** The names of the secrets that are made where the settings give none, and of those that the service makes for itself. */
const secrets = ['api-key', 'signing', 'attempts', 'one-time-tokens', 'login-counters'] as const;

/** PostgreSQL may be in the middle of a failover when a node starts, or start with it. */
const patience = { opening: 15_000, asking: 5000 };

/**
 * Opens the vault of the nodes; null where the service has its log to itself.
 *
 * @throws UsageError for a configuration that nodes do not serve; StartError where it cannot be opened.
 */
export async function joinVault({ settings, loaded, log }: Options): Promise<NodeVault | null> {
  if (settings.log === undefined) return null;
  refuseForNodes({ settings, loaded });
  const address = readAddress(settings.log);
  const warn = (message: string) => log.warn(message);
  try {
    const vault = await openPostgresVault({
      address,
      site: '',
      secrets,
      warn,
      opening: patience.opening,
      patience: patience.asking,
    });
    return { ...vault, holder: randomUUID(), signed: await vault.port.logKeys.signed() };
  } catch (error) {
    throw new StartError(`the vault in PostgreSQL cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}
