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
 * File operations on plain descriptors. A forgotten `FileHandle`, for example of a reader that is gone, would end the
 * process when it is collected.
 */
export const files = {
  open: promisify(fs.open),
  /** Writes all bytes, after those of the last write. */
  write: promisify(fs.writeFile),
  sync: promisify(fs.fsync),
  close: promisify(fs.close),
};

/** Makes the entries of a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder as a file.
  if (process.platform === 'win32') return;
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The free space on the disk of a folder, in bytes, for users other than root. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize;
}

/** True for an error of a call to the operating system. `code` is the name of the error, such as `ENOENT`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
}
