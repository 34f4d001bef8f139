import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../config/counted.ts';
import { MoveError } from '../../events/postgres/move-error.ts';
import { readReplicaMark, unmarkReplica } from '../../events/replica/replica-mark.ts';
import { createIds } from '../../events/store/ids.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { privateFile } from '../../storage/private.ts';
import { existingLog } from '../data-directory.ts';
import { holdingAny, openToWrite, readReason, recordKeys } from '../held-directory.ts';
import { printLine } from '../terminal.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';

/** Tells of all that is in PostgreSQL and in no replica. */
const lost =
  'warning: this log goes on with what this node has: events that another node has beyond it are not in it. Passwords, API keys that were ' +
  'made, drafts, preferences and waiting deliveries of webhooks were in PostgreSQL and are not here: all users have to reset their passwords';

/**
 * Turns the data directory of a stopped node into a standalone one, after PostgreSQL was lost. The signing key is lost
 * with it, so a new one is made, which the log records with the reason.
 *
 * @throws UsageError; MoveError if the directory is not a node's, or its log is not sound.
 */
export async function withoutPostgres(settings: Settings, reason: string | undefined): Promise<number> {
  const why = readReason(reason, 'why another key signs it, and who decided that');
  if (settings.log !== undefined)
    throw new UsageError(
      '--without-postgres and ANNALS_POSTGRES_URL are both given: without the flag the log leaves that database with all that belongs to it. ' +
        'Take ANNALS_POSTGRES_URL away if that database is lost',
    );
  const directory = existingLog(settings);
  return await holdingAny(settings, 'annals log move', async (opened) => {
    if (readReplicaMark(directory) === null)
      throw new MoveError(`the data directory ${directory} is not that of a node: its log is its own`);
    const { finding } = verifyWithProgress(directory);
    if (finding !== null) throw new MoveError(`the log of ${directory} is not sound: ${finding}`);
    // Commits of a replica are not synced, one by one.
    opened.db.pragma('wal_checkpoint(TRUNCATE)');
    // The mark goes last: until then the same command does again what was cut short.
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
    const { log, begin } = openToWrite(opened, ids, Date.now);
    begin();
    const { logKeys } = opened.vault;
    const { log: name } = log.head();
    if (!logKeys.canSign(name)) logKeys.replace(name, { reason: why });
    await recordKeys(opened, log, ids);
    // Its first documents are in the log.
    writeFileSync(join(directory, 'seeded'), `${new Date().toISOString()}\n`, { mode: privateFile });
    unmarkReplica(directory);
    process.stderr.write(`${lost}\n`);
    await printLine(`auditors need to know the new key: ${logKeys.current(name).signer.key}`);
    return printLine(
      `the log is in ${directory}, with ${counted(log.head().size, 'event')}: start the service without ANNALS_POSTGRES_URL. Delete the data ` +
        'directories of all other nodes, and let no node start on the former database again',
    );
  });
}
