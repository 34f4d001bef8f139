import type { BlobSettings, ByteRange, ReceivedFile } from '../blobs.ts';
import { connectBucket } from './connection.ts';
import { isMissingObject } from './errors.ts';
import { holdBucket } from './holder.ts';
import { readObject, sendObject } from './objects.ts';
import { removeVersions } from './versions.ts';

/** The segments of a log in its bucket: the objects `segments/…`, named like the files. */
export type BucketSegments = {
  /** Stores the file of a segment, completely or not at all. */
  send: (name: string, file: ReceivedFile) => Promise<void>;
  /** Reads an object, or a part of it; null for a missing one. */
  read: (name: string, range?: ByteRange) => Promise<Buffer | null>;
  /** The names of all objects. */
  list: () => Promise<string[]>;
  /** Removes an object with all its versions. @throws BlobHeldError if a version stays. */
  remove: (name: string) => Promise<void>;
  /** Takes or renews the right to send and remove. @throws BlobsUnavailableError if another data directory has it. */
  hold: (holder: string) => Promise<void>;
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
  const place = connectBucket(settings, silence);
  const { call, list, close } = place;

  async function get(objectName: string, range?: ByteRange): Promise<Buffer | null> {
    try {
      return Buffer.concat(await (await readObject(place, objectName, range)).toArray());
    } catch (error) {
      if (isMissingObject(error)) return null;
      throw error;
    }
  }

  return {
    send: (name, file) => call(() => sendObject(place, objectOf(name), file)),
    read: (name, range) => call(() => get(objectOf(name), range)),
    async list() {
      const names: string[] = [];
      for await (const { name } of list(folder)) names.push(name.slice(folder.length));
      return names;
    },
    remove: (name) => call(() => removeVersions(place, objectOf(name))),
    hold: (holder) => holdBucket(place, objectOf('holder'), holder),
    close,
  };
}

const folder = 'segments/';

function objectOf(name: string): string {
  return folder + name;
}
