import { hash } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isOffloaded, makeOffloadFolder, markOffloaded, offloadFolder } from '../../events/segments/offload-folder.ts';
import { indexBytes, readIndex } from '../../events/segments/segment-file.ts';
import { syncFolderNow } from '../../events/segments/segment-writer.ts';
import { type Segment, segmentFolder, segmentsOf } from '../../events/segments/segments.ts';
import { codeOf } from '../../storage/errors.ts';
import { type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import type { HeldBucket } from './held-bucket.ts';

type Offload = {
  /** The path of the log. */
  file: string;
  bucket: HeldBucket;
  /** The most bytes of segments that stay in the data directory. */
  most: number;
  isClosed: () => boolean;
};

/** Moves the oldest segment that is not to stay into the bucket. @returns whether there may be more. */
export async function offloadOldest(offload: Offload): Promise<boolean> {
  const { file: log, most, isClosed } = offload;
  const folder = segmentFolder(log);
  const here = readIn(log, segmentsOf).filter(({ file }) => statSync(join(folder, file), { throwIfNoEntry: false }));
  const held = here.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const segment of here) {
    if (held <= most || isClosed()) return false;
    const path = join(folder, segment.file);
    if (!isOffloaded(path) && !(await send(offload, segment, path))) continue;
    // A segment that was rewritten meanwhile is removed with its object, when no reader knows it any more.
    if (!isCurrent(log, segment)) continue;
    rmSync(path, { force: true });
    syncFolderNow(folder);
    return true;
  }
  return false;
}

/** Sends a segment, and reads it back. @returns false if the segment was rewritten meanwhile. */
async function send({ file: log, bucket }: Offload, segment: Segment, path: string): Promise<boolean> {
  const { file, bytes, sha256 } = segment;
  // From here on an erasure looks for the object too.
  makeOffloadFolder(path);
  syncFolderNow(segmentFolder(log));
  const own = isCurrent(log, segment) ? await readOrNull(path) : null;
  // The folder stays for the next erasure, which removes it.
  if (own === null) return false;
  if (!hash('sha256', own, 'buffer').equals(sha256))
    throw new Error(`segments/${file} was altered: run "annals verify"`);
  const held = await bucket.toChange();
  await held.send(file, { path, size: bytes, sha256: sha256.toString('hex') });
  const found = await held.read(file);
  if (!found || !hash('sha256', found, 'buffer').equals(sha256))
    throw new Error(`the bucket does not give back what was put there as segments/${file}`);
  markOffloaded(path, own.subarray(0, indexBytes(own)), framesOfStart(log, segment, own));
  syncFolderNow(offloadFolder(path));
  return true;
}

/** The frames that each start and each proof reads: with events of the service's own streams, or erased events. */
function framesOfStart(log: string, { first, last }: Segment, own: Buffer) {
  const select = `SELECT position FROM events WHERE stream >= 'system/' AND stream < 'system0' AND +position BETWEEN @first AND @last
    UNION SELECT position FROM erasures WHERE position BETWEEN @first AND @last`;
  const positions = readIn(log, (db) =>
    db.prepare<{ first: number; last: number }, number>(select).pluck().all({ first, last }),
  );
  const isRead = (from: number, count: number) => positions.some((at) => at >= from && at < from + count);
  return readIndex(own)
    .frames.filter((frame) => isRead(frame.first, frame.count))
    .map(({ first, offset, length }) => ({ first, bytes: own.subarray(offset, offset + length) }));
}

function isCurrent(log: string, { first, file }: Segment): boolean {
  const select = 'SELECT file FROM segments WHERE first = ?';
  return readIn(log, (db) => db.prepare<[number], string>(select).pluck().get(first)) === file;
}

function readIn<T>(log: string, run: (db: Sqlite) => T): T {
  return withDatabase(log, { readonly: true, cacheMiB: 1 }, run);
}

async function readOrNull(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
