import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobsUnavailableError, type ReceivedFile } from './blobs.ts';
import { files, onDisk } from './disk.ts';
import { notePassed } from './garbage.ts';
import { makePrivateFolderSync } from './private.ts';

/**
 * Writes a stream to a new file in a folder, and hashes it on the way. When it resolves, the file survives a power cut.
 * If it fails, the file is removed. A chunk is read only after the previous one was written.
 *
 * @param source its errors are passed on; a stream that is refused half-way is destroyed.
 * @param look receives every chunk before it is written; if it throws, the file is refused.
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
    // Only the first error is reported.
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
  return { path, size, sha256: hash.digest('hex') };
}

/** Makes the folder in which files are received, and removes the files of killed processes from it. */
export function clearIncoming(folder: string): void {
  makePrivateFolderSync(folder);
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
