import { open } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { BlobSettings, ByteRange, ReceivedFile } from './blobs.ts';
import { describeFailure, isConnectionLost, isMissingObject } from './bucket-errors.ts';
import { connectTo, openClient } from './bucket-store.ts';
import { removeVersions } from './bucket-versions.ts';
import { onDisk } from './disk.ts';

/** The segments of a log in its bucket: `segments/…`, each under the name of its file. */
export type BucketSegments = {
  /** Puts the file of a segment there, as a whole or not at all. */
  send: (name: string, file: ReceivedFile) => Promise<void>;
  /** Reads an object, or a part of it; null for a missing one. */
  read: (name: string, range?: ByteRange) => Promise<Buffer | null>;
  /** The names of all. */
  list: () => Promise<string[]>;
  /** Removes an object with all its versions. @throws BlobHeldError when one stays. */
  remove: (name: string) => Promise<void>;
  close: () => void;
};

/**
 * Opens the segments in a bucket.
 *
 * @param silence milliseconds without a byte from or to the server after which it counts as unreachable.
 */
export function openBucketSegments(
  settings: Extract<BlobSettings, { kind: 'bucket' }>,
  silence = 20_000,
): BucketSegments {
  const { endpoint, bucket, region } = settings;
  const { transport, agent } = connectTo(endpoint, silence);
  const client = openClient(settings, { transport, transportAgent: agent });
  const what = `the bucket ${bucket} at ${endpoint}`;

  async function call<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request().catch((error) => {
        if (isConnectionLost(error)) return request();
        throw error;
      });
    } catch (error) {
      throw describeFailure(error, what);
    }
  }

  async function put(objectName: string, { path, size, sha256 }: ReceivedFile): Promise<void> {
    const file = await onDisk(open(path));
    const body = file.createReadStream({ highWaterMark: 64 * 1024 });
    try {
      const headers = { 'content-length': size, 'content-type': 'application/octet-stream' };
      const request = { method: 'PUT', bucketName: bucket, objectName, headers };
      const response = await client.makeRequestStreamAsync(request, body, sha256, [200], region);
      await finished(response.resume());
    } finally {
      body.destroy();
      await file.close();
    }
  }

  async function get(objectName: string, range?: ByteRange): Promise<Buffer | null> {
    const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {};
    try {
      const request = { method: 'GET', bucketName: bucket, objectName, headers };
      const response = await client.makeRequestAsync(request, '', [200, 206]);
      if (response.statusCode === (range ? 206 : 200)) return Buffer.concat(await response.toArray());
      response.destroy();
      throw new Error(`it answered ${response.statusCode} to ${range ? 'a range of a segment' : 'a whole segment'}`);
    } catch (error) {
      if (isMissingObject(error)) return null;
      throw error;
    }
  }

  return {
    send: (name, file) => call(() => put(objectOf(name), file)),
    read: (name, range) => call(() => get(objectOf(name), range)),
    async list() {
      const names: string[] = [];
      let next = '';
      do {
        const from = next;
        const page = await call(() => client.listObjectsV2Query(bucket, folder, from, '', 1000, ''));
        for (const { name = '' } of page.objects) if (name.startsWith(folder)) names.push(name.slice(folder.length));
        next = page.isTruncated ? page.nextContinuationToken : '';
      } while (next !== '');
      return names;
    },
    remove: (name) => call(() => removeVersions({ client, bucket, what }, objectOf(name))),
    close: () => agent.destroy(),
  };
}

const folder = 'segments/';

function objectOf(name: string): string {
  return folder + name;
}
