import { codeOf } from '../../storage/errors.ts';
import type { Connection } from '../../storage/postgres/connection.ts';

/**
 * The files of a write-ahead log on one server. `current`: the number of the file that is written, or on a standby was
 * applied last. Numbers are without their timeline.
 */
export type WalFiles = { current: number; files: { timeline: number; number: number }[] };

/**
 * The knowledge of a server so far. `last`: when this file is written, no file has anything from before the place; null
 * until the file is known. It holds on one timeline: a server that becomes the primary gives its files new names.
 */
export type WalProgress = { last: number | null; timeline: number };

export const unknownWal: WalProgress = { last: null, timeline: 0 };

/**
 * Whether the files of a server have nothing that was written up to a place. PostgreSQL gives a file that it no longer
 * needs the name of a later file, and leaves the content until that file is written. So two waits are needed: until all
 * files that were begun before the place are gone, and then until all files of that moment are written, since they may
 * have former content.
 *
 * @param place the number of the file with the place.
 * @returns null when the server has nothing; else the knowledge for the next call.
 */
export function passWal({ current, files }: WalFiles, place: number, known: WalProgress): WalProgress | null {
  const timeline = Math.max(0, ...files.map((file) => file.timeline));
  if (known.last !== null && known.timeline === timeline) return current > known.last ? null : known;
  // Files of a former timeline go away as well.
  const isLeft = files.some((file) => file.timeline !== timeline || file.number <= place);
  if (isLeft || current <= place) return { last: null, timeline };
  return { last: Math.max(current, ...files.map(({ number }) => number)), timeline };
}

/** The number of the file that a place is in. @param lsn as PostgreSQL writes it, such as `0/1A2B3C4D`. */
export function walNumber(lsn: string, segmentBytes: number): number {
  const [high = '', low = ''] = lsn.split('/');
  return Math.floor((Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16)) / segmentBytes);
}

/**
 * The timeline and the number in the name of a file (PostgreSQL 15, `XLogFromFileName`); null for other files.
 */
export function readWalName(name: string, segmentBytes: number): { timeline: number; number: number } | null {
  const parts = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})(?:\.partial)?$/.exec(name);
  if (!parts) return null;
  const [timeline = 0, high = 0, low = 0] = parts.slice(1).map((part) => Number.parseInt(part, 16));
  return { timeline, number: high * (2 ** 32 / segmentBytes) + low };
}

/** Reads the files of a server. @throws with code 42501 if the role does not have the rights of `pg_monitor`. */
export async function readWal(
  connection: Connection,
  isStandby: boolean,
): Promise<WalFiles & { segmentBytes: number }> {
  const place = isStandby ? 'pg_last_wal_replay_lsn()' : 'pg_current_wal_insert_lsn()';
  const [size, lsn, names] = await connection.run(
    { text: "SELECT setting::bigint AS bytes FROM pg_settings WHERE name = 'wal_segment_size'" },
    { text: `SELECT ${place}::text AS lsn` },
    { text: 'SELECT name FROM pg_ls_waldir()' },
  );
  const segmentBytes = Number(size?.rows[0]?.bytes);
  const files = (names?.rows ?? []).flatMap(({ name }) => readWalName(name, segmentBytes) ?? []);
  return { current: walNumber(lsn?.rows[0]?.lsn ?? '0/0', segmentBytes), files, segmentBytes };
}

/** The place up to which the write-ahead log is written; null in a database without such a log. */
export async function currentLsn(connection: Connection): Promise<string | null> {
  try {
    const [found] = await connection.run({ text: 'SELECT pg_current_wal_insert_lsn()::text AS lsn' });
    return found?.rows[0]?.lsn ?? null;
  } catch (error) {
    // No such function.
    if (codeOf(error) === '42883') return null;
    throw error;
  }
}

/**
 * Makes a server begin the next file, and with `isLettingGo` let go of former files, if the role may do that; otherwise
 * the server does so by itself, later.
 */
export async function hastenWal(
  connection: Connection,
  { isStandby, isLettingGo }: { isStandby: boolean; isLettingGo: boolean },
): Promise<void> {
  const results = await connection.send(
    ...(isStandby ? [] : [{ text: 'SELECT pg_switch_wal()' }]),
    ...(isLettingGo ? [{ text: 'CHECKPOINT' }] : []),
  );
  for (const result of results)
    if (result.status === 'rejected' && codeOf(result.reason) !== '42501') throw result.reason;
}
