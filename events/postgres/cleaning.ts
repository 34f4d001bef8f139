import { messageOf } from '../../storage/errors.ts';
import type { Connection, PostgresAddress } from '../../storage/postgres/connection.ts';
import { isBusy } from '../../storage/postgres/errors.ts';
import { openSession } from '../../storage/postgres/session.ts';
import { type LogTables, nameOf } from './parts.ts';
import { dropCopies, rewritePart, rewritesOf, rewriteVault } from './rewriting.ts';
import { placeOf } from './wal.ts';
import { openWalWatch } from './wal-watch.ts';

/**
 * @param holder tells this node from all others.
 * @param scrubbed gives the position up to which this node itself has nothing of erasures, uploaded files included.
 */
export type CleanerOptions = {
  address: PostgresAddress;
  tables: LogTables;
  holder: string;
  scrubbed: () => number;
};

export type Cleaner = ReturnType<typeof openCleaner>;

/**
 * `other`: another node is at it. `going`: something is left to be done, now or when something else is out of the way.
 */
export type CleanerPass = 'done' | 'other' | 'going';

/** The work on a log, as the node knows it that does it. */
type Work = { cleaned: number; upto: number; lsn: string };

/**
 * A node that does not go on for so many milliseconds leaves the work to another one. Two at once would do it twice,
 * and no harm.
 */
const holdMilliseconds = 15_000;

const passMilliseconds = 120_000;

const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Removes what was erased from the files of PostgreSQL, where deleted rows stay: makes the parts of tables anew that
 * have lost rows, and then waits until the write-ahead logs of all servers of the address have nothing of them. One
 * node does it at a time.
 */
export function openCleaner({ address, tables, holder, scrubbed }: CleanerOptions) {
  const { log } = tables;
  const session = openSession(address, () => {});
  const wal = openWalWatch(address);

  /** Does what can be done now. @throws UnreachableError. */
  async function pass(): Promise<CleanerPass> {
    return await session.retried(performance.now() + passMilliseconds, async (connection) => {
      const work = await claim(connection);
      if (!work) return 'other';
      const result = await passWith(connection, work);
      if (result === 'done') await note(connection, { stage: '', isHeld: false });
      return result;
    });
  }

  async function claim(connection: Connection): Promise<(Work & { erased: number }) | null> {
    const [, claimed, found] = await connection.run(
      {
        text: "INSERT INTO annals.cleanings VALUES ($1, 0, 0, '', '', '', 0) ON CONFLICT DO NOTHING",
        values: [log],
      },
      {
        text: `UPDATE annals.cleanings SET holder = $2, until = ${now} + ${holdMilliseconds}
               WHERE log = $1 AND (holder = $2 OR until < ${now})`,
        values: [log, holder],
      },
      {
        // Of files that are not removed yet, their hashes are needed.
        text: `SELECT cleaned, upto, lsn,
                 (SELECT coalesce(max(position), 0) FROM annals.erasures WHERE log = $1 AND position <= $2) AS erased
               FROM annals.cleanings WHERE log = $1`,
        values: [log, scrubbed()],
      },
    );
    return claimed?.rowCount === 1 ? (found?.rows[0] ?? null) : null;
  }

  async function passWith(connection: Connection, work: Work & { erased: number }): Promise<CleanerPass> {
    let { lsn, upto } = work;
    if (lsn === '') {
      upto = work.erased;
      if (upto <= work.cleaned) return 'done';
      if (!(await rewriteAll(connection, upto))) return 'going';
      lsn = (await placeOf(connection)) ?? '';
      await set(connection, lsn === '' ? { upto, lsn, cleaned: upto } : { upto, lsn, cleaned: work.cleaned });
      if (lsn === '') return 'done';
    }
    const left = await wal.look(lsn);
    if (left === 'gone back') await set(connection, { upto: 0, lsn: '', cleaned: work.cleaned });
    else if (left === null) await set(connection, { upto, lsn: '', cleaned: upto });
    else await note(connection, { stage: left });
    return left === null && upto >= work.erased ? 'done' : 'going';
  }

  /** Makes all parts anew that have lost rows. False where one has to be done later. */
  async function rewriteAll(connection: Connection, upto: number): Promise<boolean> {
    await forgetFiles(connection, upto);
    const rewrites = await rewritesOf(connection, tables);
    if (rewrites.length > 0) await dropCopies(connection, tables);
    for (const [at, rewrite] of rewrites.entries()) {
      const name = `annals.${nameOf(tables, rewrite)}`;
      const step = (share: number) =>
        note(connection, {
          stage: `${name} is made anew (${at + 1} of ${rewrites.length}, ${Math.round(share * 100)} %)`,
        });
      if (!(await unlessBusy(connection, name, () => rewritePart(connection, tables, rewrite, step)))) return false;
    }
    if (tables.partSize === null) return true;
    return await unlessBusy(connection, 'a table of the vault', async () => {
      await rewriteVault(connection);
      return true;
    });
  }

  /** False, and said, where somebody uses a table for so long that it cannot be exchanged. */
  async function unlessBusy(connection: Connection, name: string, run: () => Promise<boolean>): Promise<boolean> {
    try {
      return await run();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await note(connection, { stage: `${name} is in use, by a dump for example (${messageOf(error)})` });
      return false;
    }
  }

  /** The hashes of erased files are not to be left either, once the files are removed. */
  async function forgetFiles(connection: Connection, upto: number): Promise<void> {
    const condition = "log = $1 AND position <= $2 AND files <> '[]'";
    await connection.run(
      ...(tables.partSize === null
        ? []
        : [
            {
              text: `INSERT INTO annals.rewrites SELECT DISTINCT $1::int, 'erasures', 0, $2::bigint FROM annals.erasures
                     WHERE ${condition} ON CONFLICT (log, what, part) DO UPDATE SET since = excluded.since`,
              values: [log, upto],
            },
          ]),
      { text: `UPDATE annals.erasures SET files = '[]' WHERE ${condition}`, values: [log, upto] },
    );
  }

  async function set(connection: Connection, { cleaned, upto, lsn }: Work): Promise<void> {
    await connection.run({
      text: 'UPDATE annals.cleanings SET cleaned = $2, upto = $3, lsn = $4 WHERE log = $1 AND holder = $5',
      values: [log, cleaned, upto, lsn, holder],
    });
  }

  /** Says what is being done, and that it is. */
  async function note(
    connection: Connection,
    { stage, isHeld = true }: { stage: string; isHeld?: boolean },
  ): Promise<void> {
    await connection.run({
      text: `UPDATE annals.cleanings SET stage = $2, until = ${isHeld ? `${now} + ${holdMilliseconds}` : '0'}
             WHERE log = $1 AND holder = $3`,
      values: [log, stage, holder],
    });
  }

  return {
    pass,
    async close(): Promise<void> {
      wal.close();
      await session.close();
    },
  };
}
