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
 * Tells this thread which bucket has the segments of a log that are not in its folder. The bucket is opened when a
 * segment is needed.
 *
 * @param mayWait whether a fetch may block the thread; false for a thread that answers requests.
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

/** A request to the bucket ends after 20 s of silence; a slow bucket has this long for a segment. */
const mostMilliseconds = 10 * 60_000;

/** Starts the fetcher thread, for which this thread waits. */
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
