import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inBytes } from '../config/counted.ts';
import { UnwritableError } from '../storage/data-directory.ts';
import { freeBytes } from '../storage/disk.ts';
import { codeOf } from '../storage/errors.ts';
import { isUnopened, withDatabase } from '../storage/sqlite.ts';

/** A folder to read a data directory from, and what is called when it has been read. */
export type ReadableCopy = { directory: string; done: () => void };

/** The databases of a data directory that are read, with what SQLite keeps beside them. */
const databases = /^(log|vault|(read|search)-[\da-f]+)\.db$/;
const beside = /\.db-(wal|shm|journal)$/;
const ofTables = /^(read|search)-/;

/**
 * Gives a folder to read a data directory from. SQLite makes files beside a database to read it, and a check makes some
 * too. If nothing can be written to the directory, the folder is a temporary one: it has links, and copies of the
 * databases that cannot be opened in the directory, with their write-ahead logs.
 *
 * @param withTables whether the read tables are read as well.
 * @throws UnwritableError if there is no disk space for the copies.
 */
export function openReadable(data: string, withTables: boolean): ReadableCopy {
  const directory = resolve(data);
  if (isWritable(directory)) return { directory, done: () => {} };
  removeLeftOver();
  const folder = mkdtempSync(join(tmpdir(), `annals-read-${process.pid}-`));
  const done = () => rmSync(folder, { recursive: true, force: true });
  try {
    const names = readdirSync(directory).filter((name) => !beside.test(name) && (withTables || !ofTables.test(name)));
    const copied = names.filter((name) => databases.test(name) && !opensAt(join(directory, name)));
    requireRoom(directory, folder, copied);
    for (const name of copied) copyDatabase(join(directory, name), join(folder, name));
    for (const name of names) if (!copied.includes(name)) symlinkSync(join(directory, name), join(folder, name));
    return { directory: folder, done };
  } catch (error) {
    done();
    throw error;
  }
}

/** Removes the folders of commands that were killed: they hold copies of keys. */
function removeLeftOver(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^annals-read-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Whether files can be made in a folder. */
export function isWritable(folder: string): boolean {
  return allows(folder, constants.W_OK | constants.X_OK);
}

function allows(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether SQLite opens a file in its directory, as it does while another process has it open. True for a file that is
 * damaged or that this user may not read: the command itself reports that, if it needs the file.
 */
function opensAt(path: string): boolean {
  if (!allows(path, constants.R_OK)) return true;
  try {
    withDatabase(path, { readonly: true, cacheMiB: 1 }, (db) => db.prepare('SELECT 1 FROM sqlite_schema').get());
    return true;
  } catch (error) {
    return !isUnopened(error) && !codeOf(error)?.startsWith('SQLITE_READONLY');
  }
}

function requireRoom(directory: string, folder: string, names: readonly string[]): void {
  const needed = names
    .flatMap((name) => [name, `${name}-wal`])
    .reduce((sum, name) => sum + sizeOf(join(directory, name)), 0);
  const free = freeBytes(folder);
  if (needed <= free) return;
  throw new UnwritableError(
    `nothing can be written to ${directory}, so it is read from a copy, for which ${tmpdir()} has no room: ${inBytes(needed)} are ` +
      `needed, ${inBytes(free)} are free; TMPDIR names another folder`,
  );
}

/** @throws UnwritableError if another process writes to the file meanwhile. */
function copyDatabase(from: string, to: string): void {
  const before = stateOf(from);
  for (const end of ['', '-wal']) {
    if (sizeOf(from + end) === 0) continue;
    copyFileSync(from + end, to + end, constants.COPYFILE_FICLONE);
    chmodSync(to + end, 0o600);
  }
  if (stateOf(from) !== before)
    throw new UnwritableError(`${from} was written to while it was copied: run the command again`);
}

function stateOf(path: string): string {
  const states = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false }));
  return states.map((state) => `${state?.size} ${state?.mtimeMs}`).join();
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
