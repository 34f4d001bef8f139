import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type LogReader, readLog } from '../../events/log/log-reader.ts';
import { type LogTools, openLog, type SqliteLog } from '../../events/log/sqlite-log.ts';
import type { TreeHead } from '../../events/proof/proofs.ts';
import { contradiction } from '../../events/proof/seen-heads.ts';
import { requireSegments } from '../../events/segments/segments.ts';
import { BrokenLogError, UnsealedError } from '../../events/store/log-file.ts';
import type { SignedHead } from '../../events/vault/log-keys.ts';
import { requireAllEvents } from '../../events/verify/missing.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { lookInto } from './files.ts';
import type { ProjectionCheckpoint } from './projector.ts';

/**
 * A checkpoint of the log, and the name of the witness that has seen the log there: a read file, or the signing key.
 */
type SeenCheckpoint = ProjectionCheckpoint & { name: string };

/** `signed`: the heads that the keys of logs have signed. */
export type LogOpenOptions = LogTools & { directory: string; signed?: readonly SignedHead[] };

/**
 * Opens the log of a directory for appending, and compares it with all witnesses. If the log is not sealed either, the
 * finding of the witnesses comes first, for they know where it was altered.
 *
 * @throws BrokenLogError if it is damaged, or not the log that it was.
 */
export function openCheckedLog(db: Sqlite, { directory, ids, now, seals, signed }: LogOpenOptions): SqliteLog {
  try {
    const log = openLog(db, { ids, now, seals });
    checkAgainstSeen(directory, log, signed);
    requireAllEvents(db);
    requireSegments(db);
    return log;
  } catch (error) {
    if (error instanceof UnsealedError) checkAgainstSeen(directory, readLog(db), signed);
    throw error;
  }
}

/**
 * Compares the log of a directory with what its read files have seen of it, and with what the keys of logs have signed.
 *
 * @throws BrokenLogError if it is not that log any more.
 */
export function checkAgainstSeen(directory: string, log: LogReader, signed: readonly SignedHead[] = []): void {
  const own = signed.filter((head) => head.log === log.head().log);
  const bySigning = own.map(({ size, root }) => {
    return { name: 'the signing key', position: size, root: Buffer.from(root) };
  });
  const witnesses = [...checkpointsIn(directory), ...bySigning];
  checkAgainstReadFiles(witnesses, log, () => log.signedHeads(own.map(({ key }) => key)));
}

/** The checkpoints in the read files of a directory, whatever schema they were made for. */
export function checkpointsIn(directory: string): SeenCheckpoint[] {
  return readdirSync(directory)
    .filter((name) => /^read-[0-9a-f]+\.db$/.test(name))
    .flatMap((name) => {
      const checkpoint = checkpointOf(join(directory, name));
      return checkpoint ? [{ name, ...checkpoint }] : [];
    });
}

/**
 * Compares the log with the read files: each remembers a position and the root of the tree there. A log that is
 * shorter, or has another root, lost acknowledged writes, which SQLite itself cannot notice.
 *
 * @param signed gives heads that were signed: they narrow down which event was altered.
 * @throws BrokenLogError if it did.
 */
export function checkAgainstReadFiles(
  witnesses: readonly SeenCheckpoint[],
  log: LogReader,
  signed: () => readonly TreeHead[] = () => [],
): void {
  const { size } = log.head();
  const heads = witnesses.map(({ position, ...witness }) => ({ ...witness, size: position }));
  for (const head of heads) {
    const finding = contradiction({ size, rootAt: log.rootAt }, head, () => [...heads, ...signed()]);
    if (finding !== null) throw new BrokenLogError(finding);
  }
}

/** The checkpoint in a read file; null if the file is damaged, for then it is no witness. */
export function checkpointOf(path: string): ProjectionCheckpoint | null {
  return lookInto(path, (db) => {
    const rows = db.prepare<[], ProjectionCheckpoint>('SELECT position, root FROM checkpoint').all();
    return rows.length === 1 ? (rows[0] ?? null) : null;
  });
}
