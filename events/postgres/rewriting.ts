import { randomBytes } from 'node:crypto';
import type { Connection, PostgresStatement } from '../../storage/postgres/connection.ts';
import { exchangeMilliseconds } from '../../storage/postgres/durations.ts';
import { commitWith } from '../../storage/postgres/session.ts';
import {
  attachStatement,
  type LogTables,
  nameOf,
  type PartedTable,
  partedTables,
  type TablePart,
  tableStatements,
} from './parts.ts';
import { claimHash, lockQuery } from './rows.ts';
import { personalTables } from './vault/tables.ts';

/** A part that lost rows to erasures. `since`: the position of the newest of them. */
type Rewrite = TablePart & { since: number };

/** A rewrite, on the connection that does it. */
type RewriteJob = { connection: Connection; tables: LogTables; rewrite: Rewrite };

/** The positions that are copied in one statement. */
const slice = 4096;

/** The names of copies begin with this, until the copies are parts. */
const prefix = 'next_';

/**
 * Makes the tables of the vault anew that may hold something about a person, if the vault is in the database of the
 * log. They are small, so callers that check a password wait meanwhile.
 *
 * @throws as {@link rewritePart}.
 */
export async function rewriteVault(connection: Connection): Promise<void> {
  const [found] = await connection.run({ text: "SELECT tablename FROM pg_tables WHERE schemaname = 'annals_vault'" });
  const there = new Set((found?.rows ?? []).map(({ tablename }) => tablename));
  for (const [table, texts] of Object.entries(personalTables)) {
    if (!there.has(table)) continue;
    const [name, next] = [`annals_vault.${table}`, `annals_vault.${prefix}${table}`];
    await connection.run(
      { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' },
      { text: `SET LOCAL lock_timeout = ${exchangeMilliseconds}` },
    );
    try {
      await connection.run({ text: `LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE` });
      await commitWith(connection, [
        { text: `CREATE TABLE ${next} (LIKE ${name} INCLUDING ALL)` },
        ...texts.map((text) => ({ text: `ALTER TABLE ${next} ALTER COLUMN ${text} SET STATISTICS 0` })),
        { text: `INSERT INTO ${next} SELECT * FROM ${name}` },
        { text: `DROP TABLE ${name}` },
        { text: `ALTER TABLE ${next} RENAME TO ${table}` },
      ]);
    } catch (error) {
      await connection.run({ text: 'ROLLBACK' }).catch(() => connection.destroy());
      throw error;
    }
  }
}

/** Removes the copies that were left by nodes which were interrupted. */
export async function dropCopies(connection: Connection, tables: LogTables): Promise<void> {
  const [found] = await connection.run({
    text: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'annals'",
  });
  const names: string[] = (found?.rows ?? []).map(({ name }) => name);
  const ofLog = new RegExp(`^${prefix}[0-9a-f]{12}_[a-z_]+_${tables.log}(?:_[0-9]+)?$`);
  for (const name of names.filter((name) => ofLog.test(name)))
    await connection.run({ text: `DROP TABLE IF EXISTS annals.${name}` });
}

/** Reads which parts of a log are to be made anew. */
export async function rewritesOf(connection: Connection, { log }: LogTables): Promise<Rewrite[]> {
  const [found] = await connection.run({
    text: 'SELECT what, part, since FROM annals.rewrites WHERE log = $1 ORDER BY what, part',
    values: [log],
  });
  return found?.rows ?? [];
}

/**
 * Makes a part anew: copies its rows into a table beside it while the log goes on, and puts the copy in its place. A
 * copy has only visible rows, whichever snapshots are in use; VACUUM FULL would take some deleted rows along, and hold
 * up the log until it ends.
 *
 * @param step is called before each slice, with the share that is done, from 0 to 1.
 * @returns false when something was erased in the part meanwhile, and the part is to be made anew once more.
 * @throws the refusal of a server: with code 55P03 if the part is read for long.
 */
export async function rewritePart({
  step,
  ...rewriting
}: RewriteJob & { step: (share: number) => Promise<void> }): Promise<boolean> {
  const { connection, tables, rewrite } = rewriting;
  const { log } = tables;
  const { what } = rewrite;
  // Not the name that another node would give its copy: the part must not become that one, which is not whole yet.
  const next = `${prefix}${randomBytes(6).toString('hex')}_${nameOf(tables, rewrite)}`;
  await connection.run(...tableStatements(next, what));
  const { size } = await headOf(connection, log);
  let copied = 0;
  const copies = copyStatements(tables, rewrite, { next, size });
  for (const [at, { copy, to }] of copies.entries()) {
    await step(at / copies.length);
    await connection.run(copy);
    copied = to;
  }
  await connection.run({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' }, lockQuery(log), {
    text: `SET LOCAL lock_timeout = ${exchangeMilliseconds}`,
  });
  try {
    return await exchange(rewriting, { next, copied, size });
  } catch (error) {
    await connection.run({ text: 'ROLLBACK' }).catch(() => connection.destroy());
    throw error;
  }
}

async function headOf(connection: Connection, log: number): Promise<{ size: number }> {
  const [found] = await connection.run({ text: 'SELECT size FROM annals.heads WHERE log = $1', values: [log] });
  return found?.rows[0] ?? { size: 0 };
}

/** The statements that copy the rows of this moment; `to`: the last position that a statement copies. */
function copyStatements(
  tables: LogTables,
  rewrite: Rewrite,
  { next, size }: { next: string; size: number },
): { copy: PostgresStatement; to: number }[] {
  const { by } = partedTables[rewrite.what];
  const former = nameOf(tables, rewrite);
  // Erasures are copied under the lock: there is one row for each.
  if (rewrite.what === 'erasures') return [];
  if (by === null) return [{ copy: { text: `INSERT INTO annals.${next} SELECT * FROM annals.${former}` }, to: size }];
  const partSize = tables.partSize ?? 0;
  const first = rewrite.part * partSize;
  const last = Math.min(first + partSize, size);
  const count = Math.max(Math.ceil((last - first) / slice), 0);
  return Array.from({ length: count }, (_, at) => {
    const from = first + at * slice;
    const to = Math.min(from + slice, last);
    return {
      copy: {
        text: `INSERT INTO annals.${next} SELECT * FROM annals.${former} WHERE ${by} > $1 AND ${by} <= $2`,
        values: [from, to],
      },
      to,
    };
  });
}

/**
 * A copy named `next`, with all rows up to the position `copied`; `size`: the size of the log before the rows were
 * copied.
 */
type PartCopy = { next: string; copied: number; size: number };

/** Under the lock of the head: copies the rows that came meanwhile, and puts the copy in the place of the part. */
async function exchange(
  { connection, tables, rewrite }: RewriteJob,
  { next, copied, size }: PartCopy,
): Promise<boolean> {
  const { log } = tables;
  const { what, part, since } = rewrite;
  const former = nameOf(tables, rewrite);
  const note = [log, what, part, since];
  const [noted] = await connection.run({
    text: 'SELECT 1 FROM annals.rewrites WHERE log = $1 AND what = $2 AND part = $3 AND since = $4',
    values: note,
  });
  if (noted?.rowCount !== 1) {
    await connection.run({ text: 'ROLLBACK' }, { text: `DROP TABLE annals.${next}` });
    return false;
  }
  await connection.run(...(await lateStatements(connection, log, { what, next, former, copied, size })));
  const [counted] = await connection.run({
    text: `SELECT (SELECT count(*) FROM annals.${former}) AS former, (SELECT count(*) FROM annals.${next}) AS next`,
  });
  if (counted?.rows[0]?.former !== counted?.rows[0]?.next)
    throw new Error(`the copy of annals.${former} has not as many rows: ${JSON.stringify(counted?.rows[0])}`);
  await commitWith(connection, [
    { text: `DROP TABLE annals.${former}` },
    { text: `ALTER TABLE annals.${next} RENAME TO ${former}` },
    attachStatement(tables, rewrite),
    {
      text: 'DELETE FROM annals.rewrites WHERE log = $1 AND what = $2 AND part = $3 AND since = $4',
      values: note,
    },
  ]);
  return true;
}

/** The statements that bring a copy up to the former table, under the lock. */
async function lateStatements(
  connection: Connection,
  log: number,
  { what, next, former, copied, size }: PartCopy & { what: PartedTable; former: string },
): Promise<PostgresStatement[]> {
  const { by } = partedTables[what];
  if (by !== null) {
    return [{ text: `INSERT INTO annals.${next} SELECT * FROM annals.${former} WHERE ${by} > $1`, values: [copied] }];
  }
  if (what === 'erasures') return [{ text: `INSERT INTO annals.${next} SELECT * FROM annals.${former}` }];
  const [changed] = await connection.run({
    text: 'SELECT scope, value FROM annals.claim_changes WHERE log = $1 AND since > $2',
    values: [log, size],
  });
  const claims = (changed?.rows ?? []).map(({ scope, value }) => Buffer.from(claimHash(scope, value), 'hex'));
  return [
    { text: `DELETE FROM annals.${next} WHERE claim = ANY($1::bytea[])`, values: [claims] },
    {
      text: `INSERT INTO annals.${next} SELECT * FROM annals.${former} WHERE claim = ANY($1::bytea[])`,
      values: [claims],
    },
  ];
}
