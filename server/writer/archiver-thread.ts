import { workerData } from 'node:worker_threads';
import {
  type PendingSegment,
  rewriteSegment,
  type SegmentSizes,
  writeSegment,
} from '../../events/segments/segment-writer.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDiskFull, openDatabase } from '../../storage/sqlite.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { findSegmentsOf } from './segment-store.ts';

/** The start data of the sealer thread: the path of the log. */
export type ArchiverInput = { file: string; sizes: SegmentSizes; blobs: BlobSettings };

/** To write the next segment, or one anew that has erased payloads. */
export type ArchiverOrder = 'seal' | 'rewrite';

/** `pending`: null where there is nothing to do. `failure`: `isLogs` where the log itself is the reason. */
export type ArchiverMessage =
  | { pending: PendingSegment | null }
  | { failure: string; isLogs: boolean; isFull: boolean };

const main = parent();
const { file, sizes, blobs }: ArchiverInput = workerData;
findSegmentsOf(file, blobs, true);

// After all that answers.
stepBack(15);

main.on('message', (order: ArchiverOrder) => main.postMessage(answer(order)));

function answer(order: ArchiverOrder): ArchiverMessage {
  try {
    const db = openDatabase(file, { readonly: true, cacheMiB: 2 });
    try {
      return { pending: order === 'seal' ? writeSegment(db, sizes) : rewriteSegment(db) };
    } finally {
      db.close();
    }
  } catch (error) {
    return { failure: messageOf(error), isLogs: error instanceof BrokenLogError, isFull: isDiskFull(error) };
  }
}
