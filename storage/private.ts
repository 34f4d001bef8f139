import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './errors.ts';

/** The modes of what is for the user of this process alone. Windows knows no modes. */
export const privateFile = 0o600;
export const privateFolder = 0o700;

/**
 * Makes an empty file that its owner alone may read and write, unless it is there. The files that SQLite puts beside
 * one have the mode of that one.
 */
export function createPrivate(path: string): void {
  try {
    // An existing file is not opened: to close it would drop the locks that this process has on it (POSIX).
    closeSync(openSync(path, 'wx', privateFile));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Makes a folder, and the missing ones above it, for its owner alone. `recursive` of Node never ends in a folder that
 * exists and takes nothing: one that was removed while it is mounted or the working directory, and folders in /proc.
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

/** Does the same before it returns. */
export function makePrivateFolderSync(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makePrivateFolderSync(parent);
  try {
    mkdirSync(path, { mode: privateFolder });
  } catch (error) {
    if (!existsSync(path) || !statSync(path).isDirectory()) throw error;
  }
}
