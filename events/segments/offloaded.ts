import { hash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { ByteRange } from '../../storage/blobs.ts';
import { AlteredEventError } from '../store/altered.ts';
import { frameInFolder } from './offload-folder.ts';
import type { Frame } from './segment-file.ts';

/** Thrown if payloads cannot be read because their segment is missing or damaged. */
export class SegmentError extends AlteredEventError {
  override name = 'SegmentError';
}

/** A frame of a segment that only the bucket has; `path` is where the file of the segment was. */
export type OffloadedFrame = { path: string; frame: Frame };

/**
 * Thrown if only the bucket has the payloads, in a thread that does not wait for it. `retryAfterFetch` fetches the
 * missing frames; there are none if the whole segment is needed.
 */
export class SegmentOffloadedError extends Error {
  override name = 'SegmentOffloadedError';
  readonly missing: readonly OffloadedFrame[];

  constructor(missing: readonly OffloadedFrame[]) {
    super(`${missing.length} frames of segments of the log are in the bucket`);
    this.missing = missing;
  }
}

/** Thrown if the bucket does not answer with a segment now. */
export class SegmentUnreachableError extends Error {
  override name = 'SegmentUnreachableError';
}

/** The bucket that has segments of a log. Both functions throw SegmentUnreachableError, and give null for no object. */
type SegmentStore = {
  /** Reads a part of an object. */
  fetch: (file: string, range: ByteRange) => Promise<Buffer | null>;
  /** Reads a whole object and blocks the thread meanwhile; null in a thread that must not be blocked. */
  wait: ((file: string) => Buffer | null) | null;
};

const stores = new Map<string, SegmentStore>();

/** Tells this thread which bucket has segments of a folder. */
export function registerStore(folder: string, store: SegmentStore): void {
  stores.set(folder, store);
}

/** Whether this thread has been told which bucket has segments of a folder. */
export function hasStore(folder: string): boolean {
  return stores.has(folder);
}

/** Tells this thread that it neither fetches segments of a folder nor waits for them. */
export function refuseOffloaded(folder: string): void {
  registerStore(folder, {
    fetch: async () => {
      throw new SegmentUnreachableError('segments in the bucket are left alone here');
    },
    wait: null,
  });
}

/** The bucket of the folder of a segment. @throws SegmentError if this thread was not told which it is. */
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

/**
 * The frames that the running read has missed; null if a read is to throw at the first one. This is state of the module
 * because SQLite calls {@link readOffloadedFrame}, from within a statement: an argument would have to be a parameter of
 * every statement that reads payloads, and be bound at each read.
 */
let missed: OffloadedFrame[] | null = null;

/**
 * Reads, and goes on past the frames that only the bucket has, so that one error names all of them.
 *
 * @throws SegmentOffloadedError at the end if there were any.
 */
export function collectMissing<T>(read: () => T): T {
  const [found, outer] = [[] as OffloadedFrame[], missed];
  missed = found;
  try {
    const result = read();
    if (found.length > 0) throw new SegmentOffloadedError(found);
    return result;
  } finally {
    missed = outer;
  }
}

/** Reads without the frames that only the bucket has: their payloads are null, and the result is not whole. */
export function skipOffloaded<T>(read: () => T): { result: T; isWhole: boolean } {
  const [found, outer] = [[] as OffloadedFrame[], missed];
  missed = found;
  try {
    return { result: read(), isWhole: found.length === 0 };
  } finally {
    missed = outer;
  }
}

/**
 * The bytes of a frame of a segment that the bucket has; null within {@link collectMissing} and {@link skipOffloaded}
 * if they are not in the folder.
 *
 * @throws SegmentOffloadedError outside of both, in a thread that does not wait.
 */
export function readOffloadedFrame(path: string, frame: Frame): Buffer | null {
  const here = frameInFolder(path, frame.first);
  if (here) return here;
  if (storeOf(path).wait !== null) {
    const whole = readOffloadedSegment(path);
    return whole.subarray(frame.offset, frame.offset + frame.length);
  }
  if (!missed) throw new SegmentOffloadedError([{ path, frame }]);
  missed.push({ path, frame });
  return null;
}

/** The last segment that this thread has waited for: frames are read one after the other. */
let last: { path: string; bytes: Buffer } | null = null;

/**
 * All bytes of a segment that the bucket has.
 *
 * @throws SegmentOffloadedError in a thread that does not wait.
 */
export function readOffloadedSegment(path: string): Buffer {
  if (last?.path === path) return last.bytes;
  const { wait } = storeOf(path);
  if (wait === null) throw new SegmentOffloadedError([]);
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

/** Whether a finding says that a segment is missing: a part of the log cannot be read, and nothing is contradicted. */
export function isMissingSegment(finding: string): boolean {
  return /^the segment of events \d+ to \d+ of the log is (missing|in a bucket)\b/.test(finding);
}
