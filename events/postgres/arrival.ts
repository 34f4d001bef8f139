import { randomUUID } from 'node:crypto';
import { messageOf } from '../../storage/errors.ts';
import { type Connection, connect, type PostgresAddress, type Statement } from '../../storage/postgres/connection.ts';
import { isBusy, UnfitServerError, UnreachableError } from '../../storage/postgres/errors.ts';
import { commitWith, UnknownCommitError } from '../../storage/postgres/session.ts';
import type { ShippedAttempt, ShippedClaim } from '../log/shipped.ts';
import { emptyRoot } from '../proof/merkle.ts';
import type { CopiedPage } from '../replica/copying.ts';
import type { Reached } from '../replica/shared-log.ts';
import { type LogTables, removalOfClaims, tablesOf } from './parts.ts';
import { attemptStatement, claimHash, claimStatements, missedQueries, type Place, shipStatements } from './rows.ts';
import { prepareTables, refuseTooManyRights } from './tables.ts';
import { establishVault } from './vault/vault.ts';

/** Thrown where a log cannot be moved; its message is for the operator, and the log is where it was. */
export class MoveError extends Error {
  override name = 'MoveError';
}

/** The head of a log that moves; `state` is where it is. */
export type ArrivingHead = Reached & { log: number; name: string; state: Place; token: string };

export type Arrival = Awaited<ReturnType<typeof openArrival>>;

/** A server that does not answer is given up after so many milliseconds. */
const connecting = 5000;

/**
 * The transaction of a page is open while the next page is read, which may take more than the two seconds of a node
 * where the machine is busy; and no node waits for it.
 */
const patience: Statement = { text: "SET idle_in_transaction_session_timeout = '60s'" };
/** A transaction that waits for a standby is waited for so many milliseconds. */
const resuming = 60_000;

