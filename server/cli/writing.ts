import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Ids } from '../../events/ids.ts';
import { BrokenLogError, isLog, upgradeLog, wayOut } from '../../events/log-file.ts';
import type { SqliteLog } from '../../events/sqlite-log.ts';
import type { Vault } from '../../events/vault.ts';
import { logFile } from '../../projections/files.ts';
import { openCheckedLog } from '../../projections/seen.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { recordKeyChanges } from '../audit/notary/keys.ts';
import { StartError } from '../writer/writer.ts';

/** A data directory that a command holds alone, with its log and its vault open. */
export type Opened = { directory: string; db: Sqlite; vault: Vault };

/**
 * The path of the vault of a data directory.
 *
 * @throws StartError if it has none: a new vault would not know the log.
 */
export function existingVault(directory: string): string {
  const vault = join(directory, 'vault.db');
  if (!existsSync(vault))
    throw new StartError(
      `there is no vault.db in ${directory}, without which the writer of log.db cannot be verified; ${wayOut}`,
    );
  return vault;
}

/** @throws BrokenLogError for a log that no service has begun. */
export function requireLog(db: Sqlite): void {
  if (!isLog(db)) throw new BrokenLogError('log.db is empty: no service has been started on it yet');
}

/**
 * Opens a log for a command that writes to it, after the checks of a start. It is changed only after `begin`, so a command that
 * refuses leaves it unchanged.
 *
 * @throws BrokenLogError if it is empty, damaged, or not the log that the vault has sealed and its keys have signed.
 */
export function openToWrite(
  { directory, db, vault }: Opened,
  ids: Ids,
  now: () => number,
): { log: SqliteLog; begin: () => void } {
  const seals = vault.seals();
  db.exec('BEGIN IMMEDIATE');
  upgradeLog(db, seals);
  requireLog(db);
  const log = openCheckedLog(db, { directory, ids, now, seals, signed: vault.logKeys.signed() });
  return {
    log,
    begin() {
      db.exec('COMMIT');
      vault.remembersSealed(log.head().log);
    },
  };
}

/**
 * Records the changes of keys in their log. No other process may have it open for writing. The read tables do not have the new
 * events yet.
 */
export async function tellOfKeys({ directory, vault }: Omit<Opened, 'db'>, log: SqliteLog, ids: Ids): Promise<void> {
  await recordKeyChanges({
    file: logFile(directory),
    keys: vault.logKeys,
    append: async (command) => {
      const [outcome] = log.append([command]).outcomes;
      if (!outcome || outcome instanceof Error || !outcome.ok) throw outcome ?? new Error('an event has no outcome');
    },
    nextId: () => ids.next().id,
    onRecorded: (line) => process.stdout.write(`${line}\n`),
  });
}
