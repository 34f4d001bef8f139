import { hash } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import {
  isOffloaded,
  makeOffloadFolder,
  markOffloaded,
  namesIn,
  offloadedFile,
  offloadFolder,
} from '../../events/segments/offload-folder.ts';
import { indexBytes, readIndex } from '../../events/segments/segment-file.ts';
import { strayObjects, syncFolderNow } from '../../events/segments/segment-writer.ts';
import { isSegmentName, type Segment, segmentFolder, segmentsOf } from '../../events/segments/segments.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { holding } from '../../storage/bucket/holder.ts';
import { type BucketSegments, openBucketSegments } from '../../storage/bucket/segments.ts';
import { directoryId } from '../../storage/data-directory.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { type Sqlite, withDatabase } from '../../storage/sqlite.ts';

/** Moves segments of a log into the bucket of its files; in the main thread. */
export type Moving = {
  /** Looks whether the files of segments here have more bytes than are to stay. */
  wake: () => void;
  /**
   * Looks for objects that nothing here tells of, where segments are moved. @throws BlobsUnavailableError,
   * BlobsRefusedError.
   */
  findObjects: () => Promise<void>;
  /** Removes the objects of former segments. @throws BlobsUnavailableError, BlobsRefusedError. */
  removeObjects: () => Promise<void>;
  close: () => Promise<void>;
};

type Options = {
  /** The path of the log. */
  file: string;
  blobs: BlobSettings;
  /** Resolves when the bucket is the one of this log. */
  ready: () => Promise<unknown>;
  log: Logger;
};

const retryMilliseconds = 60_000;
const closeMilliseconds = 5000;

/**
 * Opens it. Without a bucket it does nothing; without a bound for what stays here it only looks what the bucket has.
 */