/** The place in PostgreSQL that a log moves to. Until it is all there, no node starts on it. */
export async function openArrival(options: {
  address: PostgresAddress;
  site: string;
  warn: (message: string) => void;
}) {
  let connection = await reported(() => connect(options.address, connecting, options.warn));
  try {
    await reported(() => prepare(connection));
    await reported(() => connection.run(patience));
  } catch (error) {
    connection.destroy();
    throw error;
  }
  let found: ArrivingHead | null = null;
  let vault = 0;
  let tables: LogTables | null = null;

  /** Where the log of the site is; null without one. */
  async function look(): Promise<ArrivingHead | null> {
    found = await reported(() => headOf(connection, options.site));
    return found;
  }

  /** Prepares the place for a log, or goes on with one that is on its way. */
  async function begin(name: string): Promise<ArrivingHead> {
    await reported(async () => {
      const token = randomUUID();
      await connection.run({
        text: `INSERT INTO annals.heads (log, site, name, size, root, recorded_at, state, token)
               SELECT coalesce(max(log), 0) + 1, $1, $2, 0, $3, '', 'arriving', $4 FROM annals.heads ON CONFLICT DO NOTHING`,
        values: [options.site, name, emptyRoot, token],
      });
      await connection.run({
        text: "UPDATE annals.heads SET state = 'arriving', token = $3 WHERE site = $1 AND name = $2 AND state = 'left'",
        values: [options.site, name, token],
      });
      found = await headOf(connection, options.site);
      vault = await establishVault(connection, options.site);
      tables = found && (await tablesOf(connection, found.log));
    });
    if (found === null) throw new MoveError('the database has this log under the name of another site');
    return found;
  }

  /**
   * Goes on with another connection, after the last one was ended: waits until its last transaction is decided, which
   * may still be carried out, and looks at what is there then.
   */
  async function resume(): Promise<void> {
    const { log } = here();
    const until = performance.now() + resuming;
    connection = await reported(() => connect(options.address, connecting, options.warn));
    for (;;) {
      try {
        await reported(() =>
          connection.run(
            patience,
            { text: 'BEGIN' },
            { text: 'SELECT log FROM annals.heads WHERE log = $1 FOR UPDATE', values: [log] },
            { text: 'ROLLBACK' },
          ),
        );
        await look();
        return;
      } catch (error) {
        const isHeld = error instanceof MoveError && isBusy(error.cause);
        if (!isHeld || performance.now() > until) throw error;
      }
    }
  }

  function here(): ArrivingHead {
    if (found === null) throw new Error('the move has not begun');
    return found;
  }

  function divisions(): LogTables {
    if (tables === null) throw new Error('the move has not begun');
    return tables;
  }

  /** One transaction on a log that nothing else has changed meanwhile. */
  async function change(...statements: (Statement | null)[]): Promise<void> {
    const { log, size, token } = here();
    await reported(async () => {
      const [, lock] = await connection.run(
        { text: 'BEGIN' },
        { text: 'SELECT size, state, token FROM annals.heads WHERE log = $1 FOR UPDATE', values: [log] },
      );
      const row = lock?.rows[0];
      if (row?.size !== size || row.state !== 'arriving' || row.token !== token) {
        await connection.run({ text: 'ROLLBACK' });
        throw new MoveError('another process has changed the log in PostgreSQL: only one can move it there');
      }
      await commitWith(
        connection,
        statements.filter((one) => one !== null),
      );
    });
  }

  async function ship(page: CopiedPage): Promise<void> {
    await change(...shipStatements(divisions(), { ...page, claims: [], attempts: [] }));
    found = { ...here(), size: page.head.size, root: page.head.root };
  }

  /** Puts claims in the place of those of some streams, or of all. */
  async function replaceClaims(claims: Iterable<ShippedClaim>, streams: readonly string[] | null): Promise<void> {
    const { log, size } = here();
    await change(...removalOfClaims(divisions(), streams, size));
    let at = 0;
    for (const chunk of chunks(claims)) {
      await change(...claimStatements(log, chunk, 0, at));
      at += chunk.length;
    }
  }

  async function removeAttempts(): Promise<void> {
    await change({ text: 'DELETE FROM annals.attempts WHERE log = $1', values: [here().log] });
  }

  async function keepAttempts(attempts: Iterable<ShippedAttempt>): Promise<void> {
    for (const chunk of chunks(attempts)) await change(attemptStatement(here().log, chunk, 0));
  }

  /** Notes which files of erasures are left, as the text of a JSON array. */
  async function setErasures(erasures: readonly { position: number; files: string }[]): Promise<void> {
    for (const chunk of chunks(erasures)) {
      await change({
        text: `UPDATE annals.erasures SET files = given.files
               FROM unnest($2::bigint[], $3::text[]) AS given (position, files)
               WHERE erasures.log = $1 AND erasures.position = given.position AND erasures.files <> given.files`,
        values: [here().log, chunk.map(({ position }) => position), chunk.map(({ files }) => files)],
      });
    }
  }

  /** Reads events back as nodes will. */
  async function events(after: number, limit: number): Promise<{ header: string; body: string | null }[]> {
    const [query] = missedQueries(here().log, after, limit) as [Statement];
    return reported(async () => (await connection.run(query))[0]?.rows ?? []);
  }

  /** Reads claims back, in pages. `holder` is the stream in the table that refuses a second one. */
  async function* claims(): AsyncGenerator<{ scope: string; value: string; stream: string; holder: string | null }> {
    const { log } = here();
    for (let [since, at] = [0, -1]; ; ) {
      const found = await rowsOf<{ since: number; at: number; scope: string; value: string; stream: string }>({
        text: `SELECT since, at, scope, value, stream FROM annals.claim_changes
               WHERE log = $1 AND (since, at) > ($2, $3) ORDER BY since, at LIMIT 1000`,
        values: [log, since, at],
      });
      const hashes = found.map(({ scope, value }) => Buffer.from(claimHash(scope, value), 'hex'));
      const held = await rowsOf<{ claim: Buffer; stream: string }>({
        text: 'SELECT claim, stream FROM annals.claims WHERE log = $1 AND claim = ANY($2::bytea[])',
        values: [log, hashes],
      });
      const holders = new Map(held.map(({ claim, stream }) => [claim.toString('hex'), stream]));
      for (const row of found) yield { ...row, holder: holders.get(claimHash(row.scope, row.value)) ?? null };
      const last = found.at(-1);
      if (!last) return;
      [since, at] = [last.since, last.at];
    }
  }

  /** Reads attempts back, in pages. */
  async function* attempts(): AsyncGenerator<ShippedAttempt> {
    for (let [since, key] = [0, '']; ; ) {
      const found = await rowsOf<ShippedAttempt & { since: number }>({
        text: `SELECT since, key, fingerprint, position, stream, version, recorded_at AS "recordedAt" FROM annals.attempts
               WHERE log = $1 AND (since, key) > ($2, $3) ORDER BY since, key LIMIT 1000`,
        values: [here().log, since, key],
      });
      for (const { since: _, ...attempt } of found) yield attempt;
      const last = found.at(-1);
      if (!last) return;
      [since, key] = [last.since, last.key];
    }
  }

  /** The files of each erasure that are still to be looked at. */
  async function erasures(): Promise<{ position: number; files: string }[]> {
    return rowsOf({
      text: 'SELECT position, files FROM annals.erasures WHERE log = $1 ORDER BY position',
      values: [here().log],
    });
  }

  async function rowsOf<R>(statement: Statement): Promise<R[]> {
    return reported(async () => ((await connection.run(statement))[0]?.rows ?? []) as R[]);
  }

  /** How many rows of each kind there are, of attempts those that were kept after a moment. */
  async function counts(since: number) {
    const [row] = await rowsOf<{ claims: number; changes: number; attempts: number }>({
      text: `SELECT (SELECT count(*) FROM annals.claims WHERE log = $1) AS claims,
                    (SELECT count(*) FROM annals.claim_changes WHERE log = $1) AS changes,
                    (SELECT count(*) FROM annals.attempts WHERE log = $1 AND recorded_at > $2) AS attempts`,
      values: [here().log, since],
    });
    if (!row) throw new Error('PostgreSQL counted nothing');
    return row;
  }

  /** From now on the log is in PostgreSQL. */
  async function end(): Promise<void> {
    const { log } = here();
    await change({ text: "UPDATE annals.heads SET state = 'here' WHERE log = $1", values: [log] });
    found = { ...here(), state: 'here' };
  }

  return {
    look,
    begin,
    head: here,
    ship,
    replaceClaims,
    removeAttempts,
    keepAttempts,
    setErasures,
    events,
    claims,
    attempts,
    erasures,
    counts,
    end,
    change,
    /** The number of its vault. */
    vault: () => vault,
    /** Ends the connection at once; {@link resume} makes another one. */
    destroy: () => connection.destroy(),
    resume,
    close: () => connection.close().catch(() => {}),
  };
}

async function prepare(connection: Connection): Promise<void> {
  await prepareTables(connection);
  await refuseTooManyRights(connection);
}

/** Where the log of a site is; null without one. */
export async function headOf(connection: Connection, site: string): Promise<ArrivingHead | null> {
  const [found] = await connection.run({
    text: 'SELECT log, name, size, root, state, token FROM annals.heads WHERE site = $1',
    values: [site],
  });
  return found?.rows[0] ?? null;
}

/** Says what PostgreSQL refused, without its statements. @throws MoveError. */
export async function reported<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MoveError) throw error;
    if (error instanceof UnfitServerError || error instanceof UnreachableError)
      throw new MoveError(error.message, { cause: error });
    if (error instanceof UnknownCommitError)
      throw new MoveError(`it is not known whether PostgreSQL has committed: ${error.message}`, { cause: error });
    throw new MoveError(`PostgreSQL: ${messageOf(error)}`, { cause: error });
  }
}

const chunkSize = 1000;

function* chunks<T>(all: Iterable<T>): Generator<T[]> {
  let chunk: T[] = [];
  for (const one of all) {
    chunk.push(one);
    if (chunk.length < chunkSize) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
