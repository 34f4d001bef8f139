import { type MessagePort, workerData } from 'node:worker_threads';
import { removeDatabase } from '../../projections/tables/files.ts';
import { openSearchFile, type SearchFile, type SearchSource } from '../../projections/tables/search-file.ts';
import { errorOf } from '../../storage/errors.ts';
import { DamagedPageError } from '../../storage/pages.ts';
import { isDamage, isDiskTrouble } from '../../storage/sqlite.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { giveBackAtRest } from '../platform/rest.ts';
import { announceFile, isRequested, publish, type SearchCell, takeNotification } from './search-cell.ts';

/** The start data of the thread that writes the search file. */
export type SearchInput = {
  cell: SearchCell;
  /** The writer sends a message here when it has recorded events. */
  notifications: MessagePort;
};

/** An order of the main thread. */
export type SearchOrder =
  /** To work on the files of `source`. */
  | { kind: 'begin'; source: SearchSource }
  /** To end. */
  | { kind: 'close' };

/** A message to the main thread. */
export type SearchMessage =
  /** The thread has begun to build the file from this many documents, because the file `was` missing or unusable. */
  | { kind: 'building'; was: 'missing' | 'unusable'; documents: number }
  /** The file is built. */
  | { kind: 'built' }
  /** The file could not be written, and the thread tries again. */
  | { kind: 'failed'; message: string }
  /** The file holds nothing of erased documents. */
  | { kind: 'cleaned' }
  /** The thread is about to end. */
  | { kind: 'closed' };

/**
 * Events that come within `most` milliseconds are indexed in one transaction, because a transaction costs as much as
 * several documents. If a search waits, which the thread checks every `look` milliseconds, they are indexed at once.
 */
const gatherMilliseconds = { most: 100, look: 4 };
const retryMilliseconds = { shortest: 1000, longest: 30_000 };
const cleanMilliseconds = 250;

const main = parent();
giveBackAtRest();
const { cell, notifications }: SearchInput = workerData;
let source: SearchSource | null = null;
let file: SearchFile | null = null;
let building: Generator<void> | null = null;
let pause = retryMilliseconds.shortest;
let timer: NodeJS.Timeout | null = null;
/** Since when an event waits to be indexed; null while none does. */
let waitingSince: number | null = null;
let isClosing = false;

function tell(message: SearchMessage): void {
  main.postMessage(message);
}

/** Does one piece of work. @returns the milliseconds until the next one; null if the next one waits for an event. */
function work(): number | null {
  if (!source) return null;
  if (!file) {
    file = openSearchFile(source);
    announceFile(cell);
    building = file.isBuilt() ? null : file.fold.build();
    const { was, documents } = file;
    if (was !== 'usable') tell({ kind: 'building', was, documents });
  }
  if (building) {
    if (!building.next().done) return 0;
    building = null;
    tell({ kind: 'built' });
    return 0;
  }
  waitingSince = null;
  takeNotification(cell);
  publish(cell, file.fold.step().position);
  pause = retryMilliseconds.shortest;
  if (!file.isUnclean()) return null;
  if (!file.clean()) return cleanMilliseconds;
  tell({ kind: 'cleaned' });
  return null;
}

function run(): void {
  timer = null;
  if (isClosing) return;
  let next: number | null;
  try {
    next = work();
  } catch (error) {
    next = fail(error);
  }
  if (next !== null) schedule(next);
}

/** A full disk may have space later. A file that is damaged, or that the disk fails on, is removed and built again. */
function fail(error: unknown): number {
  tell({ kind: 'failed', message: errorOf(error).message });
  const isLost = isDamage(error) || isDiskTrouble(error) || error instanceof DamagedPageError;
  try {
    file?.close();
    if (source && isLost) removeDatabase(source.searchFile);
  } catch (further) {
    tell({ kind: 'failed', message: errorOf(further).message });
  }
  file = null;
  building = null;
  const now = pause;
  pause = Math.min(2 * pause, retryMilliseconds.longest);
  return now;
}

function schedule(milliseconds: number): void {
  if (timer === null && !isClosing) timer = setTimeout(run, milliseconds);
}

/** Waits for further events, to index them together. */
function gather(): void {
  timer = null;
  waitingSince ??= performance.now();
  if (isRequested(cell) || performance.now() - waitingSince >= gatherMilliseconds.most) run();
  else if (!isClosing) timer = setTimeout(gather, gatherMilliseconds.look);
}

notifications.on('message', () => {
  if (timer === null) gather();
});

main.on('message', (order: SearchOrder) => {
  if (order.kind === 'begin') {
    source = order.source;
    schedule(0);
    return;
  }
  isClosing = true;
  if (timer) clearTimeout(timer);
  file?.close();
  notifications.close();
  tell({ kind: 'closed' });
  main.close();
});

// Requests and writes have priority; a search waits for the index no longer than its own limit.
stepBack(5);
