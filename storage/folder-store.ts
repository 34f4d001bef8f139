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

/** A folder of files: `<folder>/ab/abcdef…`, each named by its SHA-256. */
type Folder = {
  folder: string;
  /** The folder in which files are received, on the same disk, so that a rename stores a received file. */
  incoming: string;
  /** The file that names the log to which the files belong. */
  marker: string;
  /** The folder of anchored texts. */
  anchored: string;
};

/** Opens a store that keeps files in a folder. */
export function openFolderStore(folder: string): BlobStore {
  const paths: Folder = {
    folder,
    incoming: join(folder, 'incoming'),
    marker: join(folder, 'annals-log'),
    anchored: join(folder, 'checkpoints'),
  };
  const pathOf = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);

  return {
    incoming: paths.incoming,
    prepare: (logId) => prepare(paths, logId),
    keep: ({ path, size, sha256 }) => onDisk(keep({ path, size }, pathOf(sha256), folder)),
    async open(sha256, range) {
      const fd = await onDisk(orNull(files.open(pathOf(sha256), 'r')));
      if (fd === null) throw new BlobMissingError(sha256);
      return createReadStream('', { fd, ...range, highWaterMark: chunkBytes });
    },
    size: (sha256) => onDisk(sizeOf(pathOf(sha256))),
    list: () => list(folder),
    anchor: (name, text) => onDisk(anchor(paths, name, text)),
    anchors: (from) => anchors(paths, from),
    remove: (sha256) => onDisk(rm(pathOf(sha256), { force: true })),
    close() {},
  };
}

async function prepare(paths: Folder, logId: string): Promise<void> {
  const { folder, marker } = paths;
  try {
    await makePrivateFolder(folder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isDiskFull(error)) throw new BlobsUnavailableError('full', `there is no room for the folder ${folder}`);
    throw new BlobsRefusedError(`the folder ${folder} cannot be used: ${messageOf(error)}`);
  }
  const owner = await onDisk(orNull(readFile(marker, 'utf8')));
  if (owner?.trim() !== logId) {
    // An empty folder belongs to no log. This process holds the data directory, so no other process is about to fill
    // the folder.
    if (owner !== null && !(await isEmpty(paths))) {
      throw new BlobsRefusedError(
        `the folder ${folder} holds the files of another log; move the folder aside, or name the right data directory`,
      );
    }
    await onDisk(writeWhole(marker, `${logId}\n`));
  }
  await onDisk(syncFolder(dirname(folder)));
}

async function keep(received: { path: string; size: number }, target: string, folder: string): Promise<void> {
  await makeFolder(dirname(target));
  // In a restored or altered folder the file may have another size: the received bytes are the right ones.
  if ((await sizeOf(target)) !== received.size) await rename(received.path, target);
  // The folders are synced even if the file was there: the process that stored it may have crashed before its sync.
  await syncFolder(dirname(target));
  await syncFolder(folder);
}

async function sizeOf(path: string): Promise<number | null> {
  const found = await orNull(stat(path));
  return found?.size ?? null;
}

async function anchor({ folder, anchored }: Folder, name: string, text: string): Promise<void> {
  const path = join(anchored, name);
  const there = await orNull(readFile(path, 'utf8'));
  if (there === null) {
    await makeFolder(anchored);
    await writeWhole(path, text);
  } else if (there !== text)
    throw new BlobsRefusedError(`the file ${path} does not contain the text that was anchored under its name`);
  await syncFolder(anchored);
  await syncFolder(folder);
}

async function* anchors({ anchored }: Folder, from = '') {
  const entries = (await onDisk(orNull(readdir(anchored, { withFileTypes: true })))) ?? [];
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  for (const name of names.filter((one) => isAnchorName(one) && one >= from).sort()) {
    yield { name, read: () => onDisk(readFile(join(anchored, name), 'utf8')) };
  }
}

async function isEmpty(paths: Folder): Promise<boolean> {
  for await (const _ of list(paths.folder)) return false;
  for await (const _ of anchors(paths)) return false;
  return true;
}

async function* list(folder: string) {
  for await (const shard of entriesOf(folder)) {
    if (!shard.isDirectory() || !/^[0-9a-f]{2}$/.test(shard.name)) continue;
    for await (const entry of entriesOf(join(folder, shard.name))) {
      if (!entry.isFile() || !isSha256(entry.name) || !entry.name.startsWith(shard.name)) continue;
      const size = await onDisk(sizeOf(join(folder, shard.name, entry.name)));
      if (size !== null) yield { sha256: entry.name, size };
    }
  }
}

/** @throws BlobsUnavailableError also if the parent folder was removed, which can happen to a mounted one. */
async function makeFolder(path: string): Promise<void> {
  try {
    await makePrivateFolder(path);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
    throw new BlobsUnavailableError('unreachable', `the disk refuses it: ${error.message}`, { cause: error });
  }
}

/** Writes a file beside its path and renames it, because a half-written file would count as altered. */
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
