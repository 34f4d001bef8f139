import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { registerStore, SegmentUnreachableError } from '../../events/segments/offloaded.ts';
import { segmentFolder } from '../../events/segments/segments.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { type BucketSegments, openBucketSegments } from '../../storage/bucket/segments.ts';
import { messageOf } from '../../storage/errors.ts';
import { startThread } from '../platform/threads.ts';
import type { FetcherAnswer, FetcherInput } from './fetcher-thread.ts';

type Bucket = Extract<BlobSettings, { kind: 'bucket' }>;

/**
 * Tells this thread where segments of a log are that are not in its folder. Nothing is opened before one is needed.
 *
 * @param mayWait whether the thread may stand still while one is fetched; one that answers may not.
 */
export function findSegmentsOf(logFile: string, blobs: BlobSettings, mayWait: boolean): void {
  if (blobs.kind !== 'bucket') return;
  let opened: BucketSegments | null = null;
  let waiting: ((file: string) => Buffer | null) | null = null;
  registerStore(segmentFolder(logFile), {
    async fetch(file, range) {
      opened ??= openBucketSegments(blobs);
      try {
        return await opened.read(file, range);
      } catch (error) {
        throw unreachable(messageOf(error));
      }
    },
    wait: mayWait
      ? (file) => {
          waiting ??= openWaiting(blobs);
          return waiting(file);
        }
      : null,
  });
}

/** The bucket gives up after 20 s of silence; a slow one has its time. */
const mostMilliseconds = 10 * 60_000;

/** A thread of its own fetches, since this one stands still. */
function openWaiting(bucket: Bucket): (file: string) => Buffer | null {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  startThread('fetcher', { bucket, port: port2, cell } satisfies FetcherInput, [port2]).unref();
  port1.unref();
  return (file) => {
    Atomics.store(cell, 0, 0);
    port1.postMessage(file);
    Atomics.wait(cell, 0, 0, mostMilliseconds);
    const answer: FetcherAnswer | undefined = receiveMessageOnPort(port1)?.message;
    if (!answer) throw unreachable('the bucket does not answer');
    if ('failure' in answer) throw unreachable(answer.failure);
    return answer.bytes && Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength);
  };
}

function unreachable(why: string): SegmentUnreachableError {
  return new SegmentUnreachableError(`a segment of the log could not be fetched: ${why}`);
}
