import type { Ids } from '../../events/ids.ts';
import { BrokenLogError, isLog, upgradeLog } from '../../events/log-file.ts';
import type { SqliteLog } from '../../events/sqlite-log.ts';
import type { Vault } from '../../events/vault.ts';
import { logFile, openHeard } from '../../projections/boot.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { recordKeyChanges } from '../notary/keys.ts';

/** A data directory that a command has for itself, with its log and its vault open. */
export type Opened = { directory: string; db: Sqlite; vault: Vault };

/**
 * Opens a log for a command that writes to it, after the checks that a start makes.
 *
 * @throws BrokenLogError when it is empty, damaged, or not the one that the vault has sealed and its keys have signed.
 */
export function openToWrite({ directory, db, vault }: Opened, ids: Ids, now: () => number): SqliteLog {
  const seals = vault.seals();
  upgradeLog(db, seals);
  if (!isLog(db)) throw new BrokenLogError('log.db is empty: no service has been started on it yet');
  const log = openHeard(db, { directory, ids, now, seals, signed: vault.logKeys.signed() });
  vault.remembersSealed(log.head().log);
  return log;
}

/**
 * Tells a log what became of its keys. Nobody else may have it open for writing; what is recorded is not in the read tables yet.
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
