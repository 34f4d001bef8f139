import { closeSync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import {
  clear,
  clearTreePage,
  DamagedPageError,
  type FreePages,
  freePages,
  isMapPage,
  isTreePage,
  lockPage,
  openPages,
  type PagedFile,
  readPages,
  tailsOf,
} from './pages.ts';
import { isDiskFull, isOutOfFiles, isUnopened, openDatabase, type Sqlite } from './sqlite.ts';

/**
 * The time to wait for a reader to release the write-ahead log, in milliseconds. A step that a reader prevents is tried
 * again later.
 */
const patienceMilliseconds = 50;
/** The time for which a step cleans pages, and the number of pages that it reads at once. */
const usual = { milliseconds: 20, pagesAtOnce: 128 };
/** The limits of the bytes that a step writes, because it waits for the disk. The limit is lower for slow disks. */
const writtenBytes = { least: 256 * 1024, most: 4 * 1024 * 1024, first: 1024 * 1024 };
const slowMilliseconds = 50;

/** The result of a step. */
export type StepResult =
  /** Another process reads an older snapshot, so no page could be cleaned. */
  | 'busy'
  /** There are more pages to clean. */
  | 'going'
  | 'done';

/** Cleans a SQLite file of all bytes that it does not use. */
export type Cleaner = {
  /** Cleans some pages, which blocks the thread for tens of milliseconds. Call it outside a transaction. */
  step: () => StepResult;
  /** The number of pages in the file, and the number of cleaned pages. */
  progress: () => { pages: number; cleaned: number };
  /**
   * Ends a series of steps; the next step begins with the first page. It must be called, because the WAL grows until
   * then.
   */
  end: () => void;
  /** Closes the files, for a thread that continues after the connection is closed. */
  close: () => void;
};

/** The state of a cleaner between two steps. */
type State = {
  db: Sqlite;
  path: string;
  limits: typeof usual;
  /**
   * The open file. Closing it would drop the locks that SQLite has on the file in this process (POSIX), so it stays
   * open as long as the cleaner.
   */
  descriptor: number | null;
  /** The next page to clean. */
  next: number;
  pages: number;
  /** Pages that were changed after they were cleaned. */
  again: Set<number>;
  wasFree: Uint8Array;
  /** The number of bytes that a step may write. */
  mayWrite: number;
};

/**
 * Opens the cleaner of a file, which overwrites with zeros the bytes that no row uses: those of deleted rows, free
 * pages, and the copies that SQLite leaves in the unused part of pages when it moves rows between them. SQLite reads
 * none of these bytes, so readers never see a difference, not even after a crash.
 *
 * The bytes are written into the file, not through SQLite. That is safe if nothing else changes the file meanwhile: the
 * write-ahead log is empty and the lock of writers is held, so no checkpoint has anything to write. A page that was
 * changed between two steps is cleaned again: between steps a reader of ours keeps the write-ahead log from restarting,
 * so its frames name the changed pages.
 *
 * @param db the connection of the only writer of the file. Its page cache is emptied, because old bytes would return
 * from there.
 */
export function openCleaner(db: Sqlite, limits = usual): Cleaner {
  const path = db.name;
  const state: State = {
    db,
    path,
    limits,
    descriptor: null,
    next: 1,
    pages: 0,
    again: new Set(),
    wasFree: new Uint8Array(),
    mayWrite: writtenBytes.first,
  };
  let guard: Sqlite | null = null;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const rollback = db.prepare('ROLLBACK');

  function step(): StepResult {
    for (const page of pagesInWal(path)) state.again.add(page);
    release();
    try {
      return emptyWal(db) ? lockedStep() : 'busy';
    } finally {
      hold();
    }
  }

  function lockedStep(): StepResult {
    begin.run();
    try {
      // Another process may have written before this one had the lock. The next step reads its frames.
      return walBytes(path) > 0 ? 'busy' : cleanSome(state);
    } finally {
      rollback.run();
      db.pragma('shrink_memory');
    }
  }

  function hold(): void {
    guard ??= openDatabase(path, { readonly: true, cacheMiB: 1 });
    guard.exec('BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1');
  }

  function release(): void {
    if (guard?.inTransaction) guard.exec('ROLLBACK');
  }

  /** Must be called before `db` is closed, because the last connection to be closed must not be read-only. */
  function endGuard(): void {
    guard?.close();
    guard = null;
  }

  return {
    step,
    progress: () => ({ pages: state.pages, cleaned: state.next - 1 }),
    end() {
      endGuard();
      state.next = 1;
      state.again.clear();
      state.wasFree = new Uint8Array();
    },
    close() {
      endGuard();
      if (state.descriptor !== null) closeSync(state.descriptor);
    },
  };
}

/** Cleans pages until the limit of time or bytes is reached: first the pages that were changed, then the next ones. */
function cleanSome(state: State): StepResult {
  const { again, limits } = state;
  state.descriptor ??= openSync(state.path, 'r+');
  const file = openPages(state.descriptor);
  state.pages = file.pages;
  const started = performance.now();
  const cleaning: Cleaning = { file, free: freePages(file), written: 0, runs: [] };
  noteFreed(state, cleaning.free);
  const isLeft = () => performance.now() - started < limits.milliseconds && cleaning.written < state.mayWrite;
  for (const page of [...again].sort((a, b) => a - b)) {
    if (page < state.next && page <= file.pages) cleanRange(cleaning, page, 1);
    again.delete(page);
    if (!isLeft()) break;
  }
  do {
    const count = Math.min(limits.pagesAtOnce, file.pages - state.next + 1);
    if (count > 0) cleanRange(cleaning, state.next, count);
    state.next += Math.max(count, 0);
  } while (state.next <= file.pages && isLeft());
  const isDone = state.next > file.pages && again.size === 0;
  // The last step syncs even without writes, because the sync of an earlier try, or of another process, may have
  // failed.
  if (cleaning.written > 0 || isDone) sync(cleaning);
  if (cleaning.written > 0) state.mayWrite = adapted(state.mayWrite, performance.now() - started);
  return isDone ? 'done' : 'going';
}

/**
 * Notes pages that have become free: SQLite writes no frame for them. The end of a row on such a page would have been
 * cleaned together with the row.
 */
function noteFreed(state: State, { isFree }: FreePages): void {
  const { next, wasFree, again } = state;
  for (let page = 1; page < next; page += 1) if (isFree[page] === 1 && wasFree[page] !== 1) again.add(page);
  state.wasFree = isFree;
}

function adapted(mayWrite: number, taken: number): number {
  const factor = taken > slowMilliseconds ? 0.5 : 2;
  return Math.min(writtenBytes.most, Math.max(writtenBytes.least, mayWrite * factor));
}

/** A step on a file. `runs`: the bytes that were written, and their positions. */
type Cleaning = { file: PagedFile; free: FreePages; written: number; runs: { bytes: Buffer; position: number }[] };

/**
 * Cleans consecutive pages, and the ends of their rows on other pages. A page is written only after it was completely
 * parsed.
 */
function cleanRange(cleaning: Cleaning, from: number, count: number): void {
  const { file } = cleaning;
  const bytes = Buffer.alloc(count * file.pageSize);
  readPages(file, from, bytes);
  let changed: number | null = null;
  for (let index = 0; index <= count; index += 1) {
    const page = bytes.subarray(index * file.pageSize, (index + 1) * file.pageSize);
    const isChanged = index < count && cleanPage(cleaning, page, from + index);
    if (isChanged) changed ??= index;
    else if (changed !== null) {
      const run = bytes.subarray(changed * file.pageSize, index * file.pageSize);
      write(cleaning, run, (from + changed - 1) * file.pageSize);
      changed = null;
    }
  }
}

function cleanPage(cleaning: Cleaning, page: Buffer, number: number): boolean {
  const { file, free } = cleaning;
  if (number === lockPage(file) || isMapPage(file, number)) return false;
  if (free.isFree[number] === 1) return clear(page, free.trunks.get(number) ?? 0, page.length);
  if (!isTreePage(page, number)) return false;
  const isChanged = clearTreePage(page, number);
  for (const { page: last, used } of tailsOf(file, page, number)) cleanTail(cleaning, last, used);
  return isChanged;
}

/** Cleans the last page of a row, after the end of the row. */
function cleanTail(cleaning: Cleaning, number: number, used: number): void {
  const { file, free } = cleaning;
  if (free.isFree[number] === 1) throw new DamagedPageError(`page ${number} is free, and a row ends there`);
  const tail = Buffer.alloc(file.pageSize - used);
  const position = (number - 1) * file.pageSize + used;
  readSync(file.descriptor, tail, 0, tail.length, position);
  if (clear(tail, 0, tail.length)) write(cleaning, tail, position);
}

function write(cleaning: Cleaning, bytes: Buffer, position: number): void {
  // The run is noted before the write, because a failed write may have written a part of it.
  cleaning.runs.push({ bytes, position });
  writeAll(cleaning.file, bytes, position);
  cleaning.written += bytes.length;
}

function writeAll({ descriptor }: PagedFile, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
}

/**
 * Syncs the cleaned pages. After a failed sync, the system may treat them as written: no later sync would write them,
 * and the next step would read them from memory and find nothing to clean. So they are written once more, for the next
 * sync.
 */
function sync({ file, runs }: Cleaning): void {
  try {
    fdatasyncSync(file.descriptor);
  } catch (error) {
    try {
      for (const { bytes, position } of runs) writeAll(file, bytes, position);
    } catch {
      // The first error is the more useful one.
    }
    throw error;
  }
}

const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/**
 * The pages with a newer version in the write-ahead log of a file (https://sqlite.org/fileformat2.html, section 4.1).
 */
function pagesInWal(path: string): number[] {
  if (walBytes(path) === 0) return [];
  const descriptor = openSync(walOf(path), 'r');
  try {
    const header = Buffer.alloc(walHeaderBytes);
    readSync(descriptor, header, 0, walHeaderBytes, 0);
    const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
    const salt = header.subarray(16, 24);
    const found: number[] = [];
    const frame = Buffer.alloc(frameHeaderBytes);
    for (
      let at = walHeaderBytes;
      readSync(descriptor, frame, 0, frameHeaderBytes, at) === frameHeaderBytes;
      at += frameBytes
    ) {
      // From here on, the frames are older than the last restart of the write-ahead log.
      if (frame.compare(salt, 0, 8, 8, 16) !== 0) break;
      found.push(frame.readUInt32BE(0));
    }
    return found;
  } finally {
    closeSync(descriptor);
  }
}

function walBytes(path: string): number {
  return statSync(walOf(path), { throwIfNoEntry: false })?.size ?? 0;
}

function walOf(path: string): string {
  return `${path}-wal`;
}

/** Moves the write-ahead log into the file and empties the log. False while a reader uses an older snapshot. */
export function emptyWal(db: Sqlite): boolean {
  const usual = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${patienceMilliseconds}`);
  try {
    return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  } finally {
    db.pragma(`busy_timeout = ${Number(usual)}`);
  }
}

/** The temporary reason why a file cannot be cleaned. `room`: the disk is full. `files`: too many files are open. */
export type Hindrance = 'room' | 'files';

/**
 * The meaning of an error of a {@link Cleaner}; null for an error that is not temporary. If SQLite could not open a
 * file, that counts as too many open files, because others may have been closed before this could be checked.
 */
export function hindranceOf(error: unknown): Hindrance | null {
  if (isDiskFull(error)) return 'room';
  return isOutOfFiles(error) || isUnopened(error) ? 'files' : null;
}
