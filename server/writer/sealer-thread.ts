import { workerData } from 'node:worker_threads';
import { type Draft, draftRewriting, draftSegment, type SealingSizes } from '../../events/segments/segment-writer.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDiskFull, openDatabase } from '../../storage/sqlite.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { findSegmentsOf } from './away.ts';

/** The start data of the sealer thread: the path of the log. */
export type SealerInput = { file: string; sizes: SealingSizes; blobs: BlobSettings };

/** To write the next segment, or one anew that has erased payloads. */
export type SealerOrder = 'seal' | 'rewrite';

/** `draft`: null where there is nothing to do. `failure`: `isLogs` where the log itself is the reason. */
export type SealerMessage = { draft: Draft | null } | { failure: string; isLogs: boolean; isFull: boolean };

const main = parent();
const { file, sizes, blobs }: SealerInput = workerData;
findSegmentsOf(file, blobs, true);

// After all that answers.
stepBack(15);

main.on('message', (order: SealerOrder) => main.postMessage(answer(order)));

function answer(order: SealerOrder): SealerMessage {
  try {
    const db = openDatabase(file, { readonly: true, cacheMiB: 2 });
    try {
      return { draft: order === 'seal' ? draftSegment(db, sizes) : draftRewriting(db) };
    } finally {
      db.close();
    }
  } catch (error) {
    return { failure: messageOf(error), isLogs: error instanceof BrokenLogError, isFull: isDiskFull(error) };
  }
}
