import type { Readable } from 'node:stream';
import { type BucketReach, connectBucket } from './connection.ts';
import { isMissingObject } from './errors.ts';

/** Named files in one place, such as the backups of a service. */
export type NamedFiles = {
  /** The name of the place, with which messages about it begin. */
  name: string;
  /** The names of the files, in order. */
  list: () => Promise<string[]>;
  /** Reads a file; null for a missing one. */
  read: (name: string) => Promise<Readable | null>;
  /** Stores a copy of a file of this machine, completely or not at all. */
  send: (name: string, path: string) => Promise<void>;
  /** Stores a short text, and replaces an earlier one. */
  put: (name: string, text: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
  /** The files of a folder in this place. They are closed together with the place. */
  folder: (name: string) => NamedFiles;
  close: () => void;
};

/** The objects of a bucket whose names begin with `prefix`, which is empty or ends with a slash. */
export function openBucketFiles(settings: BucketReach, prefix: string, silence = 60_000): NamedFiles {
  const { client, bucket, call, list, close } = connectBucket(settings, silence);

  const filesAt = (prefix: string): NamedFiles => ({
    name: `s3://${bucket}/${prefix}`,
    async list() {
      const names: string[] = [];
      for await (const { name } of list(prefix, '/')) names.push(name.slice(prefix.length));
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
      // The client sends a file of more than 64 MB in parts of that size: a single request may have at most 5 GB.
      await call(() => client.fPutObject(bucket, prefix + name, path, { 'content-type': 'application/octet-stream' }));
    },
    async put(name, text) {
      const request = { method: 'PUT', bucketName: bucket, objectName: prefix + name };
      await call(() => client.makeRequestAsyncOmit(request, Buffer.from(text)));
    },
    remove: (name) => call(() => client.removeObject(bucket, prefix + name)),
    folder: (name) => filesAt(`${prefix}${name}/`),
    close,
  });
  return filesAt(prefix);
}
