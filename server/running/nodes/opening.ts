import { randomUUID } from 'node:crypto';
import { readAddress } from '../../../events/postgres/address.ts';
import { openPostgresVault, type PostgresVault } from '../../../events/postgres/vault/vault.ts';
import { messageOf } from '../../../storage/errors.ts';
import { callMilliseconds } from '../../../storage/postgres/durations.ts';
import type { Log } from '../../platform/logging.ts';
import { openSharedDeliveries } from '../../webhooks/shared-deliveries.ts';
import { StartError } from '../../writer/writer.ts';
import { jobsOfNodes } from './jobs.ts';
import { openLease, openLogLease } from './leases.ts';
import { createSharedPins } from './pins.ts';
import type { NodeVault } from './vault.ts';

/**
 * The names of secrets: those of settings, which are made if the settings give none, and the service's own.
 */
const secrets = ['api-key', 'signing', 'attempts', 'one-time-tokens', 'login-counters'] as const;

/** PostgreSQL may be in the middle of a failover when a node starts, or start at the same time. */
const openingMilliseconds = 15_000;

/**
 * Opens the vault that nodes share, at an address of PostgreSQL as the setting has it.
 *
 * @throws StartError if that is not possible.
 */
export async function openNodeVault(address: string, log: Log): Promise<NodeVault> {
  const vault = await openAt(address, log);
  const { leases, rows } = vault;
  // New with each start: a node does not hold the leases of its former process.
  const holder = randomUUID();
  const pins = createSharedPins({ rows: vault.pins, holder, log });
  return {
    ...vault,
    signed: await vault.port.logKeys.signed(),
    jobs: jobsOfNodes(leases, holder),
    pins,
    openLogLease: (options) => openLogLease(leases, holder, options),
    webhooks: (mayTake) => ({
      deliveries: () => openSharedDeliveries(rows),
      openLease: () => openLease({ rows: leases, name: 'webhooks', holder, onGained: () => {}, mayTake }),
    }),
    async close() {
      pins.close();
      await vault.close();
    },
  };
}

async function openAt(text: string, log: Log): Promise<PostgresVault> {
  const address = readAddress(text);
  const warn = (message: string) => log.warn(message);
  try {
    return await openPostgresVault({
      address,
      site: '',
      secrets,
      warn,
      opening: openingMilliseconds,
      patience: callMilliseconds,
    });
  } catch (error) {
    throw new StartError(`the vault in PostgreSQL is not available: ${messageOf(error)}`, { cause: error });
  }
}
