import { closeSync, fsyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { isDiskFull, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { emptyRoot } from '../proof/merkle.ts';
import { type Head, isSealed, type KnownSeals, macOf, type Seals, sealKeyOf } from '../proof/seals.ts';
import {
  addedTables,
  formerHeaders,
  logApplication,
  logFormat,
  makeTables,
  segmentTables,
  timestampsTable,
} from './log-tables.ts';

/** Thrown when `log.db` is not what its own head says: nothing may be written to it. */
export class BrokenLogError extends Error {
  override name = 'BrokenLogError';
}

/**
 * Makes the tables in an empty file. `logId` names the log for ever; it is part of every header. `key` seals its head.
 */
export function createLog(db: Sqlite, logId: string, key: string): void {
  const create = db.transaction(() => {
    makeTables(db, logFormat);
    const head = { log: logId, size: 0, root: emptyRoot, recordedAt: '' };
    putHead(db, head, macOf(sealKeyOf(key), head));
  });
  create.immediate();
}

/** A head without its seal. */
export type UnsealedHead = Omit<Head, 'mac'>;

/** Writes the head of a log. */
export function putHead(db: Sqlite, { log, size, root, recordedAt }: UnsealedHead, mac: Buffer): void {
  db.prepare('INSERT INTO head VALUES (?, ?, ?, ?, ?)').run(log, size, root, recordedAt, mac);
}

/** Thrown when the head of a log is not sealed by the key of the vault. */
export class UnsealedError extends BrokenLogError {
  override name = 'UnsealedError';
}

/**
 * @throws UnsealedError if the head of a log is not sealed by this vault; the message says what that means and what to
 * do.
 */
export function requireSealed({ key, sealed }: Seals, head: Head): void {
  if (!isSealed(key, head)) throw new UnsealedError(`${unsealed(sealed.includes(head.log))}; ${wayOut}`);
}

/** The advice for a log and a vault that do not fit together. */
export const wayOut =
  'put back the log.db and the vault.db of one backup; if this log is right as it is, ' +
  'annals rebuild --accept-foreign-writes --reason TEXT goes on with it';

/** Explains that a head is not sealed by the vault. @param isKnown whether the vault has sealed this log before. */
export function unsealed(isKnown: boolean): string {
  const who = isKnown
    ? 'somebody wrote to log.db who does not have it'
    : 'this vault.db is not the one of this log, or somebody wrote to log.db who does not have it';
  return `the head of log.db is not sealed by the key of vault.db: ${who}`;
}

/**
 * The fault of the seal of a log, as far as the vault knows; null for none.
 *
 * @param format the format of the log. Before 3 it has no seal; then the vault must know the log, and must not have
 * sealed it yet.
 */
export function sealFinding(format: number, head: Head, { key, sealed, known }: KnownSeals): string | null {
  if (format < 3) return againstUpgrade(format, [head], { sealed, known });
  return key !== null && isSealed(key, head) ? null : unsealed(sealed.includes(head.log));
}

/** Why a vault does not accept a log of an earlier format, which has no seal; null if it accepts the log. */
export function againstUpgrade(
  format: number,
  heads: readonly UnsealedHead[],
  { sealed, known }: Pick<Seals, 'sealed' | 'known'>,
): string | null {
  if (sealed.length > 0) return turnedBack(format, 'vault.db has sealed a log of format 3');
  if (heads.every(({ log }) => known.includes(log))) return null;
  return (
    `log.db has format ${format}, and vault.db does not know this log: this vault.db is not the one of this log, ` +
    'or somebody put another log.db there'
  );
}

/** Explains that a log claims an earlier format than it had. */
export function turnedBack(format: number, why: string): string {
  return `log.db has format ${format}, and ${why} before: an older log.db was put there, or somebody changed it`;
}

/** The format of a log that has an earlier format; null for any other file. */
export function earlierFormat(db: Sqlite): number | null {
  if (db.pragma('application_id', { simple: true }) !== logApplication) return null;
  const format = formatOf(db);
  return format >= 1 && format < logFormat ? format : null;
}

/**
 * Opens a log for reading. A log of an earlier format is shown in this format: without a seal, and with empty tables in
 * place of those that it lacks.
 */
export function openLogToRead(path: string, cacheMiB = 16): Sqlite {
  const db = openDatabase(path, { readonly: true, cacheMiB });
  try {
    const format = earlierFormat(db);
    if (format === null) return db;
    if (format < 3) db.exec('CREATE TEMP VIEW head AS SELECT log, size, root, recorded_at, NULL AS mac FROM main.head');
    const added = [addedTables, timestampsTable, segmentTables].slice(format - 1);
    db.exec(added.join('').replaceAll('CREATE TABLE', 'CREATE TEMP TABLE'));
    db.exec(formerHeaders);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Settles a commit whose sync failed. Its frame may be in the write-ahead log: a process that opens the log alone
 * recovers the frame; a process that shares the log with an earlier opener does not see it. The next write replaces an
 * unseen frame, and follows a seen one: so this writes something that changes nothing. For the only process that may
 * write the log, before it believes that something is not there.
 */
export function settleLog(db: Sqlite): void {
  const frames = statSync(`${db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (frames === 0) return;
  try {
    db.pragma(`user_version = ${formatOf(db)}`);
  } catch (error) {
    // An unseen frame leaves space for the frame that replaces it: so if the disk is full, no frame is unseen.
    if (!isDiskFull(error)) throw error;
  }
}

/**
 * Rewrites the write-ahead log of a log with what is read from it. After a failed sync its end may be in the memory of
 * the system alone, and no later sync writes it: a process that finds the end there and appends to it would lose all of
 * it in a power cut. For the only process that may write the log, before it opens it.
 */
export function renewWal(path: string): void {
  const wal = `${path}-wal`;
  if (!(statSync(wal, { throwIfNoEntry: false })?.size ?? 0)) return;
  const file = openSync(wal, 'r+');
  try {
    const bytes = Buffer.alloc(1024 * 1024);
    for (let at = 0; ; ) {
      const count = readSync(file, bytes, 0, bytes.length, at);
      if (count === 0) break;
      for (let done = 0; done < count; ) done += writeSync(file, bytes, done, count - done, at + done);
      at += count;
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Whether the file has the tables of a log. @throws BrokenLogError if it is something else or of a newer format. */
export function isLog(db: Sqlite): boolean {
  const empty = db.prepare('SELECT count(*) = 0 FROM main.sqlite_schema').pluck().get() === 1;
  if (empty) return false;
  if (db.pragma('application_id', { simple: true }) !== logApplication) {
    throw new BrokenLogError('log.db is not an Annals log');
  }
  const format = formatOf(db);
  if (format < 1 || format > logFormat) {
    throw new BrokenLogError(`log.db has format ${format}; this version of Annals reads formats 1 to ${logFormat}`);
  }
  return true;
}

/** The format that a log says it has. */
export function formatOf(db: Sqlite): number {
  return Number(db.pragma('user_version', { simple: true }));
}
