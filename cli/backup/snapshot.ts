import { copyFileSync, existsSync, linkSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readLog } from '../../events/log/log-reader.ts';
import type { Head } from '../../events/proof/seals.ts';
import { isOffloaded } from '../../events/segments/offload-folder.ts';
import { openSegments } from '../../events/segments/segment-writer.ts';
import { segmentFolder, segmentsOf, wholeSegment } from '../../events/segments/segments.ts';
import { BrokenLogError, formatOf, isLog, openLogToRead } from '../../events/store/log-file.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { BlobStore } from '../../storage/blobs.ts';
import { writing } from '../../storage/data-directory.ts';
import { codeOf } from '../../storage/errors.ts';
import { type Lock, lockDirectory } from '../../storage/lock.ts';
import { createPrivate, makePrivateFolderSync, privateFile } from '../../storage/private.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { names } from './archive.ts';
import { eventLine, storedEvents } from './rewriting.ts';

/** A folder of a data directory that one backup at a time works in. */
type Scratch = { folder: string; release: () => void };

/**
 * Takes the folder `backup` of a data directory, and empties it of what a killed backup left.
 *
 * @throws LockedError when another backup of this directory is being made.
 */
export function takeScratch(directory: string): Scratch {
  const folder = join(directory, 'backup');
  writing(folder, () => makePrivateFolderSync(folder));
  const lock: Lock = lockDirectory(folder, 'annals backup');
  emptyScratch(folder);
  return {
    folder,
    release() {
      emptyScratch(folder);
      lock.release();
    },
  };
}

/** Removes all that a backup has put into its folder. */
function emptyScratch(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('lock.')) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** A copy of `vault.db` and `log.db` as of one moment, and the checkpoints that were in the store before it. */
export type DirectorySnapshot = { folder: string; head: Head; anchors: { name: string; text: string }[] };

type Options = { directory: string; scratch: string; blobs: BlobStore; progress: Progress };

/** How many pages are copied before the event loop goes on. */
const pagesAtOnce = 2000;
/** How many times a copy is tried again because the vault was written meanwhile. */
const maxTries = 100;

/**
 * Copies `vault.db` and `log.db` into a folder, beside a running service, which is not held up.
 *
 * The order makes the copy sound. A checkpoint covers earlier events, so the checkpoints in the store are read first.
 * The vault remembers the last checkpoint, and has a password before the log names it, so the vault is read before the
 * log. Each is read as of the moment at which its copy begins, milliseconds apart. If the vault changed in between,
 * both are copied again.
 */
export async function takeSnapshot({ directory, scratch, blobs, progress }: Options): Promise<DirectorySnapshot> {
  const anchors: DirectorySnapshot['anchors'] = [];
  for await (const { name, read } of blobs.anchors()) anchors.push({ name, text: await read() });
  const files = [join(directory, 'vault.db'), join(directory, 'log.db')] as const;
  const [vault, log, watched] = [...files, files[0]].map((file) => openDatabase(file, { readonly: true })) as [
    Sqlite,
    Sqlite,
    Sqlite,
  ];
  try {
    if (!isLog(log)) throw new StartError('log.db is empty: no service has been started on it yet');
    begin({ vault, log, watched });
    const total = pagesOf(vault) + pagesOf(log);
    const done = await copy(vault, join(scratch, 'vault.db'), (pages) => progress(pages, total));
    await copy(log, join(scratch, 'log.db'), (pages) => progress(done + pages, total));
    // While this reads as of that moment, no file that it names is removed.
    copySegments(log, scratch);
  } catch (error) {
    throw error instanceof BrokenLogError ? new StartError(error.message) : error;
  } finally {
    for (const db of [vault, log, watched]) db.close();
  }
  return { folder: scratch, head: clean(join(scratch, 'log.db')), anchors };
}

/** The events of a log after a position, and its vault, as of one moment. */
type RoundSnapshot = { head: Head; beginsWith: string };

/**
 * Copies `vault.db` into a folder, and beside it the events of the log after a position, as `events.ndjson`.
 *
 * @returns `another` for a log that did not have this root at the position.
 */
