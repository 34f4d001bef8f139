import { type MessagePort, workerData } from 'node:worker_threads';
import type { BlobSettings } from '../../storage/blobs.ts';
import { openBucketSegments } from '../../storage/bucket/segments.ts';
import { messageOf } from '../../storage/errors.ts';

/** The start data of the thread that fetches segments for a thread that waits. */
export type FetcherInput = {
  bucket: Extract<BlobSettings, { kind: 'bucket' }>;
  /** Takes the names of files, and gives the answers. */
  port: MessagePort;
  /** Becomes 1 when the port has an answer. */
  cell: Int32Array<SharedArrayBuffer>;
};

/** The bytes of an object, null for a missing object; or why they could not be read. */
export type FetcherAnswer = { bytes: Uint8Array | null } | { failure: string };

const { bucket, port, cell }: FetcherInput = workerData;
const segments = openBucketSegments(bucket);

port.on('message', async (file: string) => {
  port.postMessage(await answer(file));
  Atomics.store(cell, 0, 1);
  Atomics.notify(cell, 0);
});

async function answer(file: string): Promise<FetcherAnswer> {
  try {
    return { bytes: await segments.read(file) };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}
