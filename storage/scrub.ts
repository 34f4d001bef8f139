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

/** A reader is given this long to let go of the write-ahead log; a step that it hinders is tried again later. */
const patienceMilliseconds = 50;
/** How long a step looks at pages, and how many it reads at once. */
const usual = { milliseconds: 20, pagesAtOnce: 128 };
/** A step writes no more bytes than this, since it waits for the disk; less where the disk is slow. */
const writtenBytes = { least: 256 * 1024, most: 4 * 1024 * 1024, first: 1024 * 1024 };
const slowMilliseconds = 50;

/** How a step went. `busy`: somebody reads from before, so that nothing could be done. */
export type StepResult = 'busy' | 'going' | 'done';

/** Cleans a file of SQLite of all that it does not use. */
export type Cleaner = {
  /** Cleans some pages, for which it holds up its thread for some ten milliseconds. Outside of a transaction. */
  step: () => StepResult;
  /** The pages of the file, and how many of them have been cleaned. */
  progress: () => { pages: number; cleaned: number };
  /**
   * Ends the steps: the next one begins with the first page. Until then the write-ahead log grows, so it is not to be
   * left out.
   */
  end: () => void;
  /** For a thread that goes on, after the connection is closed. */
  close: () => void;
};

/**
 * Opens the cleaner of a file, which overwrites with zeros the bytes that no row uses: those of deleted rows, free
 * pages, and the copies that SQLite leaves in the unused part of pages when it moves rows between them. It reads none
 * of these bytes, so readers see no difference, at any moment, nor after a crash.
 *
 * The bytes are written into the file, not through SQLite. That is safe where nothing else changes the file meanwhile:
 * the write-ahead log is empty and the lock of writers is held, so no checkpoint has anything to write. A page that was
 * changed between two steps is looked at again: between them a reader of our own keeps the write-ahead log from
 * beginning anew, so its frames tell which.
 *
 * @param db the connection of the only writer of the file. Its pages in memory are dropped: from those, old bytes would
 * come back.
 */
export function openCleaner(db: Sqlite, { milliseconds, pagesAtOnce } = usual): Cleaner {
  const path = db.name;
  // To close it would drop the locks that SQLite has on the file in this process (POSIX), so it is open as long as the
  // file.
  let descriptor: number | null = null;
  let guard: Sqlite | null = null;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const rollback = db.prepare('ROLLBACK');
  let next = 1;
  let pages = 0;
  /** Pages that were changed after they were looked at. */
  const again = new Set<number>();
  let wasFree: Uint8Array = new Uint8Array();
  let mayWrite = writtenBytes.first;

  function step(): StepResult {
    for (const page of pagesInWal(path)) again.add(page);
    release();
    try {
      return emptyWal(db) ? cleanSome() : 'busy';
    } finally {
      hold();
    }
  }

  function cleanSome(): StepResult {
    begin.run();
    try {
      // Another process could have written before the lock was ours; its frames are looked at next time.
      if (walBytes(path) > 0) return 'busy';
      descriptor ??= openSync(path, 'r+');
      const file = openPages(descriptor);
      pages = file.pages;
      const started = performance.now();
      const cleaning: Cleaning = { file, free: freePages(file), written: 0, runs: [] };
      noteFreed(cleaning.free);
      const isLeft = () => performance.now() - started < milliseconds && cleaning.written < mayWrite;
      for (const page of [...again].sort((a, b) => a - b)) {
        if (page < next && page <= pages) cleanRange(cleaning, page, 1);
        again.delete(page);
        if (!isLeft()) break;
      }
      do {
        const count = Math.min(pagesAtOnce, pages - next + 1);
        if (count > 0) cleanRange(cleaning, next, count);
        next += Math.max(count, 0);
      } while (next <= pages && isLeft());
      const isDone = next > pages && again.size === 0;
      // Those that were cleaned before may be in memory alone: the sync of another try, or of another process, may have
      // failed.
      if (cleaning.written > 0 || isDone) sync(cleaning);
      if (cleaning.written > 0) adapt(performance.now() - started);
      return isDone ? 'done' : 'going';
    } finally {
      rollback.run();
      db.pragma('shrink_memory');
    }
  }

  /** A page that has become free is not written. Its bytes after the end of a row were to be cleaned with that row. */
  function noteFreed({ isFree }: FreePages): void {
    for (let page = 1; page < next; page += 1) if (isFree[page] === 1 && wasFree[page] !== 1) again.add(page);
    wasFree = isFree;
  }

  function adapt(taken: number): void {
    const factor = taken > slowMilliseconds ? 0.5 : 2;
    mayWrite = Math.min(writtenBytes.most, Math.max(writtenBytes.least, mayWrite * factor));
  }

  function hold(): void {
    guard ??= openDatabase(path, { readonly: true, cacheMiB: 1 });
    guard.exec('BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1');
  }

  function release(): void {
    if (guard?.inTransaction) guard.exec('ROLLBACK');
  }

  /** The last connection to a file that is closed must not be one that only reads. */
  function endGuard(): void {
    guard?.close();
    guard = null;
  }

  return {
    step,
    progress: () => ({ pages, cleaned: next - 1 }),
    end() {
      endGuard();
      next = 1;
      again.clear();
      wasFree = new Uint8Array();
    },
    close() {
      endGuard();
      if (descriptor !== null) closeSync(descriptor);
    },
  };
}

