import { messageOf } from '../../storage/errors.ts';
import type { Connection, PostgresAddress } from '../../storage/postgres/connection.ts';
import { isBusy } from '../../storage/postgres/errors.ts';
import { openSession } from '../../storage/postgres/session.ts';
import { type CleaningRow, claimCleaning, noteStage, releaseCleaning, saveCleaning } from './cleaning-row.ts';
import { type LogTables, nameOf } from './parts.ts';
import { dropCopies, rewritePart, rewritesOf, rewriteVault } from './rewriting.ts';
import { currentLsn } from './wal.ts';
import { openWalWatch, type WalWatch } from './wal-watch.ts';

/**
 * @param holder tells this node from all others.
 * @param scrubbed gives the position up to which this node itself has nothing of erasures, uploaded files included.
 */
type CleanerOptions = {
  address: PostgresAddress;
  tables: LogTables;
  holder: string;
  scrubbed: () => number;
};

/** The outcome of a pass. */
type CleanerPass =
  /** Nothing is left to be done. */
  | 'done'
  /** Another node has the work. */
  | 'other'
  /** Something is left to be done, now or when something else is out of the way. */
  | 'going';

const passMilliseconds = 120_000;

/** A pass of a node, on the connection of the pass. */
type Pass = { connection: Connection; tables: LogTables; log: number; holder: string; wal: WalWatch };

/**
 * Removes erased content from the files of PostgreSQL, where deleted rows stay: makes the parts of tables anew that
 * have lost rows, and then waits until the write-ahead logs of all servers of the address have nothing of them. One
 * node does it at a time.
 */
export function openCleaner({ address, tables, holder, scrubbed }: CleanerOptions) {
  const { log } = tables;
  const session = openSession(address, () => {});
  const wal = openWalWatch(address);
  return {
    /** Does the work that can be done now. @throws UnreachableError. */
    pass: (): Promise<CleanerPass> =>
      session.retried(performance.now() + passMilliseconds, async (connection) => {
        const row = await claimCleaning(connection, { log, holder, scrubbed: scrubbed() });
        if (!row) return 'other';
        const pass = { connection, tables, log, holder, wal };
        const result = await runPass(pass, row);
        if (result === 'done') await releaseCleaning(connection, pass);
        return result;
      }),
    async close(): Promise<void> {
      wal.close();
      await session.close();
    },
  };
}

async function runPass(
  pass: Pass,
  { cleaned, erased, ...row }: CleaningRow & { erased: number },
): Promise<CleanerPass> {
  const { connection, wal } = pass;
  let { lsn, upto } = row;
  if (lsn === '') {
    upto = erased;
    if (upto <= cleaned) return 'done';
    if (!(await rewriteAll(pass, upto))) return 'going';
    lsn = (await currentLsn(connection)) ?? '';
    await saveCleaning(connection, pass, { upto, lsn, cleaned: lsn === '' ? upto : cleaned });
    if (lsn === '') return 'done';
  }
  const left = await wal.look(lsn);
  if (left === 'gone back') await saveCleaning(connection, pass, { upto: 0, lsn: '', cleaned });
  else if (left === null) await saveCleaning(connection, pass, { upto, lsn: '', cleaned: upto });
  else await noteStage(connection, pass, left);
  return left === null && upto >= erased ? 'done' : 'going';
}

/** Makes all parts anew that have lost rows. False if a part has to be done later. */
async function rewriteAll(pass: Pass, upto: number): Promise<boolean> {
  const { connection, tables } = pass;
  await forgetFiles(pass, upto);
  const rewrites = await rewritesOf(connection, tables);
  if (rewrites.length > 0) await dropCopies(connection, tables);
  for (const [at, rewrite] of rewrites.entries()) {
    const name = `annals.${nameOf(tables, rewrite)}`;
    const step = (share: number) =>
      noteStage(
        connection,
        pass,
        `${name} is made anew (${at + 1} of ${rewrites.length}, ${Math.round(share * 100)} %)`,
      );
    if (!(await unlessBusy(pass, name, () => rewritePart({ connection, tables, rewrite, step })))) return false;
  }
  if (tables.partSize === null) return true;
  return await unlessBusy(pass, 'a table of the vault', async () => {
    await rewriteVault(connection);
    return true;
  });
}

/** Also false if a table cannot be exchanged, since it is in use for too long; the stage says so. */
async function unlessBusy(pass: Pass, name: string, run: () => Promise<boolean>): Promise<boolean> {
  try {
    return await run();
  } catch (error) {
    if (!isBusy(error)) throw error;
    await noteStage(pass.connection, pass, `${name} is in use, by a dump for example (${messageOf(error)})`);
    return false;
  }
}

/** Empties the lists of erased files: they hold hashes, and the files are removed by now. */
async function forgetFiles({ connection, tables, log }: Pass, upto: number): Promise<void> {
  const condition = "log = $1 AND position <= $2 AND files <> '[]'";
  const noting = {
    text: `INSERT INTO annals.rewrites SELECT DISTINCT $1::int, 'erasures', 0, $2::bigint FROM annals.erasures
           WHERE ${condition} ON CONFLICT (log, what, part) DO UPDATE SET since = excluded.since`,
    values: [log, upto],
  };
  await connection.run(...(tables.partSize === null ? [] : [noting]), {
    text: `UPDATE annals.erasures SET files = '[]' WHERE ${condition}`,
    values: [log, upto],
  });
}
