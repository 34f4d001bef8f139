import { setPriority } from 'node:os';
import { workerData } from 'node:worker_threads';
import { openPast, type Past } from '../../projections/past/past.ts';
import { openBudget } from '../../projections/past/snapshot-budget.ts';
import { type Documents, openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import { TooManyCombinationsError } from '../../projections/query/groups.ts';
import { interruptibleLayers, overlayIn } from '../../projections/query/overlay.ts';
import { openOverlay } from '../../projections/query/overlay-documents.ts';
import { setInterruption } from '../../projections/tables/interruption.ts';
import type { Tables } from '../../projections/tables/tables.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { answerCalls } from '../platform/calls.ts';
import type { TableState } from './kept.ts';
import {
  type LongRead,
  type LongReadEnd,
  type LongReadInput,
  type LongReadThread,
  mostTimes,
} from './long-read-queue.ts';
import { type DocumentReader, performInterruptibly } from './reads.ts';

/** An open read file, with all that was prepared for it. */
type OpenReadFile = {
  db: Sqlite;
  past: Past;
  documents: Map<string, Documents>;
  state: () => TableState;
  /** The number of the attached search file. */
  attached: number | null;
};

/** Thrown in a read that is stopped. */
class EndedError extends Error {
  readonly kind: 'late' | 'gone';

  constructor(kind: 'late' | 'gone') {
    super(`the read ended: ${kind}`);
    this.kind = kind;
  }
}

const { cell, port, seat }: LongReadInput = workerData;
const files = new Map<string, OpenReadFile>();
const room = openBudget(seat);
/** Files are closed after the read that runs. */
let running: Promise<unknown> = Promise.resolve();
// On Linux the priority is the thread's own: on a core that it shares with a thread that answers requests it gets some
// 30 %.
if (process.platform === 'linux') setPriority(4);

answerCalls<LongReadThread>(port, {
  ready: async () => {},
  read(asked) {
    const reading = running.then(() => read(asked));
    running = reading.catch(() => {});
    return reading;
  },
  forget(file) {
    const closed = running.then(() => forget(file));
    running = closed.catch(() => {});
    return closed;
  },
});
port.ref();

async function read({ id, long, milliseconds }: Parameters<LongReadThread['read']>[0]): Promise<LongReadEnd> {
  const isLate = lateAfter(milliseconds);
  const worked = workedMilliseconds();
  setInterruption(() => {
    if (Atomics.load(cell, 0) >= id) throw new EndedError('gone');
    if (isLate()) throw new EndedError('late');
  });
  try {
    const opened = openedAt(long.file);
    if (long.search) attach(opened, long.search);
    const before = opened.state();
    const answer = await performInterruptibly(long.read, readerOf(opened, long));
    const after = opened.state();
    const state = before.erasures === after.erasures ? before : null;
    return { kind: 'answered', answer, state, worked: workedMilliseconds() - worked };
  } catch (error) {
    if (error instanceof EndedError) return { kind: error.kind };
    if (error instanceof TooManyCombinationsError) return { kind: 'combined' };
    throw error;
  } finally {
    setInterruption(null);
  }
}

/** Tells when a read has worked for a time from now on, or when several times that time has passed. */
function lateAfter(milliseconds: number): () => boolean {
  const began = performance.now();
  const worked = workedMilliseconds();
  const end = began + mostTimes * milliseconds;
  let next = began + milliseconds;
  return () => {
    const now = performance.now();
    if (now < next) return false;
    const left = milliseconds - (workedMilliseconds() - worked);
    next = Math.min(now + left, end);
    return left <= 0 || now >= end;
  };
}

/** The CPU time of this thread in milliseconds; elapsed time on a Node that does not know it. */
function workedMilliseconds(): number {
  if (!('threadCpuUsage' in process && typeof process.threadCpuUsage === 'function')) return performance.now();
  const { user, system }: NodeJS.CpuUsage = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function forget(file: string): Promise<void> {
  const opened = files.get(file);
  files.delete(file);
  await opened?.past.close();
  opened?.db.close();
}

function openedAt(file: string): OpenReadFile {
  const known = files.get(file);
  if (known) return known;
  const db = openDatabase(file, { readonly: true });
  registerFunctions(db);
  const select = db.prepare<[], TableState>(
    'SELECT position, (SELECT count FROM erasures) AS erasures FROM checkpoint',
  );
  const opened: OpenReadFile = {
    db,
    past: openPast(file, undefined, room),
    documents: new Map(),
    state: () => select.get() ?? { position: 0, erasures: 0 },
    attached: null,
  };
  files.set(file, opened);
  return opened;
}

/** A file that was rebuilt has the name of the former one. */
function attach(opened: OpenReadFile, { file, number }: { file: string; number: number }): void {
  if (opened.attached === number) return;
  if (opened.attached !== null) opened.db.exec('DETACH search');
  opened.attached = null;
  opened.db.prepare('ATTACH ? AS search').run(file);
  opened.attached = number;
}

function readerOf({ db, past, documents }: OpenReadFile, { tables, position }: LongRead): DocumentReader {
  const own = interruptibleLayers(tables);
  if (position !== null) {
    return {
      list: (request) => past.list(position, own, request),
      count: (where) => past.count(position, own, where),
      groups: (request) => past.groups(position, own, request),
    };
  }
  const documentsIn = (one: Tables): Documents => {
    const known = documents.get(one.key) ?? openDocuments(db, one);
    documents.set(one.key, known);
    return known;
  };
  const overlay = overlayIn(own);
  if (!overlay) return documentsIn(own);
  const { under, over, shown } = overlay;
  const layers = { under: documentsIn(under), over: documentsIn(over) };
  return openOverlay(db, { under, over, documents: layers, interruptible: () => layers })(shown).documents;
}
