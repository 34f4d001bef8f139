import * as fs from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { BlobsUnavailableError } from './blobs.ts';
import { isDiskFull, isOutOfFiles } from './sqlite.ts';

/**
 * Waits for a call to the file system.
 *
 * @throws BlobsUnavailableError if the disk is full or does not work (gone, read-only, too many open files). The error
 *   of a missing file is thrown unchanged.
 */
export async function onDisk<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (isDiskFull(error)) throw new BlobsUnavailableError('full', 'there is no room on the disk', { cause: error });
    if (!isSystemError(error) || error.code === 'ENOENT') throw error;
    if (isOutOfFiles(error))
      throw new BlobsUnavailableError('unreachable', 'too many files are open', { cause: error });
    throw new BlobsUnavailableError('unreachable', `the disk refuses it: ${error.message}`, { cause: error });
  }
}

/**
 * Files by their numbers, as `node:fs` has them: a handle that is forgotten, as by a reader who is gone without a word,
 * ends the process.
 */
export const files = {
  open: promisify(fs.open),
  /** Writes all of the bytes at the end of the last write. */
  write: promisify(fs.writeFile),
  sync: promisify(fs.fsync),
  close: promisify(fs.close),
};

/** Makes the entries of a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  // Windows opens no folder as a file.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Free room of the disk that a folder is on, in bytes, for those who are not root. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize;
}

/** True for what a call to the operating system throws; `code` is the name of the error, such as `ENOENT`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}
