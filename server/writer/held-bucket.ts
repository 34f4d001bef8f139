import type { BlobSettings } from '../../storage/blobs.ts';
import { holding } from '../../storage/bucket/holder.ts';
import { type BucketSegments, openBucketSegments } from '../../storage/bucket/segments.ts';
import { directoryId } from '../../storage/data-directory.ts';

/** The bucket of the segments of a log, which one data directory at a time may change. */
export type HeldBucket = ReturnType<typeof openHeldBucket>;

type Options = {
  settings: Extract<BlobSettings, { kind: 'bucket' }>;
  /** The data directory. */
  directory: string;
  /** Resolves when the bucket is the one of this log. */
  ready: () => Promise<unknown>;
};

/** Opens the bucket when it is needed. */
export function openHeldBucket({ settings, directory, ready }: Options) {
  let opened: BucketSegments | null = null;
  let heldAt = Number.NaN;

  /** The bucket to read from. */
  async function toRead(): Promise<BucketSegments> {
    await ready();
    opened ??= openBucketSegments(settings);
    return opened;
  }

  return {
    toRead,
    /**
     * The bucket to change. Another data directory of this log, such as a restored backup, may have the same bucket
     * and need other objects.
     *
     * @throws BlobsUnavailableError if another data directory holds it.
     */
    async toChange(): Promise<BucketSegments> {
      const bucket = await toRead();
      const since = Date.now() - heldAt;
      if (since >= 0 && since < holding.renewal) return bucket;
      await bucket.hold(directoryId(directory));
      heldAt = Date.now();
      return bucket;
    },
    close: () => opened?.close(),
  };
}
