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

/** The start data of the archiver thread. `file`: the path of the log. */
export type ArchiverInput = { file: string; sizes: SegmentSizes; blobs: BlobSettings };

/** To write the next segment, or to rewrite a segment that still has erased payloads. */
export type ArchiverOrder = 'write' | 'rewrite';

/** Why a segment could not be written. */
export type ArchiverFailure = {
  failure: string;
  /** True if the log is broken. */
  isLogs: boolean;
  /** True if the disk is full. */
  isFull: boolean;
};

/** The answer to an order: a segment, null if no segment is due, or why it could not be written. */
export type ArchiverMessage = { pending: PendingSegment | null } | ArchiverFailure;

const main = parent();
const { file, sizes, blobs }: ArchiverInput = workerData;
findSegmentsOf(file, blobs, true);

// Threads that answer requests have priority.
stepBack(15);

main.on('message', (order: ArchiverOrder) => main.postMessage(answer(order)));

function answer(order: ArchiverOrder): ArchiverMessage {
  try {
    const db = openDatabase(file, { readonly: true, cacheMiB: 2 });
    try {
      return { pending: order === 'write' ? writeSegment(db, sizes) : rewriteSegment(db) };
    } finally {
      db.close();
    }
  } catch (error) {
    return { failure: messageOf(error), isLogs: error instanceof BrokenLogError, isFull: isDiskFull(error) };
  }
}
