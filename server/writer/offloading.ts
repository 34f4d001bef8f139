import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { makeOffloadFolder, namesIn, offloadedFile, offloadFolder } from '../../events/segments/offload-folder.ts';
import { strayObjects, syncFolderNow } from '../../events/segments/segment-writer.ts';
import { isSegmentName, segmentFolder } from '../../events/segments/segments.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { holding } from '../../storage/bucket/holder.ts';
import { messageOf } from '../../storage/errors.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { openHeldBucket } from './held-bucket.ts';
import { offloadOldest } from './offload-oldest.ts';
import { openSerialQueue } from './serial-queue.ts';

/** Moves segments of a log into the bucket; in the main thread. */
export type Offloading = {
  /** Moves segments if those in the data directory have more bytes than are to stay. */
  wake: () => void;
  /**
   * Notes the objects of the bucket that the data directory does not tell of, if segments are moved there.
   *
   * @throws BlobsUnavailableError, BlobsRefusedError.
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

type Bucket = Extract<BlobSettings, { kind: 'bucket' }>;

const retryMilliseconds = 60_000;
const closeMilliseconds = 5000;

/** Opens the offloading. Without a bucket it does nothing; without a limit of bytes it only lists the bucket. */
export function openOffloading({ blobs, ...options }: Options): Offloading {
  if (blobs.kind === 'bucket') return openOffloadingTo(blobs, options);
  return { wake() {}, findObjects: async () => {}, removeObjects: async () => {}, async close() {} };
}

function openOffloadingTo(settings: Bucket, { file, ready, log }: Omit<Options, 'blobs'>): Offloading {
  const bucket = openHeldBucket({ settings, directory: dirname(file), ready });
  const queue = openSerialQueue();
  const folder = segmentFolder(file);
  const most = settings.localRetentionBytes ?? Number.POSITIVE_INFINITY;
  let isWanted = false;
  let isClosed = false;
  let isNoted = false;
  let logged = '';
  let timer: NodeJS.Timeout | undefined;

  function wake(): void {
    if (isWanted || isClosed) return;
    isWanted = true;
    queue.run(work).catch((error) => {
      if (isClosed) return;
      const why = messageOf(error);
      if (logged !== why) log.warn(`no segment of the log is moved into the bucket, nor removed there: ${why}`);
      logged = why;
      clearTimeout(timer);
      timer = setTimeout(wake, retryMilliseconds).unref();
    });
  }

  async function work(): Promise<void> {
    isWanted = false;
    await noteObjects();
    if (mayHaveObjects()) await bucket.toChange();
    const hasMore = await offloadOldest({ file, bucket, most, isClosed: () => isClosed });
    logged = '';
    // Queued again, so that an erasure may come in between.
    if (hasMore) wake();
  }

  /**
   * Makes a folder for each object, so that an erasure finds it; once, because only a restore or a kill leaves objects
   * without one.
   */
  async function noteObjects(): Promise<void> {
    if (isNoted) return;
    const { list } = await bucket.toRead();
    const paths = (await list()).filter((name) => isSegmentName(name)).map((name) => join(folder, name));
    for (const path of paths) makeOffloadFolder(path);
    if (paths.length > 0) syncFolderNow(folder);
    isNoted = true;
  }

  function mayHaveObjects(): boolean {
    return most < Number.POSITIVE_INFINITY || namesIn(folder).some((name) => offloadedFile(name) !== null);
  }

  async function removeObjects(): Promise<void> {
    for (const stray of withDatabase(file, { readonly: true, cacheMiB: 1 }, strayObjects)) {
      const { remove } = await bucket.toChange();
      await remove(stray);
      rmSync(offloadFolder(join(folder, stray)), { recursive: true, force: true });
      syncFolderNow(folder);
    }
  }

  // The bucket stays held while nothing is moved.
  const renewing = setInterval(wake, holding.renewal).unref();

  return {
    wake,
    async findObjects() {
      if (!isNoted && most < Number.POSITIVE_INFINITY) await queue.run(noteObjects);
    },
    removeObjects: () => queue.run(removeObjects),
    async close() {
      isClosed = true;
      clearInterval(renewing);
      clearTimeout(timer);
      bucket.close();
      await queue.ended(closeMilliseconds);
    },
  };
}
