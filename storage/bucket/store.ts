import { PassThrough, pipeline } from 'node:stream';
import {
  BlobMissingError,
  type BlobSettings,
  type BlobStore,
  BlobsRefusedError,
  BlobsUnavailableError,
  isSha256,
} from '../blobs.ts';
import { notePassed } from '../garbage.ts';
import { bucketAnchors } from './anchors.ts';
import { connectBucket } from './connection.ts';
import { describeFailure, isBucketThere, isMissingBucket, isMissingObject, isTaken } from './errors.ts';
import { readObject, sendObject } from './objects.ts';
import { type Bucket, removeVersions } from './versions.ts';

type BucketSettings = Extract<BlobSettings, { kind: 'bucket' }>;

/**
 * The size of the largest file that fits into a bucket, in bytes: a file is sent in one request, and S3 allows no more.
 */
export const largestObject = 5 * 1024 ** 3;

/**
 * Opens a store that keeps files in a bucket of S3, each under its SHA-256, `ab/abcdef…`, as in a folder. A file is
 * sent in one request that is signed with its SHA-256, so the server refuses bytes that were altered on the way, and
 * stores either the whole object or nothing. A call whose connection is lost is repeated once. Anchored texts are in
 * `checkpoints/`.
 *
 * @param silence milliseconds without a byte from or to the server after which it counts as unreachable.
 * @throws BlobsRefusedError for an endpoint that cannot be one.
 */
export function openBucketStore(settings: BucketSettings, silence = 20_000): BlobStore {
  const { incoming, checkpointDays } = settings;
  const connected = connectBucket(settings, silence);
  const { client, bucket, what, call } = connected;
  const place = { ...connected, checkpointDays };

  return {
    incoming,
    async prepare(logId) {
      const owner = await call(() => readMarker(place));
      requireOwn(owner);
      // The marker is written even if it exists, so that keys without the right to write are found now. Of two
      // concurrent puts the server accepts one.
      const headers = owner === null ? { 'if-none-match': '*' } : {};
      const request = { method: 'PUT', bucketName: bucket, objectName: marker, headers };
      await call(() =>
        client.makeRequestAsyncOmit(request, logId).catch((error) => {
          if (!isTaken(error)) throw error;
        }),
      );
      if (owner === null) requireOwn(await call(() => readMarker(place)));

      function requireOwn(owner: string | null): void {
        if (owner === null || owner === logId) return;
        throw new BlobsRefusedError(`${what} holds the files of another log: ANNALS_S3_BUCKET must name another one`);
      }
    },
    async keep(file) {
      if (file.size > largestObject) {
        throw new BlobsRefusedError(`${what} takes files of up to ${largestObject} bytes, not one of ${file.size}`);
      }
      if ((await call(() => sizeOf(place, file.sha256))) !== file.size)
        await call(() => sendObject(place, keyOf(file.sha256), file));
    },
    async open(sha256, range) {
      const response = await call(() =>
        readObject(place, keyOf(sha256), range).catch((error) => {
          throw isMissingObject(error) ? new BlobMissingError(sha256) : error;
        }),
      );
      const body = new PassThrough();
      response.pause().on('data', ({ length }: Buffer) => notePassed(length));
      response.once('error', (error) => body.destroy(describeFailure(error, what)));
      return pipeline(response, body, () => {});
    },
    async size(sha256) {
      const size = await call(() => sizeOf(place, sha256));
      // For a missing bucket a server gives the same answer.
      if (size === null && !(await call(() => client.bucketExists(bucket)))) {
        throw new BlobsUnavailableError('unreachable', `${what} is gone`);
      }
      return size;
    },
    async *list() {
      for await (const { name, size } of connected.list('')) {
        const sha256 = name.slice(3);
        if (isSha256(sha256) && name === keyOf(sha256)) yield { sha256, size };
      }
    },
    ...bucketAnchors({ client, bucket, checkpointDays, what, call }),
    remove: (sha256) => call(() => removeVersions(place, keyOf(sha256))),
    close: connected.close,
  };
}

/** The options with which a missing bucket is made. */
type Making = { region: string; checkpointDays: number | undefined };

/** The object that names the log whose files a bucket holds. */
const marker = 'annals-log';

/** The name of a file's object. */
function keyOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`;
}

/** The id of the log whose files a bucket holds; null for a new one. A missing bucket is made. */
async function readMarker(place: Bucket & Making): Promise<string | null> {
  const { client, bucket, region, checkpointDays } = place;
  try {
    const response = await readObject(place, marker, { start: 0, end: 999 });
    return Buffer.concat(await response.toArray())
      .toString()
      .trim();
  } catch (error) {
    if (isMissingObject(error)) return null;
    if (!isMissingBucket(error)) throw error;
  }
  await client.makeBucket(bucket, region, checkpointDays ? { ObjectLocking: true } : {}).catch((error) => {
    if (!isBucketThere(error)) throw error;
  });
  return null;
}

/** The size of a file in bytes; null if the bucket does not have it. */
async function sizeOf({ client, bucket }: Bucket, sha256: string): Promise<number | null> {
  try {
    const { size } = await client.statObject(bucket, keyOf(sha256));
    return size;
  } catch (error) {
    if (isMissingObject(error)) return null;
    throw error;
  }
}
