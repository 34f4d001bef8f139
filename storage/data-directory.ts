import { randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from './disk.ts';
import { makePrivateFolderSync, privateFile } from './private.ts';

/** The folder in a data directory in which `annals restore` works until it is done. */
export const unfinishedRestore = 'restoring';

/** Thrown if a data directory cannot be used. The message is a single line that says what to do. */
export class UnwritableError extends Error {
  override name = 'UnwritableError';
}

const { R_OK, W_OK, X_OK } = constants;
const hasModes = process.platform !== 'win32';
const forOthers = 0o077;

/** The files that the service itself keeps in a data directory. There may be other files beside them. */
const own =
  /^((log|vault|lock|read-[\da-f]+)\.db(\.[\w-]+?)?(-wal|-shm|-journal)?|lock\.json|room\.probe|backup\.json|seeded|directory-id|replica|openapi(-audit)?\.cache)$/;

/**
 * Makes a data directory if it is missing, and removes the access of other users to its files, because earlier versions
 * let everybody read them. Returns a warning for each path that others can still reach.
 *
 * @throws UnwritableError if this user may not write there.
 */
export function prepareDirectory(path: string): string[] {
  return writing(path, () => {
    makeFolder(path);
    accessSync(path, R_OK | W_OK | X_OK);
    const entries = readdirSync(path, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && own.test(entry.name)).map(({ name }) => name);
    const open = files.filter((name) => !leaveToOwner(join(path, name)));
    return [...warningOf(path), ...warningsOf(path, open)];
  });
}

/**
 * The id of a data directory, which differs from the ids of its copies. It consists of the content of a file in the
 * directory, which is made if it is missing, and of the inode of this file, which differs in a copy.
 */
export function directoryId(path: string): string {
  const file = join(path, 'directory-id');
  if (!existsSync(file)) {
    writeFileSync(`${file}.partial`, randomUUID(), { mode: privateFile, flush: true });
    renameSync(`${file}.partial`, file);
  }
  return `${readFileSync(file, 'utf8').trim()} ${statSync(file, { bigint: true }).ino}`;
}

/**
 * Runs a function that writes to a data directory, or to a file there.
 *
 * @throws UnwritableError if the file system or the file modes do not allow it.
 */
export function writing<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const meaning = meaningOf(error.code);
    if (meaning === null) throw error;
    throw new UnwritableError(`${error.path ?? path} ${meaning}`, { cause: error });
  }
}

const another = 'name another data directory';

/**
 * The meaning of an error of the system, as the end of a sentence that begins with the path; null for an error that
 * needs no explanation.
 */
function meaningOf(code: string): string | null {
  switch (code) {
    case 'EROFS':
      return `cannot be written, its file system is mounted read-only: mount it for writing, or ${another}`;
    case 'EACCES':
    case 'EPERM':
      return `cannot be read and written by the user that runs this${whoAmI()}: give it to that user, with all that is in it, or ${another}`;
    case 'EEXIST':
      return `is not a folder: ${another}`;
    case 'ENOTDIR':
      return `is below something that is not a folder: ${another}`;
    default:
      return null;
  }
}

function whoAmI(): string {
  return process.getuid ? ` (uid ${process.getuid()})` : '';
}

function makeFolder(path: string): void {
  try {
    makePrivateFolderSync(path);
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT')
      throw new UnwritableError(
        `${path} cannot be made, because nothing can be made in ${nearestOf(path)}: ${another}`,
      );
    // The message names a folder that exists.
    if (isSystemError(error) && error.code === 'EROFS') accessSync(nearestOf(path), W_OK);
    throw error;
  }
}

function nearestOf(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestOf(dirname(path));
}

/** Restricts a file to its owner. False if the owner is another user, who lets us use the file. */
function leaveToOwner(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  // SQLite's files beside a database come and go.
  if (!stats) return true;
  accessSync(path, R_OK | W_OK);
  if (!hasModes || (stats.mode & forOthers) === 0) return true;
  try {
    chmodSync(path, privateFile);
    return true;
  } catch (error) {
    if (isSystemError(error) && error.code === 'EPERM') return false;
    throw error;
  }
}

function warningOf(path: string): string[] {
  const { mode } = statSync(path);
  if (!hasModes || (mode & forOthers) === 0) return [];
  const octal = (mode & 0o7777).toString(8).padStart(4, '0');
  return [`the data directory ${path} is open to others (mode ${octal}): chmod 700 ${path}`];
}

function warningsOf(path: string, open: readonly string[]): string[] {
  if (open.length === 0) return [];
  const paths = open.map((name) => join(path, name)).join(' ');
  return [
    `files of the data directory are open to others, and belong to another user, who can close them: chmod 600 ${paths}`,
  ];
}
