import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { codeOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';

const ending = '.away';

/**
 * The folder beside the file of a segment which says that the bucket may have an object of it. The folder is made
 * before the file is sent, and removed after the object is. It holds `index`, the beginning of the file, once the
 * object has been read back; the frames of the events that each start reads; and frames that were fetched.
 *
 * @param path of the file.
 */
export function offloadFolder(path: string): string {
  return `${path}${ending}`;
}

/** The file of the segment whose folder has this name; null for another name. */
export function offloadedFile(name: string): string | null {
  return name.endsWith(`.seg${ending}`) ? name.slice(0, -ending.length) : null;
}

/** Makes the folder of a segment that is about to be sent. */
export function makeOffloadFolder(path: string): void {
  mkdirSync(offloadFolder(path), { recursive: true, mode: 0o700 });
}

/** Removes the frames from a folder, and the index, which says that the object is whole. */
export function emptyOffloadFolder(folder: string): void {
  for (const name of namesIn(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

const indexFile = 'index';
const keptFrame = (first: number) => `${first}.kept`;
const fetchedEnding = '.fetched';
const fetchedFrame = (first: number) => `${first}${fetchedEnding}`;

/** Whether the bucket has a whole segment, so that its file may be removed here. */
export function isOffloaded(path: string): boolean {
  return existsSync(join(offloadFolder(path), indexFile));
}

/** Notes that the bucket has a whole segment. @param kept the frames that stay here. */
export function markOffloaded(path: string, index: Buffer, kept: readonly { first: number; bytes: Buffer }[]): void {
  const folder = offloadFolder(path);
  for (const { first, bytes } of kept) writeWhole(join(folder, keptFrame(first)), bytes);
  writeWhole(join(folder, indexFile), index);
}

/** The beginning of the file of a segment that the bucket has; null if the bucket does not have it. */
export function offloadedIndex(path: string): Buffer | null {
  return readOrNull(join(offloadFolder(path), indexFile));
}

/** The bytes of a frame if the folder has them, because they stayed here or were fetched; else null. */
export function frameInFolder(path: string, first: number): Buffer | null {
  const folder = offloadFolder(path);
  return readOrNull(join(folder, keptFrame(first))) ?? readOrNull(join(folder, fetchedFrame(first)));
}

/** Writes a frame that was fetched into the folder. @throws ENOENT if the folder has been removed. */
export function keepFetchedFrame(path: string, first: number, bytes: Buffer): void {
  writeWhole(join(offloadFolder(path), fetchedFrame(first)), bytes);
}

/** The paths of all frames that were fetched into the folders of a log. @param folder of its segments. */
export function fetchedFramesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => offloadedFile(name) !== null)
    .flatMap((name) => namesIn(join(folder, name)).map((frame) => join(folder, name, frame)))
    .filter((path) => path.endsWith(fetchedEnding));
}

/** The names in a folder; an empty list if there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Writes a file under another name first: other threads and processes read it, and must find it whole. */
function writeWhole(path: string, bytes: Buffer): void {
  const partial = `${path}.${process.pid}-${threadId}.partial`;
  writeFileSync(partial, bytes, { mode: privateFile, flush: true });
  renameSync(partial, path);
}

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}
