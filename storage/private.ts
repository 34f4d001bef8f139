import { closeSync, openSync } from 'node:fs';
import { codeOf } from './errors.ts';

/** The modes of what is for the user of this process alone. Windows knows no modes. */
export const privateFile = 0o600;
export const privateFolder = 0o700;

/**
 * Makes an empty file that its owner alone may read and write, unless it is there. The files that SQLite puts beside one have the mode of
 * that one.
 */
export function createPrivate(path: string): void {
  try {
    // One that is there is not opened: closed again, it would take the locks with it that this process has on it (POSIX).
    closeSync(openSync(path, 'wx', privateFile));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
