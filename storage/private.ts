import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './errors.ts';

/** The modes of files and folders that only the user of this process may access. Windows has no modes. */
export const privateFile = 0o600;
export const privateFolder = 0o700;

/**
 * Makes an empty file that only its owner may read and write, unless the file exists. SQLite gives the files beside a
 * database the mode of the database.
 */
export function createPrivate(path: string): void {
  try {
    // An existing file is not opened, because closing it would drop the locks that this process has on it (POSIX).
    closeSync(openSync(path, 'wx', privateFile));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Makes a folder and its missing parents, only for the owner. The option `recursive` of Node loops for ever in a folder
 * that exists but accepts no entries: a folder that was removed while it is mounted or the working directory, and
 * folders in /proc.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const parent = dirname(path);
  const isThere = await access(parent).then(
    () => true,
    () => parent === path,
  );
  if (!isThere) await makePrivateFolder(parent);
  try {
    await mkdir(path, { mode: privateFolder });
  } catch (error) {
    const found = await stat(path).catch(() => null);
    if (!found?.isDirectory()) throw error;
  }
}

/** As {@link makePrivateFolder}, but synchronous. */
export function makePrivateFolderSync(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makePrivateFolderSync(parent);
  try {
    mkdirSync(path, { mode: privateFolder });
  } catch (error) {
    if (!existsSync(path) || !statSync(path).isDirectory()) throw error;
  }
}
