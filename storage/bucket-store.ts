import { open } from 'node:fs/promises';
import type * as http from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { PassThrough, pipeline } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Client, ClientOptions } from 'minio';
import {
  BlobMissingError,
  type BlobSettings,
  type BlobStore,
  BlobsRefusedError,
  BlobsUnavailableError,
  type ByteRange,
  isSha256,
  type ReceivedFile,
} from './blobs.ts';
import { bucketAnchors } from './bucket-anchors.ts';
import { describeFailure, isBucketThere, isConnectionLost, isMissingBucket, isMissingObject } from './bucket-errors.ts';
import { type Bucket, removeVersions } from './bucket-versions.ts';
import { onDisk } from './disk.ts';
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

/** How a bucket is made where it is missing. */
type Making = { region: string; checkpointDays?: number | undefined };

/** The object that names the log whose files a bucket holds. */
const marker = 'annals-log';

/** The name of a file's object. */
function keyOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`;
}

/** Begins to read an object. */
async function readObject({ client, bucket }: Bucket, objectName: string, range?: ByteRange): Promise<IncomingMessage> {
  const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {};
  const request = { method: 'GET', bucketName: bucket, objectName, headers };
  const response = await client.makeRequestAsync(request, '', [200, 206]);
  if (response.statusCode === (range ? 206 : 200)) return response;
  response.destroy();
  throw new Error(`it answered ${response.statusCode} to ${range ? 'a range of a file' : 'a whole file'}`);
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

/** The bytes of a file; null for one that the bucket does not have. */
async function sizeOf({ client, bucket }: Bucket, sha256: string): Promise<number | null> {
  try {
    const { size } = await client.statObject(bucket, keyOf(sha256));
    return size;
  } catch (error) {
    if (isMissingObject(error)) return null;
    throw error;
  }
}

/** Sends a file, in one request. */
async function sendFile(
  { client, bucket, region }: Bucket & Making,
  { path, size, sha256 }: ReceivedFile,
): Promise<void> {
  const file = await onDisk(open(path));
  const body = file
    .createReadStream({ highWaterMark: 64 * 1024 })
    .pause()
    .on('data', ({ length }) => notePassed(length));
  try {
    const headers = { 'content-length': size, 'content-type': 'application/octet-stream' };
    const request = { method: 'PUT', bucketName: bucket, objectName: keyOf(sha256), headers };
    const response = await client.makeRequestStreamAsync(request, body, sha256, [200], region);
    await finished(response.resume());
  } finally {
    // A file that was refused in the middle is not sent to its end.
    body.destroy();
    await file.close();
  }
}

/** How requests reach a server; `agent` keeps the connections. */
type Transport = { transport: Pick<typeof http, 'request'>; agent: http.Agent };

/**
 * Requests to a server that give up when nothing was heard of it for a while, at any time: while connecting, in the middle of
 * what is sent or read, and for the answer. A reader that takes its time is not the server's silence.
 *
 * @param endpoint like `https://s3.example.org:9000`.
 * @param silence milliseconds.
 */
export function connectTo(endpoint: string, silence: number): Transport {
  // Loaded when there is a bucket: as imports they cost every start, and node:http would load all of fetch with it.
  const { request, Agent } = process.getBuiltinModule(endpoint.startsWith('https:') ? 'node:https' : 'node:http');
  const agent = new Agent({ keepAlive: true, timeout: silence });

  function start(options: http.RequestOptions, onResponse: (response: http.IncomingMessage) => void) {
    const sent = request(options, (response) => {
      received = response;
      const { statusCode = 0 } = response;
      if (isFault(statusCode)) sent.destroy(new Error(`it answered ${statusCode}`));
      else onResponse(response);
    });
    let received: http.IncomingMessage | undefined;
    sent.on('timeout', () => {
      if (received && received.readableLength > 0) sent.socket?.setTimeout(silence);
      else (received ?? sent).destroy(new Error(`it was silent for ${silence / 1000} s`));
    });
    return sent;
  }

  return { transport: { request: start as typeof http.request }, agent };
}

/** Answers that the client would say less about, leaving them unread and their connection open. */
function isFault(status: number): boolean {
  return status === 408 || status === 429 || status === 499 || (status >= 500 && status !== 501 && status !== 507);
}
