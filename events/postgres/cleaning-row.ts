import type { Connection } from '../../storage/postgres/connection.ts';
import { leaseMilliseconds } from '../../storage/postgres/durations.ts';

/**
 * The row of a log that says how far its tables are cleaned of what was erased. `cleaned`: the last erasure of which
 * PostgreSQL has nothing. `upto`: the erasure that is worked on; `lsn`: the place in the write-ahead log after which
 * nothing of it was written, or ''.
 */
export type CleaningRow = { cleaned: number; upto: number; lsn: string };

/** A node that cleans a log. `holder` tells the node from all others. */
type CleaningHolder = { log: number; holder: string };

const now = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const heldUntil = `${now} + ${leaseMilliseconds}`;

/**
 * Takes the row for a node. Two nodes at once would do the work twice, without harm.
 *
 * @param scrubbed the position up to which the node itself has nothing of erasures, uploaded files included.
 * @returns the row, with the last erasure up to `scrubbed`; null while another node has the row.
 */
export async function claimCleaning(
  connection: Connection,
  { log, holder, scrubbed }: CleaningHolder & { scrubbed: number },
): Promise<(CleaningRow & { erased: number }) | null> {
  const [, claimed, found] = await connection.run(
    {
      text: "INSERT INTO annals.cleanings VALUES ($1, 0, 0, '', '', '', 0) ON CONFLICT DO NOTHING",
      values: [log],
    },
    {
      text: `UPDATE annals.cleanings SET holder = $2, until = ${heldUntil}
             WHERE log = $1 AND (holder = $2 OR until < ${now})`,
      values: [log, holder],
    },
    {
      // Of files that are not removed yet, their hashes are needed.
      text: `SELECT cleaned, upto, lsn,
               (SELECT coalesce(max(position), 0) FROM annals.erasures WHERE log = $1 AND position <= $2) AS erased
             FROM annals.cleanings WHERE log = $1`,
      values: [log, scrubbed],
    },
  );
  return claimed?.rowCount === 1 ? (found?.rows[0] ?? null) : null;
}

export async function saveCleaning(
  connection: Connection,
  { log, holder }: CleaningHolder,
  { cleaned, upto, lsn }: CleaningRow,
): Promise<void> {
  await connection.run({
    text: 'UPDATE annals.cleanings SET cleaned = $2, upto = $3, lsn = $4 WHERE log = $1 AND holder = $5',
    values: [log, cleaned, upto, lsn, holder],
  });
}

/** Says what is being done, and keeps the row for the node. */
export async function noteStage(connection: Connection, { log, holder }: CleaningHolder, stage: string): Promise<void> {
  await connection.run({
    text: `UPDATE annals.cleanings SET stage = $2, until = ${heldUntil} WHERE log = $1 AND holder = $3`,
    values: [log, stage, holder],
  });
}

/** Lets another node have the row. */
export async function releaseCleaning(connection: Connection, { log, holder }: CleaningHolder): Promise<void> {
  await connection.run({
    text: "UPDATE annals.cleanings SET stage = '', until = 0 WHERE log = $1 AND holder = $2",
    values: [log, holder],
  });
}