export function openOffloading({ file, blobs, ready, log }: Options): Moving {
  if (blobs.kind !== 'bucket')
    return { wake() {}, findObjects: async () => {}, removeObjects: async () => {}, async close() {} };
  const bucket = blobs;
  const most = blobs.localRetentionBytes ?? Number.POSITIVE_INFINITY;
  const folder = segmentFolder(file);
  let opened: BucketSegments | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let isWanted = false;
  let isClosed = false;
  let isNoted = false;
  let heldAt = Number.NaN;
  let told = '';
  let timer: NodeJS.Timeout | undefined;
  const read = <T>(run: (db: Sqlite) => T) => withDatabase(file, { readonly: true, cacheMiB: 1 }, run);

  function queue<T>(run: () => Promise<T>): Promise<T> {
    const next = last.then(run);
    last = next.catch(() => {});
    return next;
  }

  async function objects(): Promise<BucketSegments> {
    await ready();
    opened ??= openBucketSegments(bucket);
    return opened;
  }

  /**
   * For changes. Another data directory of this log, such as a restored backup, may have the same bucket, and needs
   * other objects.
   */
  async function heldBucket(): Promise<BucketSegments> {
    const bucket = await objects();
    const since = Date.now() - heldAt;
    if (since >= 0 && since < holding.renewal) return bucket;
    await bucket.hold(directoryId(dirname(file)));
    heldAt = Date.now();
    return bucket;
  }

  function wake(): void {
    if (isWanted || isClosed) return;
    isWanted = true;
    queue(async () => {
      isWanted = false;
      await noteObjects();
      if (mayHaveObjects()) await heldBucket();
      const hasMore = await moveOne();
      told = '';
      // An erasure may have its turn in between.
      if (hasMore) wake();
    }).catch((error) => {
      if (isClosed) return;
      const why = messageOf(error);
      if (told !== why) log.warn(`no segment of the log is moved into the bucket, nor removed there: ${why}`);
      told = why;
      clearTimeout(timer);
      timer = setTimeout(wake, retryMilliseconds).unref();
    });
  }

  /**
   * Once: after a restore, or a kill, the bucket may have objects that nothing here tells of. An erasure must find
   * them.
   */
  async function noteObjects(): Promise<void> {
    if (isNoted) return;
    const { list } = await objects();
    const unknown = (await list()).filter((name) => isSegmentName(name)).map((name) => join(folder, name));
    for (const path of unknown) makeOffloadFolder(path);
    if (unknown.length > 0) syncFolderNow(folder);
    isNoted = true;
  }

  function mayHaveObjects(): boolean {
    return most < Number.POSITIVE_INFINITY || namesIn(folder).some((name) => offloadedFile(name) !== null);
  }

  /** Moves the oldest segment that is not to stay. @returns whether there may be more. */
  async function moveOne(): Promise<boolean> {
    const here = read(segmentsOf).filter(({ file }) => statSync(join(folder, file), { throwIfNoEntry: false }));
    const held = here.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const segment of here) {
      if (held <= most || isClosed) return false;
      const path = join(folder, segment.file);
      if (!isOffloaded(path) && !(await send(segment, path))) continue;
      // One that was written anew meanwhile is removed with its object, when no reader knows of it.
      if (!isCurrent(segment)) continue;
      rmSync(path, { force: true });
      syncFolderNow(folder);
      return true;
    }
    return false;
  }

  function isCurrent({ first, file }: Segment): boolean {
    const select = 'SELECT file FROM segments WHERE first = ?';
    return read((db) => db.prepare<[number], string>(select).pluck().get(first)) === file;
  }

  /** @returns false for a segment that was written anew meanwhile. */
  async function send(segment: Segment, path: string): Promise<boolean> {
    const { file, bytes, sha256 } = segment;
    // From here on an erasure looks for the object too.
    makeOffloadFolder(path);
    syncFolderNow(folder);
    const own = isCurrent(segment) ? await readOrNull(path) : null;
    if (own === null) {
      // The next erasure removes the folder, where it is not empty.
      return false;
    }
    if (!hash('sha256', own, 'buffer').equals(sha256))
      throw new Error(`segments/${file} was altered: run "annals verify"`);
    const { send, read: readBack } = await heldBucket();
    await send(file, { path, size: bytes, sha256: sha256.toString('hex') });
    const found = await readBack(file);
    if (!found || !hash('sha256', found, 'buffer').equals(sha256))
      throw new Error(`the bucket does not give back what was put there as segments/${file}`);
    markOffloaded(path, own.subarray(0, indexBytes(own)), framesOfStart(segment, own));
    syncFolderNow(offloadFolder(path));
    return true;
  }

  /** The frames that each start reads, and each proof: of the service's own streams, and of what was erased. */
  function framesOfStart({ first, last }: Segment, own: Buffer) {
    const positions = read((db) =>
      db
        .prepare<{ first: number; last: number }, number>(
          `SELECT position FROM events WHERE stream >= 'system/' AND stream < 'system0' AND +position BETWEEN @first AND @last
           UNION SELECT position FROM erasures WHERE position BETWEEN @first AND @last`,
        )
        .pluck()
        .all({ first, last }),
    );
    const isRead = (from: number, count: number) => positions.some((at) => at >= from && at < from + count);
    return readIndex(own)
      .frames.filter((frame) => isRead(frame.first, frame.count))
      .map(({ first, offset, length }) => ({ first, bytes: own.subarray(offset, offset + length) }));
  }

  // It goes on being held while nothing is moved.
  const renewing = setInterval(wake, holding.renewal).unref();

  return {
    wake,
    async findObjects() {
      if (!isNoted && most < Number.POSITIVE_INFINITY) await queue(noteObjects);
    },
    removeObjects: () =>
      queue(async () => {
        for (const stray of read(strayObjects)) {
          const { remove } = await heldBucket();
          await remove(stray);
          rmSync(offloadFolder(join(folder, stray)), { recursive: true, force: true });
          syncFolderNow(folder);
        }
      }),
    async close() {
      isClosed = true;
      clearInterval(renewing);
      clearTimeout(timer);
      opened?.close();
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, closeMilliseconds).unref())]);
    },
  };
}

async function readOrNull(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
