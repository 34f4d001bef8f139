import { createRequire } from 'node:module';
import { PassThrough, pipeline } from 'node:stream';
import type { Client, ClientOptions } from 'minio';
import {
  BlobMissingError,
  type BlobSettings,
  type BlobStore,
  BlobsRefusedError,
  BlobsUnavailableError,
  isSha256,
} from './blobs.ts';
import { bucketAnchors } from './bucket-anchors.ts';
import { describeFailure, isConnectionLost, isMissingObject } from './bucket-errors.ts';
import { keyOf, marker, readMarker, readObject, sendFile, sizeOf } from './bucket-objects.ts';
import { connectTo } from './bucket-transport.ts';
import { removeVersions } from './bucket-versions.ts';
import { messageOf } from './errors.ts';
import { notePassed } from './garbage.ts';

const require = createRequire(import.meta.url);

type BucketSettings = Extract<BlobSettings, { kind: 'bucket' }>;

/** The bytes of the largest file that a bucket takes: it goes out in one request, and S3 allows no more in one. */
export const largestObject = 5 * 1024 ** 3;

/**
 * Keeps files in a bucket of S3: `ab/abcdef…`, each under its SHA-256, as the folder has them. A file goes out in one
 * request that is signed with its SHA-256, so the server refuses bytes that were altered on the way, and has either the
 * whole object or none. A call whose connection is lost is made a second time. Anchored texts are in `checkpoints/`.
 *
 * @param silence milliseconds without a byte from or to the server after which it counts as unreachable.
 * @throws BlobsRefusedError for an endpoint that cannot be one.
 */
export function openBucketStore(settings: BucketSettings, silence = 20_000): BlobStore {
  const { incoming, endpoint, bucket, region, checkpointDays } = settings;
  const { transport, agent } = connectTo(endpoint, silence);
  const client = openClient(settings, { transport, transportAgent: agent });
  const what = `the bucket ${bucket} at ${endpoint}`;
  const place = { client, bucket, what, region, checkpointDays };

  async function call<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request().catch((error) => {
        // One that was kept open may have been closed by the server in this very moment.
        if (isConnectionLost(error)) return request();
        throw error;
      });
    } catch (error) {
      throw describeFailure(error, what);
    }
  }

  return {
    incoming,
    async prepare(logId) {
      const owner = await call(() => readMarker(place));
      if (owner !== null && owner !== logId) {
        throw new BlobsRefusedError(`${what} holds the files of another log: ANNALS_S3_BUCKET must name another one`);
      }
      // Written also where it exists, to find out now about keys that may not write.
      const request = { method: 'PUT', bucketName: bucket, objectName: marker };
      await call(() => client.makeRequestAsyncOmit(request, logId));
    },
    async keep(file) {
      if (file.size > largestObject) {
        throw new BlobsRefusedError(`${what} takes files of up to ${largestObject} bytes, not one of ${file.size}`);
      }
      if ((await call(() => sizeOf(place, file.sha256))) !== file.size) await call(() => sendFile(place, file));
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
      // A server says the same of a missing bucket.
      if (size === null && !(await call(() => client.bucketExists(bucket)))) {
        throw new BlobsUnavailableError('unreachable', `${what} is gone`);
      }
      return size;
    },
    async *list() {
      let next = '';
      do {
        const from = next;
        const page = await call(() => client.listObjectsV2Query(bucket, '', from, '', 1000, ''));
        for (const { name = '', size = 0 } of page.objects) {
          const sha256 = name.slice(3);
          if (isSha256(sha256) && name === keyOf(sha256)) yield { sha256, size };
        }
        next = page.isTruncated ? page.nextContinuationToken : '';
      } while (next !== '');
    },
    ...bucketAnchors({ client, bucket, checkpointDays, what, call }),
    remove: (sha256) => call(() => removeVersions(place, keyOf(sha256))),
    close: () => agent.destroy(),
  };
}

/** The client of a bucket. @throws BlobsRefusedError for an endpoint that cannot be one. */
export function openClient(
  settings: Omit<BucketSettings, 'kind' | 'incoming' | 'bucket'>,
  options: Pick<ClientOptions, 'transport' | 'transportAgent'>,
): Client {
  // Loaded only for a bucket: it takes 30 MB and 0.1 s in every thread.
  const minio: typeof import('minio') = require('minio');
  const { protocol, hostname, port } = new URL(settings.endpoint);
  try {
    const client = new minio.Client({
      ...options,
      endPoint: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      useSSL: protocol === 'https:',
      accessKey: settings.accessKey,
      secretKey: settings.secretKey,
      region: settings.region,
      pathStyle: settings.pathStyle,
      // A stream cannot be sent a second time.
      retryOptions: { disableRetry: true },
    });
    // Off with TLS, but nothing else has the server check that it got the bytes that it is to keep.
    client.enableSHA256 = true;
    return client;
  } catch (error) {
    throw new BlobsRefusedError(`ANNALS_S3_ENDPOINT is wrong: ${messageOf(error)}`);
  }
}