export async function takeRound(
  { directory, scratch }: Pick<Options, 'directory' | 'scratch'>,
  { size: after, root }: Pick<Head, 'size' | 'root'>,
): Promise<RoundSnapshot | 'unchanged' | 'another'> {
  const files = [join(directory, 'vault.db'), join(directory, 'log.db')] as const;
  const [vault, watched] = [files[0], files[0]].map((file) => openDatabase(file, { readonly: true })) as [
    Sqlite,
    Sqlite,
  ];
  const log = openLogToRead(files[1]);
  try {
    begin({ vault, log, watched });
    const reader = readLog(log);
    const head = reader.head();
    if (head.size < after || !reader.rootAt(after).equals(root)) return 'another';
    if (head.size === after) return 'unchanged';
    await copy(vault, join(scratch, 'vault.db'), () => {});
    const lines = storedEvents(log, after, head.size).map(eventLine);
    await writeFile(join(scratch, names.events), lines, { mode: privateFile });
    return { head, beginsWith: root.toString('base64') };
  } finally {
    for (const db of [vault, log, watched]) db.close();
  }
}

/** Begins to read both files as of one moment. */
function begin({ vault, log, watched }: { vault: Sqlite; log: Sqlite; watched: Sqlite }): void {
  for (let tries = 1; ; tries += 1) {
    const before = watched.pragma('data_version', { simple: true });
    for (const db of [vault, log]) {
      db.exec('BEGIN');
      // A transaction begins with its first read.
      db.prepare('SELECT count(*) FROM sqlite_schema').get();
    }
    if (tries === maxTries || watched.pragma('data_version', { simple: true }) === before) return;
    for (const db of [vault, log]) db.exec('COMMIT');
  }
}

function pagesOf(db: Sqlite): number {
  return Number(db.pragma('page_count', { simple: true }));
}

/**
 * Inside its transaction, a file is copied as it was then, whatever is written meanwhile. @returns the number of its
 * pages.
 */
async function copy(db: Sqlite, to: string, progress: (pages: number) => void): Promise<number> {
  createPrivate(to);
  const { totalPages } = await db.backup(to, {
    progress: ({ totalPages, remainingPages }) => {
      progress(totalPages - remainingPages);
      return pagesAtOnce;
    },
  });
  progress(totalPages);
  return totalPages;
}

/** Unused parts of the file may still hold content that is being erased. The copy must not. */
function clean(file: string): Head {
  const db = openDatabase(file, { secureDelete: true });
  try {
    const hasErasures = db.prepare(`SELECT count(*) FROM sqlite_schema WHERE name = 'erasures'`).pluck().get() === 1;
    if (hasErasures && db.prepare('SELECT count(*) FROM erasures WHERE done = 0').pluck().get() !== 0) {
      if (formatOf(db) > 3) rewriteCopies(db);
      db.exec('VACUUM');
    }
    db.pragma('wal_checkpoint(TRUNCATE)');
    return readLog(db).head();
  } finally {
    db.close();
  }
}

/** The files of segments never change, so a second name of each does. */
function copySegments(log: Sqlite, scratch: string): void {
  if (formatOf(log) < 4) return;
  const [from, to] = [segmentFolder(log.name), segmentFolder(join(scratch, 'log.db'))];
  makePrivateFolderSync(to);
  for (const { file } of segmentsOf(log)) {
    try {
      linkSync(join(from, file), join(to, file));
    } catch (error) {
      const isHere = codeOf(error) !== 'ENOENT';
      if (!isHere && !isOffloaded(join(from, file))) throw new StartError(`the file segments/${file} is missing`);
      if (isHere) copyFileSync(join(from, file), join(to, file));
      else writeFileSync(join(to, file), wholeSegment(join(from, file)), { mode: privateFile });
    }
  }
}

function rewriteCopies(db: Sqlite): void {
  const { rewriteNow, removeStrays } = openSegments(db);
  rewriteNow();
  removeStrays();
}

/** The bytes of a file; 0 for a missing one. */
export function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}
