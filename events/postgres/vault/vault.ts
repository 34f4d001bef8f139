import { createHmac, randomBytes } from 'node:crypto';
import type { Connection, PostgresAddress } from '../../../storage/postgres/connection.ts';
import { callMilliseconds } from '../../../storage/postgres/durations.ts';
import { openSharedClock, type SharedClock } from '../../replica/shared-clock.ts';
import { keySecretNames } from '../../vault/api-keys.ts';
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
import { openPreviewTokens } from './preview-tokens.ts';
import { openPreviews } from './previews.ts';
import { openReplays } from './replays.ts';
import { openRows, serverTime, type VaultRows, type VaultSubject } from './rows.ts';
import { vaultSteps } from './tables.ts';
import { openUnsavedChanges } from './unsaved-changes.ts';

/** The vault of a log in PostgreSQL, which all nodes share. */
export type PostgresVault = {
  port: VaultPort;
  /** For the other parts of the service that share rows between nodes. */
  rows: VaultRows;
  /** One of the secrets that were named when the vault was opened: the same for all nodes. */
  secret: (name: string) => string;
  /** An opaque, stable name for something secret. */
  opaqueId: (secretText: string) => string;
  /** Whether it is the vault of a log, by its id: it belongs to the first log that asks. */
  isOf: (log: string) => Promise<boolean>;
  pins: PinRows;
  leases: LeaseRows;
  /** The clock of the server, in milliseconds since the epoch. It is read once a minute, and goes on in between. */
  now: () => number;
  close: () => Promise<void>;
};

type PostgresVaultOptions = {
  address: PostgresAddress;
  /** Names the log within its database; empty if the process has only one. */
  site: string;
  /** The names of the secrets that the service needs. */
  secrets: readonly string[];
  /** Tells the operator something. */
  warn: (message: string) => void;
  /** The milliseconds after which a call is refused. */
  patience?: number;
  /** The same for the first connection. */
  opening?: number;
  /** For so long a password is kept that no event names: another node may have stored it just now. */
  spareMilliseconds?: number;
};

const opaqueSecret = 'opaque-ids';
const subjects: readonly VaultSubject[] = ['keys', 'drafts', 'own-drafts', 'preview-tokens', 'pins', 'webhooks'];
const minute = 60 * 1000;
const hour = 60 * minute;

/**
 * Opens the vault of a site in PostgreSQL; the first node makes it.
 *
 * @throws UnreachableError; UnfitServerError, which says what the operator has to change.
 */
export async function openPostgresVault(options: PostgresVaultOptions): Promise<PostgresVault> {
  const { address, site, warn, patience = callMilliseconds, spareMilliseconds = hour } = options;
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
        previews: openPreviews(rows),
        previewTokens: openPreviewTokens(rows),
        unsavedChanges: openUnsavedChanges(rows),
        preferences: openPreferences(rows),
        replays: openReplays(rows),
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

/** Sets the clock by that of the server: the clocks of nodes may not decide when something ends. */
async function setClock({ read }: VaultRows, clock: SharedClock): Promise<void> {
  const [row] = await read({ text: `SELECT ${serverTime} AS now` });
  clock.set(row?.now);
}

/** Finds the number of the vault of a site. A new site gets one. */
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
    // If two nodes are the first at the same time, one of them gets no row, and tries again.
    await connection.run({
      text: `INSERT INTO annals_vault.vaults SELECT coalesce(max(log), 0) + 1, $1, NULL FROM annals_vault.vaults
             ON CONFLICT DO NOTHING`,
      values: [site],
    });
  }
}

/** Reads secrets of 32 random bytes in base64url. The first node makes them. */
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
