import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { basename } from 'node:path';
import Database from 'better-sqlite3';
import { codeOf } from './errors.ts';
import { createPrivate } from './private.ts';

/** An open SQLite file. */
export type Sqlite = Database.Database;

/** A prepared statement with any parameters. Its results are rows, or the values of a single column. */
export type Statement<Row = unknown, Parameters extends unknown[] = unknown[]> = Database.Statement<Parameters, Row>;

/**
 * The durability of a commit. `full` survives a power cut. `normal` survives a killed process, but a power cut may lose
 * the last commits. `off` is for files that are thrown away when the process dies.
 */
export type Durability = 'full' | 'normal' | 'off';

type OpenOptions = {
  durability?: Durability;
  readonly?: boolean;
  /** Overwrites deleted content with zeros. */
  secureDelete?: boolean;
  /** Makes a new file in such a way that {@link giveBackPages} can return its unused pages to the disk. */
  shrinks?: boolean;
  /** The size of the page cache in MiB; default 16. */
  cacheMiB?: number;
  /** The size of the changed pages that a transaction keeps in memory, in MiB, if it is more than the cache. */
  changedMiB?: number;
};

const synchronousOf: Record<Durability, number> = { off: 0, normal: 1, full: 2 };

/**
 * The settings that SQLite is known to accept, checked once for each thread: this depends on the version of SQLite, not
 * on the file.
 */
const taken = new Set<string>();

/** The connections of this thread; some may be closed. */
const opened = new Set<WeakRef<Sqlite>>();

/**
 * Opens a SQLite file with the settings that every file of the service uses. It reads the settings back once, and
 * throws if SQLite did not accept one: better-sqlite3 silently sets `synchronous=NORMAL` with write-ahead logging, and
 * SQLite before 3.51.3 has the WAL-reset bug.
 *
 * @throws OutOfFilesError, SqliteError.
 */
export function openDatabase(path: string, options: OpenOptions = {}): Sqlite {
  const { durability = 'normal', readonly = false, secureDelete = false, cacheMiB = 16, changedMiB } = options;
  if (!readonly && path !== ':memory:') createPrivate(path);
  const db = explained(() => new Database(path, { readonly, fileMustExist: readonly }));
  try {
    // This must come before anything is written.
    if (options.shrinks) db.pragma('auto_vacuum = INCREMENTAL');
    if (!readonly) explained(() => setJournal(db, durability === 'off' || path === ':memory:' ? 'memory' : 'wal'));
    const settings: Record<string, number> = {
      busy_timeout: 5000,
      synchronous: synchronousOf[durability],
      foreign_keys: 1,
      recursive_triggers: 1,
      trusted_schema: 0,
      cell_size_check: 1,
      mmap_size: 0,
      journal_size_limit: 64 * 1024 * 1024,
      // In pages. Hot pages of indexes are written back once for many commits.
      wal_autocheckpoint: 4096,
      cache_size: -cacheMiB * 1024,
      secure_delete: secureDelete ? 1 : 0,
      // Also in pages.
      ...(changedMiB === undefined ? {} : { cache_spill: changedMiB * 256 }),
    };
    const pragmas = Object.entries(settings).map(([name, value]) => `PRAGMA ${name} = ${value};`);
    const text = pragmas.join('');
    explained(() => db.exec(text));
    if (!taken.has(text)) {
      assertTaken(db, settings);
      taken.add(text);
    }
    for (const one of opened) if (!one.deref()?.open) opened.delete(one);
    opened.add(new WeakRef(db));
    return db;
  } catch (error) {
    db.close();
    // The message of SQLite does not name the file.
    if (isNoDatabase(error)) (error as Error).message = `${basename(path)}: ${(error as Error).message}`;
    throw error;
  }
}

/**
 * Empties the page caches of all connections of this thread. The next reads find their pages in the cache of the
 * operating system.
 */
export function emptyCaches(): void {
  for (const one of opened) {
    const db = one.deref();
    try {
      if (db?.open) db.pragma('shrink_memory');
    } catch {
      // The connection is in the middle of a query, and keeps its pages.
    }
  }
}

const incremental = 2;

/**
 * Returns at most `most` unused pages of a file to the disk, in a transaction; the next checkpoint shrinks the file.
 * `spare` unused pages stay. @returns whether there are more.
 */
export function giveBackPages(db: Sqlite, most: number, spare: number): boolean {
  const unused = Number(db.pragma('freelist_count', { simple: true })) - spare;
  if (unused <= 0 || db.pragma('auto_vacuum', { simple: true }) !== incremental) return false;
  db.pragma(`incremental_vacuum(${Math.min(most, unused)})`);
  return unused > most;
}

/**
 * Makes a value, such as a prepared statement, on first use, because most users of a file need only a few of its
 * statements.
 */
export function late<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

/** A statement that is prepared on first use. */
export function prepareLate<Values extends unknown[], Row>(
  db: Sqlite,
  sql: string,
): () => Database.Statement<Values, Row> {
  return late(() => db.prepare<Values, Row>(sql));
}

