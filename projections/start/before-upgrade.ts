import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { counted, inBytes } from '../../config/counted.ts';
import { readLog } from '../../events/log/log-reader.ts';
import type { Head } from '../../events/proof/seals.ts';
import { BrokenLogError, openLogToRead } from '../../events/store/log-file.ts';
import { logFormat } from '../../events/store/log-tables.ts';
import { verifyLog } from '../../events/verify/verify.ts';
import { freeBytes } from '../../storage/disk.ts';
import { createPrivate, privateFolder } from '../../storage/private.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { logFile, syncPath } from '../tables/files.ts';

/** The options of an upgrade of a log. `tell` gets the lines for the operator. */
export type UpgradeOptions = { noBackup: boolean; tell: (line: string) => void };

/** The databases of a data directory that cannot be made anew. The first must be there. */
const databases = ['log.db', 'vault.db', 'webhooks.db'];
/** Folders whose files never change, so a hard link of each is enough for a backup. */
const folders = ['blobs', 'segments'];
const underWay = 'incoming';
/** Other files, which are small. */
const files = ['seeded'];

/**
 * Makes and verifies a backup of a data directory before its log gets another format: a folder in it, which is itself a
 * data directory. For the process that holds the directory, before it commits the change.
 *
 * @param from the format of the log on the disk.
 * @throws BrokenLogError if there is no disk space for it, or the copy is not sound.
 */
export function backUpBeforeUpgrade(directory: string, from: number, { noBackup, tell }: UpgradeOptions): void {
  const change = `log.db has format ${from} and is brought to format ${logFormat}, which the version of Annals that wrote it cannot read`;
  if (noBackup) {
    tell(`${change}; no backup is made (--no-backup)`);
    return;
  }
  const head = headOf(directory);
  const name = `before-upgrade-format-${from}-events-${head.size}-${head.root.toString('hex').slice(0, 8)}`;
  const folder = join(directory, name);
  const wayBack =
    `to go back, stop the service and start the earlier version with --data ${folder}: it has ${counted(head.size, 'event')}, and not ` +
    'those that come now; delete the folder when it is not needed any more, for what is erased from now on is still in it';
  // A start that made the backup ended before it had changed the log.
  if (existsSync(folder)) {
    tell(`${change}; there is a backup already; ${wayBack}`);
    return;
  }
  tell(`${change}; a backup is made first in ${folder}`);
  const unfinished = `${folder}.partial`;
  rmSync(unfinished, { recursive: true, force: true });
  try {
    mkdirSync(unfinished, { mode: privateFolder });
    requireRoom(directory, unfinished);
    copyInto(directory, unfinished);
    requireSame(unfinished, head);
    renameSync(unfinished, folder);
    syncPath(directory);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  tell(`the backup is verified; ${wayBack}`);
}

function headOf(directory: string): Head {
  const db = openLogToRead(logFile(directory));
  try {
    return readLog(db).head();
  } finally {
    db.close();
  }
}

function requireRoom(directory: string, folder: string): void {
  const copied = databases.flatMap((name) => [name, `${name}-wal`]).map((name) => join(directory, name));
  const linked = folders.filter((name) => !takesLinks(join(directory, name), folder));
  const all = [...copied, ...linked.flatMap((name) => [...filesIn(join(directory, name))])];
  const needed = all.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  const free = freeBytes(folder);
  if (needed <= free) return;
  throw new BrokenLogError(
    `there is no room in ${directory} for the backup before the upgrade of log.db, and nothing was changed: ${inBytes(needed)} are needed, ` +
      `${inBytes(free)} are free; make room, or save a backup elsewhere (annals backup) and start with --no-backup`,
  );
}

/**
 * Whether the files of a folder can be linked into another folder: it is on the same disk, and the disk has hard links.
 */
function takesLinks(from: string, to: string): boolean {
  const [first] = filesIn(from);
  if (first === undefined) return true;
  const probe = join(to, 'probe');
  try {
    linkSync(first, probe);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** The paths of all files below a folder, which may be missing, without the files of requests under way. */
function* filesIn(folder: string): Generator<string> {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && entry.name !== underWay) yield* filesIn(path);
  }
}

function copyInto(directory: string, folder: string): void {
  for (const name of databases) {
    const [from, to] = [join(directory, name), join(folder, name)];
    if (!existsSync(from)) continue;
    createPrivate(to);
    // A copy of the last commit, without deleted content.
    withDatabase(from, { readonly: true }, (db) => db.prepare('VACUUM INTO ?').run(to));
    syncPath(to);
  }
  for (const name of files)
    if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(folder, name));
  for (const name of folders) {
    for (const path of filesIn(join(directory, name))) {
      const to = join(folder, relative(directory, path));
      mkdirSync(dirname(to), { recursive: true, mode: privateFolder });
      linkOrCopy(path, to);
    }
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Checks a copy of a log. @throws BrokenLogError if it is not sound, or is not the log with this head. */
function requireSame(folder: string, { size, root }: Head): void {
  const db = openLogToRead(logFile(folder), 64);
  try {
    const copied = readLog(db).head();
    const isSame = copied.size === size && copied.root.equals(root);
    const finding = isSame ? verifyLog(db, () => {}) : 'it is not the log that was copied';
    if (finding === null) return;
    throw new BrokenLogError(
      `the backup before the upgrade of log.db is not sound: ${finding}; nothing was changed: annals verify says more`,
    );
  } finally {
    db.close();
  }
}
