import type { Readable } from 'node:stream';
import type { BlobSettings } from './blobs.ts';
import { describeFailure, isConnectionLost, isMissingObject } from './bucket-errors.ts';
import { connectTo, openClient } from './bucket-store.ts';

/** Named files in one place, such as the backups of a service. */
export type NamedFiles = {
  /** Begins messages about it. */
  name: string;
  /** The names of the files, in order. */
  list: () => Promise<string[]>;
  /** Reads a file; null for a missing one. */
  read: (name: string) => Promise<Readable | null>;
  /** Puts the file at a path of this machine there, as a whole or not at all. */
  send: (name: string, path: string) => Promise<void>;
  /** Puts a short text there, in place of an earlier one. */
  put: (name: string, text: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
  /** The files of a folder in this place. They are closed with it. */
  folder: (name: string) => NamedFiles;
  close: () => void;
};

type Reach = Omit<Extract<BlobSettings, { kind: 'bucket' }>, 'kind' | 'incoming' | 'checkpointDays'>;

/** The objects of a bucket whose names begin with `prefix`, which is empty or ends with a slash. */
export function openBucketFiles(settings: Reach, prefix: string, silence = 60_000): NamedFiles {
  const { endpoint, bucket } = settings;
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

  const filesAt = (prefix: string): NamedFiles => ({
    name: `s3://${bucket}/${prefix}`,
    async list() {
      const names: string[] = [];
      let next = '';
      do {
        const from = next;
        const page = await call(() => client.listObjectsV2Query(bucket, prefix, from, '/', 1000, ''));
        for (const { name = '' } of page.objects) if (name.startsWith(prefix)) names.push(name.slice(prefix.length));
        next = page.isTruncated ? page.nextContinuationToken : '';
      } while (next !== '');
      return names.filter((name) => name !== '').sort();
    },
    read: (name) =>
      call(async () => {
        try {
          return await client.getObject(bucket, prefix + name);
        } catch (error) {
          if (isMissingObject(error)) return null;
          throw error;
        }
      }),
    async send(name, path) {
      // In parts of 64 MB beyond that size: one request takes 5 GB at most.
      await call(() => client.fPutObject(bucket, prefix + name, path, { 'content-type': 'application/octet-stream' }));
    },
    async put(name, text) {
      const request = { method: 'PUT', bucketName: bucket, objectName: prefix + name };
      await call(() => client.makeRequestAsyncOmit(request, Buffer.from(text)));
    },
    remove: (name) => call(() => client.removeObject(bucket, prefix + name)),
    folder: (name) => filesAt(`${prefix}${name}/`),
    close: () => agent.destroy(),
  });
  return filesAt(prefix);
}
