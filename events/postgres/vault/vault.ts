import { createHmac, randomBytes } from 'node:crypto';
import type { Connection, PostgresAddress } from '../../../storage/postgres/connection.ts';
import { openSharedClock, type SharedClock } from '../../replica/shared-clock.ts';
import { keySecretNames } from '../../vault/key-secrets.ts';
import { commitmentSecret } from '../../vault/passwords.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { prepareTableSet } from '../tables.ts';
import { openKeySecrets } from './api-keys.ts';
import { openCounters } from './counters.ts';
import { type LeaseRows, openLeaseRows } from './leases.ts';
import { openLogKeys } from './log-keys.ts';
import { openPasswords } from './passwords.ts';
import { openPinRows, type PinRows } from './pins.ts';
import { openPreferences } from './preferences.ts';
import { openDrafts } from './previews.ts';
import { openRows, type Subject, serverTime, usualPatience, type VaultRows } from './running.ts';
import { vaultSteps } from './tables.ts';
import { openOwnDrafts } from './unsaved-changes.ts';

/** The vault of a log in PostgreSQL, which all nodes have together. */
export type PostgresVault = {
  port: VaultPort;
  /** For what else nodes keep together there. */
  rows: VaultRows;
  /** One of the secrets that were asked for when it was opened: the same for all nodes. */
  secret: (name: string) => string;
  /** An opaque, stable name for something secret. */
  opaqueId: (secretText: string) => string;
  /** Whether it is the vault of a log, by its id: it is that of the first one that asks. */
  isOf: (log: string) => Promise<boolean>;
  pins: PinRows;
  leases: LeaseRows;
  /**
   * The clock of the server, in milliseconds since the epoch, as it was when this was last asked for, and has gone on
   * since.
   */
  now: () => number;
  close: () => Promise<void>;
};

/**
 * @param site names the log within its database; the empty text where there is one alone.
 * @param secrets the names of those that are asked for.
 * @param warn is told what the operator should know.
 * @param patience the milliseconds after which a call is given up; @param opening the same of the first connection.
 * @param spareMilliseconds for how long a password is kept that no event names: another node may have stored it just
 * now.
 */
export type PostgresVaultOptions = {
  address: PostgresAddress;
  site: string;
  secrets: readonly string[];
  warn: (message: string) => void;
  patience?: number;
  opening?: number;
  spareMilliseconds?: number;
};

const opaqueSecret = 'opaque-ids';
const subjects: readonly Subject[] = ['keys', 'drafts', 'own-drafts', 'pins', 'webhooks'];
const minute = 60 * 1000;
const hour = 60 * minute;

/**
 * Opens the vault of a site in PostgreSQL; the first node that does makes it.
 *
 * @throws UnreachableError; UnfitServerError, with what the operator has to change.
 */
export async function openPostgresVault(options: PostgresVaultOptions): Promise<PostgresVault> {
  const { address, site, warn, patience = usualPatience, spareMilliseconds = hour } = options;
  const { opening = patience } = options;
  const establish = (connection: Connection) => establishVault(connection, site);
  const { rows, close } = await openRows({ address, patience, opening, warn, establish });
  const { hashes, commitments } = keySecretNames;
  const clock = openSharedClock(Date.now);
  const names = [...options.secrets, opaqueSecret, commitmentSecret, hashes, commitments];
  try {
    await setClock(rows, clock);
    const timer = setInterval(() => setClock(rows, clock).catch(() => {}), minute).unref();
    const secrets = await readSecrets(rows, names);
    const secret = (name: string): string => {
      const kept = secrets.get(name);
      if (kept === undefined) throw new Error(`the secret ${name} was not asked for`);
      return kept;
    };
    return {
      rows,
      port: {
        passwords: openPasswords(rows, secret(commitmentSecret), spareMilliseconds),
        counters: openCounters(rows),
        logKeys: openLogKeys(rows),
        apiKeys: openKeySecrets(rows, { hashes: secret(hashes), commitments: secret(commitments) }),
        drafts: openDrafts(rows),
        ownDrafts: openOwnDrafts(rows),
        preferences: openPreferences(rows),
      },
      secret,
      opaqueId: (text) => createHmac('sha256', secret(opaqueSecret)).update(text).digest('hex').slice(0, 16),
      isOf: (log) => isOf(rows, log),
      pins: openPinRows(rows),
      leases: openLeaseRows(rows),
      now: clock.now,
      async close() {
        clearInterval(timer);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The clocks of nodes are not trusted where they decide when something ends. */
async function setClock({ read }: VaultRows, clock: SharedClock): Promise<void> {
  const [row] = await read({ text: `SELECT ${serverTime} AS now` });
  clock.set(row?.now);
}

/** Finds the number of the vault of a site, or gives it one. */
export async function establishVault(connection: Connection, site: string): Promise<number> {
  await prepareTableSet(connection, { schema: 'annals_vault', steps: vaultSteps, forbidden: {} });
  for (;;) {
    const [found] = await connection.run({
      text: 'SELECT log FROM annals_vault.vaults WHERE site = $1',
      values: [site],
    });
    const log: number | undefined = found?.rows[0]?.log;
    if (log !== undefined) {
      await connection.run({
        text: `INSERT INTO annals_vault.locks SELECT $1::int, subject, 0 FROM unnest($2::text[]) AS subjects (subject)
               ON CONFLICT DO NOTHING`,
        values: [log, subjects],
      });
      return log;
    }
    // Two that come first at the same time get the same number, and one of them tries again.
    await connection.run({
      text: `INSERT INTO annals_vault.vaults SELECT coalesce(max(log), 0) + 1, $1, NULL FROM annals_vault.vaults
             ON CONFLICT DO NOTHING`,
      values: [site],
    });
  }
}

/** Reads secrets of 32 random bytes in base64url; the first node that asks makes them. */
async function readSecrets({ log, read, write }: VaultRows, names: readonly string[]): Promise<Map<string, string>> {
  await write({
    text: `INSERT INTO annals_vault.secrets SELECT $1::int, name, value FROM unnest($2::text[], $3::text[]) AS made (name, value)
           ON CONFLICT DO NOTHING`,
    values: [log, names, names.map(() => randomBytes(32).toString('base64url'))],
  });
  const kept = await read({ text: 'SELECT name, value FROM annals_vault.secrets WHERE log = $1', values: [log] });
  return new Map(kept.map(({ name, value }) => [name, value]));
}

async function isOf({ log, read, write }: VaultRows, logId: string): Promise<boolean> {
  await write({
    text: 'UPDATE annals_vault.vaults SET log_id = $2 WHERE log = $1 AND log_id IS NULL',
    values: [log, logId],
  });
  const [row] = await read({ text: 'SELECT log_id FROM annals_vault.vaults WHERE log = $1', values: [log] });
  return row?.log_id === logId;
}
