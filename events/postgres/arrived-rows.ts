import type { PostgresStatement } from '../../storage/postgres/connection.ts';
import type { ShippedClaim, ShippedIdempotencyRecord } from '../log/shipment.ts';
import type { LogPage } from '../replica/row-source.ts';
import type { ReplicaEnd } from '../replica/shared-log.ts';
import { type LogTables, removalOfClaims } from './parts.ts';
import { claimHash, claimStatements, idempotencyStatement, missingQueries, shipStatements } from './rows.ts';

/** A log that moves into PostgreSQL, for what writes and reads its rows. */
type ArrivingLog = {
  /** Its number, and its end there. */
  head: () => ReplicaEnd & { log: number };
  tables: () => LogTables;
  /** One transaction on a log that nothing else has changed meanwhile. @throws MoveError. */
  change: (...statements: (PostgresStatement | null)[]) => Promise<void>;
  /** @throws MoveError. */
  rowsOf: <R>(statement: PostgresStatement) => Promise<R[]>;
  /** Notes that the log ends there now. */
  moveTo: (end: ReplicaEnd) => void;
};

/** Makes the functions that write the rows of a log that moves. */
export function rowWriters({ head, tables, change, moveTo }: ArrivingLog) {
  return {
    async ship(page: LogPage): Promise<void> {
      await change(...shipStatements(tables(), { ...page, claims: [], idempotencyRecords: [] }));
      moveTo(page.head);
    },
    /** Replaces the claims of some streams, or of all. */
    async replaceClaims(claims: Iterable<ShippedClaim>, streams: readonly string[] | null): Promise<void> {
      const { log, size } = head();
      await change(...removalOfClaims(tables(), streams, size));
      let at = 0;
      for (const chunk of chunks(claims)) {
        await change(...claimStatements(log, chunk, { from: 0, at }));
        at += chunk.length;
      }
    },
    async removeIdempotencyRecords(): Promise<void> {
      await change({ text: 'DELETE FROM annals.attempts WHERE log = $1', values: [head().log] });
    },
    async keepIdempotencyRecords(records: Iterable<ShippedIdempotencyRecord>): Promise<void> {
      for (const chunk of chunks(records)) await change(idempotencyStatement(head().log, chunk, 0));
    },
    /** Notes which files of erasures are left, as the text of a JSON array. */
    async setErasures(erasures: readonly { position: number; files: string }[]): Promise<void> {
      for (const chunk of chunks(erasures)) {
        await change({
          text: `UPDATE annals.erasures SET files = given.files
                 FROM unnest($2::bigint[], $3::text[]) AS given (position, files)
                 WHERE erasures.log = $1 AND erasures.position = given.position AND erasures.files <> given.files`,
          values: [head().log, chunk.map(({ position }) => position), chunk.map(({ files }) => files)],
        });
      }
    },
  };
}

/** Makes the functions that read the rows of a log that moves back, to compare them. */
export function rowReaders(arriving: ArrivingLog) {
  const { head, rowsOf } = arriving;
  return {
    /** The events after a position, as nodes will read them. */
    async events(after: number, limit: number): Promise<{ header: string; body: string | null }[]> {
      const [query] = missingQueries(head().log, after, limit) as [PostgresStatement];
      return rowsOf(query);
    },
    /** The claims. `holder` is the stream in the table that refuses a second holder. */
    claims: () => readClaims(arriving),
    idempotencyRecords: () => readIdempotencyRecords(arriving),
    /** The files of each erasure that are still to be looked at. */
    async erasures(): Promise<{ position: number; files: string }[]> {
      return rowsOf({
        text: 'SELECT position, files FROM annals.erasures WHERE log = $1 ORDER BY position',
        values: [head().log],
      });
    },
    /** The numbers of rows of each kind; of idempotency records those that were kept after a moment. */
    async counts(since: number) {
      const [row] = await rowsOf<{ claims: number; changes: number; idempotencyRecords: number }>({
        text: `SELECT (SELECT count(*) FROM annals.claims WHERE log = $1) AS claims,
                      (SELECT count(*) FROM annals.claim_changes WHERE log = $1) AS changes,
                      (SELECT count(*) FROM annals.attempts WHERE log = $1 AND recorded_at > $2) AS "idempotencyRecords"`,
        values: [head().log, since],
      });
      if (!row) throw new Error('PostgreSQL counted nothing');
      return row;
    },
  };
}

type ArrivedClaim = { scope: string; value: string; stream: string; holder: string | null };

async function* readClaims({ head, rowsOf }: ArrivingLog): AsyncGenerator<ArrivedClaim> {
  const { log } = head();
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

async function* readIdempotencyRecords({ head, rowsOf }: ArrivingLog): AsyncGenerator<ShippedIdempotencyRecord> {
  for (let [since, key] = [0, '']; ; ) {
    const found = await rowsOf<ShippedIdempotencyRecord & { since: number }>({
      text: `SELECT since, key, fingerprint, position, stream, version, recorded_at AS "recordedAt" FROM annals.attempts
             WHERE log = $1 AND (since, key) > ($2, $3) ORDER BY since, key LIMIT 1000`,
      values: [head().log, since, key],
    });
    for (const { since: _, ...record } of found) yield record;
    const last = found.at(-1);
    if (!last) return;
    [since, key] = [last.since, last.key];
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
