import { createReadStream } from 'node:fs';
import { access, constants, opendir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  BlobMissingError,
  type BlobStore,
  BlobsRefusedError,
  BlobsUnavailableError,
  isAnchorName,
  isSha256,
} from './blobs.ts';
import { files, isSystemError, onDisk, syncFolder } from './disk.ts';
import { messageOf } from './errors.ts';
import { makePrivateFolder } from './private.ts';
import { isDiskFull } from './sqlite.ts';

const chunkBytes = 128 * 1024;

/**
 * Keeps files in a folder: `<folder>/ab/abcdef…`, each named by its SHA-256. Files are received in its `incoming`, so a
 * received file becomes a kept one by its new name. The file `annals-log` names the log whose files they are. Anchored
 * texts are in `checkpoints`.
 */
export function openFolderStore(folder: string): BlobStore {
  const incoming = join(folder, 'incoming');
  const marker = join(folder, 'annals-log');
  const anchored = join(folder, 'checkpoints');
  const pathOf = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);

  async function sizeOf(path: string): Promise<number | null> {
    const found = await orNull(stat(path));
    return found?.size ?? null;
  }

  async function keep(path: string, target: string, size: number): Promise<void> {
    await makeFolder(dirname(target));
    // Another size is what a restored or altered folder has; the received bytes are the right ones.
    if ((await sizeOf(target)) !== size) await rename(path, target);
    // Also what was there already: who put it there may not have come as far as this.
    await syncFolder(dirname(target));
    await syncFolder(folder);
  }

  async function anchor(name: string, text: string): Promise<void> {
    const path = join(anchored, name);
    const there = await orNull(readFile(path, 'utf8'));
    if (there === null) {
      await makeFolder(anchored);
      await writeWhole(path, text);
    } else if (there !== text)
      throw new BlobsRefusedError(`the file ${path} does not hold what was anchored under its name`);
    await syncFolder(anchored);
    await syncFolder(folder);
  }

  async function* anchors(from = '') {
    const entries = (await onDisk(orNull(readdir(anchored, { withFileTypes: true })))) ?? [];
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    for (const name of names.filter((one) => isAnchorName(one) && one >= from).sort()) {
      yield { name, read: () => onDisk(readFile(join(anchored, name), 'utf8')) };
    }
  }

  async function isEmpty(): Promise<boolean> {
    for await (const _ of list()) return false;
    for await (const _ of anchors()) return false;
    return true;
  }

  async function* list() {
    for await (const shard of entriesOf(folder)) {
      if (!shard.isDirectory() || !/^[0-9a-f]{2}$/.test(shard.name)) continue;
      for await (const entry of entriesOf(join(folder, shard.name))) {
        if (!entry.isFile() || !isSha256(entry.name) || !entry.name.startsWith(shard.name)) continue;
        const size = await onDisk(sizeOf(pathOf(entry.name)));
        if (size !== null) yield { sha256: entry.name, size };
      }
    }
  }

  return {
    incoming,
    async prepare(logId) {
      try {
        await makePrivateFolder(folder);
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      } catch (error) {
        if (isDiskFull(error)) throw new BlobsUnavailableError('full', `there is no room for the folder ${folder}`);
        throw new BlobsRefusedError(`the folder ${folder} cannot be used: ${messageOf(error)}`);
      }
      const owner = await onDisk(orNull(readFile(marker, 'utf8')));
      if (owner?.trim() !== logId) {
        // An empty one belongs to no log: no other process has the data directory, so none can be about to fill it.
        if (owner !== null && !(await isEmpty())) {
          throw new BlobsRefusedError(`the folder ${folder} holds the files of another log; it may be moved aside`);
        }
        await onDisk(writeWhole(marker, `${logId}\n`));
      }
      await onDisk(syncFolder(dirname(folder)));
    },
    keep: ({ path, size, sha256 }) => onDisk(keep(path, pathOf(sha256), size)),
    async open(sha256, range) {
      const fd = await onDisk(orNull(files.open(pathOf(sha256), 'r')));
      if (fd === null) throw new BlobMissingError(sha256);
      return createReadStream('', { fd, ...range, highWaterMark: chunkBytes });
    },
    size: (sha256) => onDisk(sizeOf(pathOf(sha256))),
    list,
    anchor: (name, text) => onDisk(anchor(name, text)),
    anchors,
    remove: (sha256) => onDisk(rm(pathOf(sha256), { force: true })),
    close() {},
  };
}

/** @throws BlobsUnavailableError also if the folder above was removed, which a mounted one can be and yet be there. */
async function makeFolder(path: string): Promise<void> {
  try {
    await makePrivateFolder(path);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    throw new BlobsUnavailableError('unreachable', `the disk refuses it: ${error.message}`, { cause: error });
  }
}

/**
 * Written beside and renamed: one that is half written would be taken for that of another log, or for an altered one.
 */
async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.part`;
  await writeFile(part, text, { mode: 0o600, flush: true });
  await rename(part, path);
  await syncFolder(dirname(path));
}

async function* entriesOf(folder: string) {
  const entries = await onDisk(orNull(opendir(folder)));
  if (entries) yield* entries;
}

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return null;
    throw error;
  }
}
