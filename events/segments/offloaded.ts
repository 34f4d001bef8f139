import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { ByteRange } from '../../storage/blobs.ts';
import { codeOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';
import { AlteredEventError } from '../store/altered.ts';
import type { Frame } from './segment-file.ts';

/** Thrown where payloads cannot be read since their segment is missing or damaged. */
export class SegmentError extends AlteredEventError {
  override name = 'SegmentError';
}

/** A frame of a segment whose file is in the bucket alone; `path` is where the file was. */
export type AwayFrame = { path: string; frame: Frame };

/** Thrown where payloads are in the bucket, in a thread that does not wait for it: {@link whenHere} fetches them. */
export class SegmentAwayError extends Error {
  override name = 'SegmentAwayError';
  readonly missing: readonly AwayFrame[];

  constructor(missing: readonly AwayFrame[]) {
    super(`${missing.length} frames of segments of the log are in the bucket`);
    this.missing = missing;
  }
}

/** Thrown where the bucket does not give a segment now. */
export class SegmentUnreachableError extends Error {
  override name = 'SegmentUnreachableError';
}

/**
 * The bucket that has segments of a log. Each throws SegmentUnreachableError, and null stands for an object that is not
 * there.
 */
export type SegmentStore = {
  fetch: (file: string, range: ByteRange) => Promise<Buffer | null>;
  /** Reads a whole object while the thread stands still; null in a thread that has to answer meanwhile. */
  wait: ((file: string) => Buffer | null) | null;
};

const stores = new Map<string, SegmentStore>();

/** Says in this thread which bucket has segments of a folder. */
export function knowStore(folder: string, store: SegmentStore): void {
  stores.set(folder, store);
}

/** Whether this thread has been told of a bucket for a folder of segments. */
export function knowsStore(folder: string): boolean {
  return stores.has(folder);
}

/**
 * The folder beside the place of a segment's file which says that the bucket may have it. It is made before the file is
 * sent, and removed after the object is. It has `index`, the beginning of the file, once the object has been read back;
 * the frames of events that each start reads; and frames that were fetched.
 */
export function awayFolder(path: string): string {
  return `${path}.away`;
}

/** The file of a segment whose folder has this name; null for another name. */
export function awayFile(name: string): string | null {
  return name.endsWith('.seg.away') ? name.slice(0, -'.away'.length) : null;
}

const indexFile = 'index';
/** The name of a frame that was fetched. */
export const fetchedFrame = (first: number) => `${first}.fetched`;
const keptFrame = (first: number) => `${first}.kept`;

/** Whether a segment has arrived in the bucket, so that its file may be removed here. */
export function isAway(path: string): boolean {
  return existsSync(join(awayFolder(path), indexFile));
}

/** Notes that a segment has arrived in the bucket. @param kept frames that stay here. */
export function noteAway(path: string, index: Buffer, kept: readonly { first: number; bytes: Buffer }[]): void {
  const folder = awayFolder(path);
  for (const { first, bytes } of kept) writeWhole(join(folder, keptFrame(first)), bytes);
  writeWhole(join(folder, indexFile), index);
}

/** The beginning of the file of a segment that is in the bucket; null for one that is not. */
export function awayIndex(path: string): Buffer | null {
  return readOrNull(join(awayFolder(path), indexFile));
}

let gathered: AwayFrame[] | null = null;

/**
 * Reads, and goes on where frames are away, to name them all at once.
 *
 * @throws SegmentAwayError at the end, if there were any: what was read is not whole.
 */
export function gathering<T>(read: () => T): T {
  const [found, outer] = [[] as AwayFrame[], gathered];
  gathered = found;
  try {
    const result = read();
    if (found.length > 0) throw new SegmentAwayError(found);
    return result;
  } finally {
    gathered = outer;
  }
}

/** Reads without the frames that are away: what they hold is null, and the result is not whole. */
export function leavingOut<T>(read: () => T): { result: T; isWhole: boolean } {
  const found: AwayFrame[] = [];
  gathered = found;
  try {
    return { result: read(), isWhole: found.length === 0 };
  } finally {
    gathered = null;
  }
}

/** Says that this thread neither fetches segments of a folder nor waits for them. */
export function leaveAway(folder: string): void {
  knowStore(folder, {
    fetch: async () => {
      throw new SegmentUnreachableError('segments in the bucket are left alone here');
    },
    wait: null,
  });
}

/** The bytes of a frame of a segment that is in the bucket; null while {@link gathering}. */
export function awayFrame(path: string, frame: Frame): Buffer | null {
  const folder = awayFolder(path);
  const here = readOrNull(join(folder, keptFrame(frame.first))) ?? readOrNull(join(folder, fetchedFrame(frame.first)));
  if (here) return here;
  if (storeOf(path).wait !== null) {
    const whole = awayWhole(path);
    return whole.subarray(frame.offset, frame.offset + frame.length);
  }
  if (!gathered) throw new SegmentAwayError([{ path, frame }]);
  gathered.push({ path, frame });
  return null;
}

/** The last segment that this thread has waited for: they are read one after the other. */
let last: { path: string; bytes: Buffer } | null = null;

/**
 * All bytes of a segment that is in the bucket.
 *
 * @throws SegmentAwayError in a thread that does not wait.
 */
export function awayWhole(path: string): Buffer {
  if (last?.path === path) return last.bytes;
  const { wait } = storeOf(path);
  if (wait === null) throw new SegmentAwayError([]);
  const bytes = wait(basename(path));
  if (bytes === null) throw new SegmentError(`${whichSegment(path)} is missing in the bucket`);
  if (!basename(path, '.seg').endsWith(hash('sha256', bytes, 'hex').slice(0, 16)))
    throw new SegmentError(`${whichSegment(path)} was altered in the bucket: segments/${basename(path)}`);
  last = { path, bytes };
  return bytes;
}

/** Names a segment by its events. */
export function whichSegment(path: string): string {
  const [, from, to] = /(\d+)-(\d+)-[\da-f]{16}\.seg$/.exec(path) ?? [];
  return `the segment of events ${Number(from)} to ${Number(to)} of the log`;
}

/**
 * Whether a finding is that a segment cannot be had: a part of the log is missing then, and nothing contradicts the
 * rest.
 */
export function isMissingSegment(finding: string): boolean {
  return /^the segment of events \d+ to \d+ of the log is (missing|in a bucket)\b/.test(finding);
}

/** The bucket of a segment's folder. @throws SegmentError where this thread was not told of one. */
export function storeOf(path: string): SegmentStore {
  const store = stores.get(dirname(path));
  if (store) return store;
  throw unnamedBucket(path);
}

/** The error of a segment in a bucket that the settings do not name. */
export function unnamedBucket(path: string): SegmentError {
  return new SegmentError(
    `${whichSegment(path)} is in a bucket, and ANNALS_S3_ENDPOINT and the others do not say which`,
  );
}

/** The names in a folder; none of a missing one. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Empties a folder of what was fetched, and of what says that the object is whole. */
export function emptyAwayFolder(folder: string): void {
  for (const name of namesIn(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Makes the folder of a segment that is about to be sent. */
export function makeAwayFolder(path: string): void {
  mkdirSync(awayFolder(path), { recursive: true, mode: 0o700 });
}

/** A file that is there is whole: other threads and processes read it. */
export function writeWhole(path: string, bytes: Buffer): void {
  const partial = `${path}.${process.pid}-${threadId}.partial`;
  writeFileSync(partial, bytes, { mode: privateFile, flush: true });
  renameSync(partial, path);
}

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}