/** `runs`: what was written, and where. */
type Cleaning = { file: PagedFile; free: FreePages; written: number; runs: { bytes: Buffer; position: number }[] };

/**
 * Cleans consecutive pages, and the ends of their rows elsewhere. Nothing of a page is written before it has been
 * understood.
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

/** Cleans the page that a row ends in, after its end. */
function cleanTail(cleaning: Cleaning, number: number, used: number): void {
  const { file, free } = cleaning;
  if (free.isFree[number] === 1) throw new DamagedPageError(`page ${number} is free, and a row ends there`);
  const tail = Buffer.alloc(file.pageSize - used);
  const position = (number - 1) * file.pageSize + used;
  readSync(file.descriptor, tail, 0, tail.length, position);
  if (clear(tail, 0, tail.length)) write(cleaning, tail, position);
}

function write(cleaning: Cleaning, bytes: Buffer, position: number): void {
  // Before it is tried: a part of it may be written.
  cleaning.runs.push({ bytes, position });
  writeAll(cleaning.file, bytes, position);
  cleaning.written += bytes.length;
}

function writeAll({ descriptor }: PagedFile, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
}

/**
 * Brings the cleaned pages to the disk. After a sync that failed, no later one writes what it was to write, though it
 * is read from memory: the next try would find nothing to clean. So it is written once more, for the sync of that.
 */
function sync({ file, runs }: Cleaning): void {
  try {
    fdatasyncSync(file.descriptor);
  } catch (error) {
    try {
      for (const { bytes, position } of runs) writeAll(file, bytes, position);
    } catch {
      // The first error says more.
    }
    throw error;
  }
}

const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/**
 * The pages of which a newer version stands in the write-ahead log of a file (https://sqlite.org/fileformat2.html,
 * section 4.1).
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
      // Those of a time before this one come after it.
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

/**
 * Brings what is in the write-ahead log into the file, and empties it. False while somebody still reads from before.
 */
export function emptyWal(db: Sqlite): boolean {
  const usual = db.pragma('busy_timeout', { simple: true });
  db.pragma(`busy_timeout = ${patienceMilliseconds}`);
  try {
    return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  } finally {
    db.pragma(`busy_timeout = ${Number(usual)}`);
  }
}

/** Why a file cannot be cleaned now, though it may be later. `room`: the disk is full. `files`: too many are open. */
export type Hindrance = 'room' | 'files';

/**
 * The meaning of an error of {@link Cleaner}; null for one that does not pass by itself. A file that SQLite could not
 * open is one more than may be open: others may have been closed before that could be found out.
 */
export function hindranceOf(error: unknown): Hindrance | null {
  if (isDiskFull(error)) return 'room';
  return isOutOfFiles(error) || isUnopened(error) ? 'files' : null;
}
