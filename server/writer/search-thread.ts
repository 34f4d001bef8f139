import { type MessagePort, workerData } from 'node:worker_threads';
import { removeDatabase } from '../../projections/tables/files.ts';
import { openSearchFile, type SearchFile, type SearchSource } from '../../projections/tables/search-file.ts';
import { errorOf } from '../../storage/errors.ts';
import { DamagedPageError } from '../../storage/pages.ts';
import { isDamage, isDiskTrouble } from '../../storage/sqlite.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { giveBackAtRest } from '../platform/rest.ts';
import { announceFile, isWanted, publish, type SearchCell, takePoke } from './search-cell.ts';

/**
 * The start data of the thread that writes the search file. `pokes`: the writer says here that there is something new.
 */
export type SearchInput = { cell: SearchCell; pokes: MessagePort };

/** Orders of the main thread: which files it works on, and to end. */
export type SearchOrder = { kind: 'begin'; source: SearchSource } | { kind: 'close' };

/**
 * Messages to the main thread. `building`: the file is being made of so many documents, and `built`: it is made;
 * `failed`: it is tried again.
 */
export type SearchMessage =
  | { kind: 'building'; was: 'missing' | 'unusable'; documents: number }
  | { kind: 'built' }
  | { kind: 'failed'; message: string }
  | { kind: 'cleaned' }
  | { kind: 'closed' };

/**
 * All that comes within this time is indexed in one transaction, which by itself costs as much as several documents;
 * unless a search waits, which is looked for as often as it says here.
 */
const gatherMilliseconds = { most: 100, look: 4 };
const retryMilliseconds = { shortest: 1000, longest: 30_000 };
const cleanMilliseconds = 250;

const main = parent();
giveBackAtRest();
const { cell, pokes }: SearchInput = workerData;
let source: SearchSource | null = null;
let file: SearchFile | null = null;
let building: Generator<void> | null = null;
let pause = retryMilliseconds.shortest;
let timer: NodeJS.Timeout | null = null;
/** Since when something new waits; null while nothing does. */
let waitingSince: number | null = null;
let isClosing = false;

function tell(message: SearchMessage): void {
  main.postMessage(message);
}

/** Does one piece of work, and says after how many milliseconds the next is due; null: not before something is new. */
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
  takePoke(cell);
  publish(cell, file.fold.step().position);
  pause = retryMilliseconds.shortest;
  if (!file.isUnclean()) return null;
  if (!file.clean()) return cleanMilliseconds;
  tell({ kind: 'cleaned' });
  return null;
}

function turn(): void {
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

/** A disk that is full may have room later; a file that is damaged, or that the disk fails on, is made anew. */
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
  if (timer === null && !isClosing) timer = setTimeout(turn, milliseconds);
}

/** Gathers what is new. */
function gather(): void {
  timer = null;
  waitingSince ??= performance.now();
  if (isWanted(cell) || performance.now() - waitingSince >= gatherMilliseconds.most) turn();
  else if (!isClosing) timer = setTimeout(gather, gatherMilliseconds.look);
}

pokes.on('message', () => {
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
  pokes.close();
  tell({ kind: 'closed' });
  main.close();
});

// Requests and writes go first; a search waits for it at most for as long as it may.
stepBack(5);
