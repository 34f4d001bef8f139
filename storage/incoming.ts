import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BlobsUnavailableError, type ReceivedFile } from './blobs.ts';
import { isDiskFull } from './sqlite.ts';

/**
 * Writes a stream to a new file of a folder, hashing it on the way; when it resolves the bytes survive a power cut. Whatever
 * goes wrong, nothing is left of it.
 *
 * @param look is shown every chunk before it is written; what it throws refuses the file.
 * @throws BlobsUnavailableError `full`.
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
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const chunk of source) {
        await look(chunk);
        hash.update(chunk);
        size += chunk.length;
        await file.writeFile(chunk);
      }
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(path, { force: true });
    if (isDiskFull(error)) throw new BlobsUnavailableError('full', 'there is no room on the disk for the file');
    throw error;
  }
  return { path, size, sha256: hash.digest('hex') };
}

/** Makes the folder in which files are received, and removes what a process that was killed has left in it. */
export function clearIncoming(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}
