import type { PostgresVault } from '../../../events/postgres/vault/vault.ts';
import type { SignedHead } from '../../../events/vault/log-keys.ts';
import type { PinBoard } from '../../files/blobs/pins.ts';
import type { Log } from '../../platform/logging.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import type { Settings } from '../../settings/settings.ts';
import type { NodeWebhooks } from '../../webhooks/service.ts';
import type { OneTimeJobs } from '../one-time-jobs.ts';
import type { Lease, LogLeaseOptions } from './leases.ts';
import { refuseForNodes } from './limits.ts';

/**
 * All that nodes share but the log. `signed`: the heads that the keys of the log had signed when the vault was opened.
 * `openLogLease`: for work that one node at a time does and that follows from the log.
 */
export type NodeVault = Pick<PostgresVault, 'port' | 'secret' | 'opaqueId' | 'isOf' | 'now' | 'close'> & {
  signed: readonly SignedHead[];
  jobs: OneTimeJobs;
  pins: PinBoard;
  openLogLease: (options: LogLeaseOptions) => Lease;
  webhooks: (mayTake: () => boolean) => NodeWebhooks;
};

/**
 * Opens the vault of the nodes; null for a service with its own log.
 *
 * @throws UsageError for a configuration that nodes do not serve; StartError if the vault cannot be opened.
 */
export async function joinVault({
  settings,
  loaded,
  log,
}: {
  settings: Settings;
  loaded: Pick<LoadedConfiguration, 'model'>;
  log: Log;
}): Promise<NodeVault | null> {
  if (settings.log === undefined) return null;
  refuseForNodes({ settings, loaded });
  // Only nodes load it.
  const { openNodeVault } = await import('./opening.ts');
  return await openNodeVault(settings.log, log);
}
