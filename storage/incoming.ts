import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobsUnavailableError, type ReceivedFile } from './blobs.ts';
import { files, onDisk } from './disk.ts';
import { notePassed } from './garbage.ts';
import { makePrivateFolderSync } from './private.ts';

/**
 * Writes a stream to a new file of a folder, hashing it on the way; when it resolves the bytes survive a power cut. If
 * it fails, the file is removed. A chunk is read only after the last one was written.
 *
 * @param source an error of it is thrown on; a stream that is refused half way is destroyed.
 * @param look gets every chunk before it is written; its error refuses the file.
 * @throws BlobsUnavailableError if the disk is full or does not work, or the folder is gone.
 */
export async function receiveFile(
  folder: string,
  source: AsyncIterable<Buffer>,
  look: (chunk: Buffer) => void | Promise<void>,
): Promise<ReceivedFile> {
  const path = join(folder, randomUUID());
  const hash = createHash('sha256');
  let size = 0;
  try {
    const file = await onDisk(files.open(path, 'wx', 0o600)).catch((cause) => {
      if (cause instanceof BlobsUnavailableError) throw cause;
      throw new BlobsUnavailableError('unreachable', `the folder ${folder} is gone`, { cause });
    });
    try {
      for await (const chunk of source) {
        await look(chunk);
        hash.update(chunk);
        size += chunk.length;
        await onDisk(files.write(file, chunk));
        notePassed(chunk.length);
      }
      await onDisk(files.sync(file));
    } finally {
      await files.close(file);
    }
  } catch (error) {
    // The first error is the one to tell.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
  return { path, size, sha256: hash.digest('hex') };
}

/** Makes the folder in which files are received, and removes what a process that was killed has left in it. */
export function clearIncoming(folder: string): void {
  makePrivateFolderSync(folder);
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