/** As {@link prepareLate}, for a statement with one column, whose values it returns. */
export function pluckLate<Values extends unknown[], Value>(
  db: Sqlite,
  sql: string,
): () => Database.Statement<Values, Value> {
  return late(() => db.prepare<Values, Value>(sql).pluck());
}

/** Opens a file, calls `use` with it, and closes it. @throws the errors of {@link openDatabase}. */
export function withDatabase<T>(path: string, options: OpenOptions, use: (db: Sqlite) => T): T {
  const db = openDatabase(path, options);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** Whether a file has a table with this name. */
export function hasTable(db: Sqlite, name: string): boolean {
  return db.prepare('SELECT count(*) FROM sqlite_schema WHERE name = ?').pluck().get(name) === 1;
}

/**
 * Sets the journal mode. `off` is not possible: better-sqlite3 opens files in SQLite's defensive mode, which silently
 * keeps another mode.
 */
function setJournal(db: Sqlite, mode: 'memory' | 'wal'): void {
  const actual = db.pragma(`journal_mode = ${mode}`, { simple: true });
  if (actual !== mode) throw new Error(`SQLite did not accept journal_mode = ${mode}: it reports ${String(actual)}`);
}

function assertTaken(db: Sqlite, settings: Record<string, number>): void {
  for (const [name, value] of Object.entries(settings)) {
    const actual = readBack(db, name);
    if (actual !== value) throw new Error(`SQLite did not accept ${name} = ${value}: it reports ${String(actual)}`);
  }
  assertVersion(db);
}

function readBack(db: Sqlite, name: string): unknown {
  const value = db.pragma(name, { simple: true });
  // A build without memory mapping returns nothing, which means 0.
  return name === 'mmap_size' ? (value ?? 0) : value;
}

/** The version of SQLite, for example `3.53.0`. */
export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return versionOf(db);
  } finally {
    db.close();
  }
}

function versionOf(db: Sqlite): string {
  return db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '';
}

function assertVersion(db: Sqlite): void {
  const version = versionOf(db);
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major * 1e6 + minor * 1e3 + patch < 3_051_003) {
    throw new Error(`SQLite ${version} has the WAL-reset bug; 3.51.3 or newer is needed`);
  }
}

/** Thrown if SQLite cannot open a file because too many files are open. */
export class OutOfFilesError extends Error {
  override name = 'OutOfFilesError';
  readonly code = 'EMFILE';
}

/**
 * Runs a function that opens files of SQLite, which reports "unable to open database file" for any reason. Finds out
 * the reason before anything is closed.
 *
 * @throws OutOfFilesError if no more files may be opened; any other error unchanged.
 */
export function explained<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isUnopened(error) || mayOpenMore()) throw error;
    throw new OutOfFilesError('too many files are open', { cause: error });
  }
}

function mayOpenMore(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    return !isOutOfFiles(error);
  }
}

/** True if SQLite could not open a file. */
export function isUnopened(error: unknown): boolean {
  return codeOf(error)?.startsWith('SQLITE_CANTOPEN') === true;
}

function isNoDatabase(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_NOTADB';
}

/** True if this process, or the whole system, may open no more files. */
export function isOutOfFiles(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(codeOf(error) ?? '');
}

/** True for the errors of a disk that fails, or that gives something else than was written to it. */
export function isDiskTrouble(error: unknown): boolean {
  return /^(SQLITE_(IOERR(?!_NOMEM|_GETTEMPPATH)|CORRUPT)|EIO$)/.test(codeOf(error) ?? '');
}

/** True for the errors that mean "no room": nothing was written, and it may work later. */
export function isDiskFull(error: unknown): boolean {
  return ['SQLITE_FULL', 'ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
}

/**
 * True when SQLite itself failed (disk full, I/O, damaged file) rather than refused one statement by a rule: then the
 * whole transaction is in doubt.
 */
export function isFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && !error.code.startsWith('SQLITE_CONSTRAINT');
}

/** True if another connection kept the file locked for too long: nothing was done. */
export function isBusy(error: unknown): boolean {
  return codeOf(error)?.startsWith('SQLITE_BUSY') === true;
}

/** True if SQLite refuses a query because it is too large: it has too many values, or is nested too deeply. */
export function isTooLarge(error: unknown): boolean {
  return (
    error instanceof Database.SqliteError &&
    /^(too many SQL variables|Expression tree is too large)/.test(error.message)
  );
}

/** True for an error of reading a damaged file, whose pages, tables, rows or JSON have been altered. */
export function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || /^SQLITE_(CORRUPT|NOTADB|ERROR|CONSTRAINT|FORMAT)/.test(codeOf(error) ?? '');
}

/**
 * True if a file that was opened read-only has a journal with a change to roll back. The switch of a file to
 * write-ahead logging is such a change, and a power cut may leave its journal behind, or bring it back.
 */
export function isHalfChanged(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_READONLY_ROLLBACK';
}
