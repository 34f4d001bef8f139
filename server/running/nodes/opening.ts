import { randomUUID } from 'node:crypto';
import { readAddress } from '../../../events/postgres/address.ts';
import { openPostgresVault, type PostgresVault } from '../../../events/postgres/vault/vault.ts';
import { messageOf } from '../../../storage/errors.ts';
import type { Log } from '../../platform/logging.ts';
import { openSharedDeliveries } from '../../webhooks/shared-deliveries.ts';
import { StartError } from '../../writer/writer.ts';
import { jobsOfNodes } from './jobs.ts';
import { openLease, openTurn } from './leases.ts';
import { createSharedPins } from './pins.ts';
import type { NodeVault } from './vault.ts';

/**
 * The names of the secrets that are made where the settings give none, and of those that the service makes for itself.
 */
const secrets = ['api-key', 'signing', 'attempts', 'one-time-tokens', 'login-counters'] as const;

/** PostgreSQL may be in the middle of a failover when a node starts, or start with it. */
const patience = { opening: 15_000, asking: 5000 };

/**
 * Opens what nodes keep together, at an address of PostgreSQL as the setting has it.
 *
 * @throws StartError where that is not possible.
 */
export async function openNodeVault(address: string, log: Log): Promise<NodeVault> {
  const vault = await openAt(address, log);
  const { leases, rows } = vault;
  // This node, from this start on: what it held before is not its own any more.
  const holder = randomUUID();
  const pins = createSharedPins({ rows: vault.pins, holder, log });
  return {
    ...vault,
    signed: await vault.port.logKeys.signed(),
    jobs: jobsOfNodes(leases, holder),
    pins,
    openTurn: (options) => openTurn(leases, holder, options),
    webhooks: (mayTake) => ({
      deliveries: () => openSharedDeliveries(rows),
      openTurn: () => openLease({ rows: leases, name: 'webhooks', holder, onGained: () => {}, mayTake }),
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
  const { opening, asking } = patience;
  try {
    return await openPostgresVault({ address, site: '', secrets, warn, opening, patience: asking });
  } catch (error) {
    throw new StartError(`the vault in PostgreSQL is not available: ${messageOf(error)}`, { cause: error });
  }
}
