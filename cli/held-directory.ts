import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SqliteLog } from '../events/log/sqlite-log.ts';
import { upgradeLog } from '../events/log/upgrading.ts';
import { readReplicaMark } from '../events/replica/replica-mark.ts';
import type { Ids } from '../events/store/ids.ts';
import { BrokenLogError, isLog, wayOut } from '../events/store/log-file.ts';
import { openVault, type Vault } from '../events/vault/vault.ts';
import { portOf } from '../events/vault/vault-port.ts';
import { backUpBeforeUpgrade } from '../projections/start/before-upgrade.ts';
import { logFile } from '../projections/tables/files.ts';
import { openCheckedLog } from '../projections/tables/read-file-checks.ts';
import { recordKeyChanges } from '../server/audit/notary/keys.ts';
import { type Settings, UsageError } from '../server/settings/settings.ts';
import { StartError } from '../server/writer/writer.ts';
import { lockDirectory } from '../storage/lock.ts';
import { openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { printError } from './terminal.ts';

/** A data directory that a command holds alone, with its log and its vault open. */
export type HeldDirectory = { directory: string; db: Sqlite; vault: Vault; noBackup: boolean };

/** The path of the vault of a data directory. @throws StartError if it has none: a new vault would not know the log. */
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

/** @throws StartError for a directory that is a replica of a log in PostgreSQL, to which nodes alone append. */
export function refuseReplica(directory: string, command: string, advice: string): void {
  const mark = readReplicaMark(directory);
  if (mark === null) return;
  throw new StartError(
    `${command} does not work on ${directory}, a replica of the log ${mark.log} in PostgreSQL: ${advice}`,
  );
}

const longestReason = 500;

/**
 * Reads the reason of an operator, which the log keeps.
 *
 * @param why the subject of the reason, for the message if it is missing.
 * @param before the problems of the other arguments.
 * @throws UsageError naming those, and what is wrong with the reason.
 */
export function readReason(text: string | undefined, why: string, before: readonly string[] = []): string {
  const problems = [...before];
  const reason = (text ?? '').trim();
  if (text === undefined) problems.push(`--reason is missing: the log keeps ${why}`);
  else if (reason === '' || reason.length > longestReason)
    problems.push(`--reason must be a text of 1 to ${longestReason} characters that says why`);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return reason;
}

/**
 * Opens a log for a command that writes to it, after the checks of a start. It is changed only after `begin`, so a
 * command that refuses leaves it unchanged.
 *
 * @throws BrokenLogError if it is empty, damaged, or not the log that the vault has sealed and its keys have signed.
 */
export function openToWrite(
  { directory, db, vault, noBackup }: HeldDirectory,
  ids: Ids,
  now: () => number,
): { log: SqliteLog; begin: () => void } {
  const seals = vault.seals();
  db.exec('BEGIN IMMEDIATE');
  const upgradedFrom = upgradeLog(db, seals);
  requireLog(db);
  const log = openCheckedLog(db, { directory, ids, now, seals, signed: vault.logKeys.signed() });
  return {
    log,
    begin() {
      // A replica can be made anew.
      if (upgradedFrom !== null && readReplicaMark(directory) === null)
        backUpBeforeUpgrade(directory, upgradedFrom, { noBackup, tell: printError });
      db.exec('COMMIT');
      vault.remembersSealed(log.head().log);
    },
  };
}

/**
 * Records the changes of keys in their log. No other process may have it open for writing. The read tables do not have
 * the new events yet.
 */
export async function recordKeys(
  { directory, vault }: Pick<HeldDirectory, 'directory' | 'vault'>,
  log: SqliteLog,
  ids: Ids,
): Promise<void> {
  await recordKeyChanges({
    file: logFile(directory),
    keys: portOf(vault).logKeys,
    append: async (command) => {
      const [outcome] = log.append([command]).outcomes;
      if (!outcome || outcome instanceof Error) throw outcome ?? new Error('an event has no outcome');
      return outcome;
    },
    nextId: () => ids.next().id,
    onRecorded: (line) => process.stdout.write(`${line}\n`),
  });
}

/** The settings of a data directory that is held. */
type DirectorySettings = Pick<Settings, 'data' | 'noBackup'>;

/**
 * Takes a data directory for a command that writes to it. @throws LockedError if another process has it; StartError.
 */
export async function holding<T>(
  settings: DirectorySettings,
  holder: string,
  run: (opened: HeldDirectory) => T | Promise<T>,
): Promise<T> {
  refuseReplica(resolve(settings.data), holder, 'it would record what no other node has');
  return await holdingAny(settings, holder, run);
}

/** The same, also of a replica. */
export async function holdingAny<T>(
  { data, noBackup }: DirectorySettings,
  holder: string,
  run: (opened: HeldDirectory) => T | Promise<T>,
): Promise<T> {
  const directory = resolve(data);
  const vaultFile = existingVault(directory);
  const lock = lockDirectory(directory, holder);
  let vault: Vault | undefined;
  let db: Sqlite | undefined;
  try {
    db = openDatabase(logFile(directory), { durability: 'full' });
    vault = openVault(vaultFile);
    return await run({ directory, db, vault, noBackup });
  } finally {
    vault?.close();
    db?.close();
    lock.release();
  }
}
