import type { PostgresVault } from '../../../events/postgres/vault/vault.ts';
import type { SignedHead } from '../../../events/vault/log-keys.ts';
import type { PinBoard } from '../../files/blobs/pins.ts';
import type { Log } from '../../platform/logging.ts';
import type { Loaded } from '../../settings/configuration.ts';
import type { Settings } from '../../settings/settings.ts';
import type { NodeWebhooks } from '../../webhooks/service.ts';
import type { Jobs } from '../jobs.ts';
import type { Lease, TurnOptions } from './leases.ts';
import { refuseForNodes } from './limits.ts';

/**
 * All that nodes keep together but the log. `signed` are the heads that the keys of the log had signed when it was
 * opened; `openTurn` takes part in being the one node that does something.
 */
export type NodeVault = Pick<PostgresVault, 'port' | 'secret' | 'opaqueId' | 'isOf' | 'now' | 'close'> & {
  signed: readonly SignedHead[];
  jobs: Jobs;
  pins: PinBoard;
  openTurn: (options: TurnOptions) => Lease;
  webhooks: (mayTake: () => boolean) => NodeWebhooks;
};

/**
 * Opens the vault of the nodes; null where the service has its log to itself.
 *
 * @throws UsageError for a configuration that nodes do not serve; StartError where it cannot be opened.
 */
export async function joinVault({
  settings,
  loaded,
  log,
}: {
  settings: Settings;
  loaded: Pick<Loaded, 'model'>;
  log: Log;
}): Promise<NodeVault | null> {
  if (settings.log === undefined) return null;
  refuseForNodes({ settings, loaded });
  // Loaded by nodes alone.
  const { openNodeVault } = await import('./opening.ts');
  return await openNodeVault(settings.log, log);
}
