import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import { type Departure, openDeparture } from '../../events/postgres/departure.ts';
import { MoveError } from '../../events/postgres/move-error.ts';
import { openPostgresLog } from '../../events/postgres/postgres-log.ts';
import type { Seals } from '../../events/proof/seals.ts';
import { markReplica, readReplicaMark, unmarkReplica } from '../../events/replica/replica-mark.ts';
import { createIds } from '../../events/store/ids.ts';
import { clearMoved, movedTo } from '../../events/store/moved.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { ingestAll } from '../../server/writer/joining.ts';
import { codeOf } from '../../storage/errors.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { privateFile } from '../../storage/private.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { existingLog } from '../data-directory.ts';
import { holdingAny } from '../held-directory.ts';
import { printLine } from '../terminal.ts';
import { takeVault } from './vault.ts';

/** The file with the token of a move out of PostgreSQL, from before PostgreSQL gets the token until all is here. */
const leavingFile = (directory: string) => join(directory, 'leaving');

const tries = 20;

/** Moves the log out of PostgreSQL into the data directory of a node that is stopped. */
export async function outOfPostgres(settings: Settings, address: PostgresAddress): Promise<number> {
  const directory = existingLog(settings);
  const site = settings.site ?? '';
  const warn = (message: string) => void process.stderr.write(`warning: ${message}\n`);
  return await holdingAny(settings, 'annals log move', async ({ db, vault }) => {
    const departure = await openDeparture(address, site, warn);
    try {
      const { id, size } = await leave({ directory, db, departure, seals: vault.seals(), address, site, warn });
      takeVault(directory, { id, size }, await departure.vault());
      unmarkReplica(directory);
      rmSync(leavingFile(directory), { force: true });
      return printLine(
        `the log is in ${directory}, with ${size} events, and not in PostgreSQL any more: start the service without ANNALS_POSTGRES_URL. ` +
          'Delete the data directories of all other nodes',
      );
    } finally {
      await departure.close();
    }
  });
}

type Leaving = {
  directory: string;
  db: Sqlite;
  departure: Departure;
  seals: Seals;
  address: PostgresAddress;
  site: string;
  warn: (message: string) => void;
};

/** Has the replica of a directory take the place of the log. @returns its id, and the number of its events. */
async function leave(leaving: Leaving): Promise<{ id: string; size: number }> {
  const { directory, db, departure } = leaving;
  const there = await departure.look();
  if (there.state === 'arriving') throw new MoveError('the log is not all in PostgreSQL: its move there was stopped');
  if (there.state === 'left') {
    if (there.token !== readLeaving(directory))
      throw new MoveError('the log has left PostgreSQL already, into another data directory');
    await departure.confirm(there.token);
    return { id: there.name, size: there.size };
  }
  requireReplica(directory, db, there);
  const live = await departure.liveNodes();
  if (live.length > 0) throw new MoveError(`${live.join(', ')} still runs: stop all nodes first`);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  const replica = openLog(db, { ids, now: Date.now, seals: leaving.seals });
  // A former run may have sent its commit, and that may still be carried out.
  const token = readLeaving(directory) || newLeaving(directory);
  for (let left = tries; left > 0; left -= 1) {
    await catchUp(replica, leaving);
    // Commits of a replica are not synced, one by one.
    db.pragma('wal_checkpoint(TRUNCATE)');
    // From here on the log is in the data directory.
    if (await departure.leave(replica.head(), token)) return { id: there.name, size: replica.head().size };
  }
  throw new MoveError('other nodes go on writing: stop all nodes first');
}

function newLeaving(directory: string): string {
  const token = randomUUID();
  writeFileSync(leavingFile(directory), `${token}\n`, { mode: privateFile, flush: true });
  return token;
}

function readLeaving(directory: string): string | null {
  try {
    return readFileSync(leavingFile(directory), 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** @throws MoveError for a data directory that is not a replica of this log. */
function requireReplica(directory: string, db: Sqlite, { name, token }: { name: string; token: string }): void {
  // No node was started on it since the log has moved.
  if (readReplicaMark(directory) === null && movedTo(db) === token) markReplica(directory, { log: name, token });
  const mark = readReplicaMark(directory);
  if (mark?.log !== name || mark.token !== token)
    throw new MoveError(`the data directory ${directory} is not that of a node of the log in this database`);
  clearMoved(db);
}

async function catchUp(replica: SqliteLog, { address, site, warn }: Leaving): Promise<void> {
  const shared = await openPostgresLog({
    address,
    site,
    warn,
    makeName: () => {
      throw new MoveError('there is no log in this database');
    },
  });
  try {
    await ingestAll(replica, shared, showProgress('copying'));
  } finally {
    await shared.close();
  }
}
