import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress } from 'node:zlib';
import { type Segment, segmentsOf } from '../../events/segments/segments.ts';
import { readNamings } from '../../events/service-events/blobs.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import { logFile } from '../../projections/tables/files.ts';
import { version } from '../../server/platform/version.ts';
import { BlobMissingError, type BlobStore } from '../../storage/blobs.ts';
import { privateFile } from '../../storage/private.ts';
import { type ArchiveEntry, type BackupManifest, blobEntry, names, segmentEntry, textEntry } from './archive.ts';
import { type DirectorySnapshot, sizeOf } from './snapshot.ts';

/** The files that a log names, with their sizes in bytes; `missing`: the files that the store does not have. */
type NeededFiles = { files: Map<string, number>; missing: string[] };

/** Looks for the files that a copy of a log names in its events after a position. */
export async function findFiles(folder: string, blobs: BlobStore, after = 0): Promise<NeededFiles> {
  const named = namedIn(folder, after);
  const files = new Map<string, number>();
  const missing: string[] = [];
  for (const sha256 of named) {
    const size = await blobs.size(sha256);
    if (size === null) missing.push(sha256);
    else files.set(sha256, size);
  }
  return { files, missing };
}

/** The files that a log names in its events after a position. */
export function namedIn(folder: string, after = 0): Set<string> {
  const db = openLogToRead(logFile(folder));
  try {
    const size = Number(db.prepare('SELECT size FROM head').pluck().get());
    return new Set(readNamings(db, after, size).map(({ sha256 }) => sha256));
  } finally {
    db.close();
  }
}

/** The facts of a manifest beside the end of the log. */
type Facts = Pick<BackupManifest, 'missing' | 'segments' | 'replica'> & { takenAt: Date };

/** The manifest of the backup of a whole log. */
export function manifestOf(
  { head }: Pick<DirectorySnapshot, 'head'>,
  { missing, segments, replica, takenAt }: Facts,
): BackupManifest {
  const { log, size, root, recordedAt } = head;
  return {
    format: segments === null ? 1 : 2,
    log,
    after: 0,
    beginsWith: null,
    size,
    root: root.toString('base64'),
    recordedAt,
    takenAt: takenAt.toISOString(),
    version: version(),
    missing,
    segments,
    replica,
  };
}

/**
 * The entries of the backup of a whole log, in the order of docs/backup.md: the log comes before the files that it
 * names.
 */
export async function* entriesOf(
  { folder, anchors }: DirectorySnapshot,
  {
    manifest,
    files,
    blobs,
    progress,
  }: { manifest: BackupManifest; files: NeededFiles['files']; blobs: BlobStore; progress: Progress },
): AsyncGenerator<ArchiveEntry> {
  yield textEntry(names.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const { name, text } of anchors) yield textEntry(`blobs/checkpoints/${name}`, text);
  yield fileEntry(names.vault, join(folder, names.vault));
  if (manifest.segments !== null) yield await packedLog(folder);
  else {
    yield fileEntry(names.log, join(folder, names.log));
    for (const { file } of segmentsIn(folder)) yield fileEntry(segmentEntry(file), join(folder, segmentEntry(file)));
  }
  yield* blobEntries(files, blobs, progress);
}

/** The log, compressed: without its segments a quarter is left. */
async function packedLog(folder: string): Promise<ArchiveEntry> {
  const path = join(folder, names.packedLog);
  await pipeline(
    createReadStream(join(folder, names.log), { highWaterMark: 1024 * 1024 }),
    createZstdCompress(),
    createWriteStream(path, { mode: privateFile }),
  );
  return fileEntry(names.packedLog, path);
}

/** The segments of the log of a folder. */
export function segmentsIn(folder: string): Segment[] {
  const db = openLogToRead(logFile(folder));
  try {
    return segmentsOf(db);
  } finally {
    db.close();
  }
}

/** The entries of a round. `note` makes its signed checkpoint, after the vault has been packed. */
export async function* roundEntries(
  folder: string,
  {
    manifest,
    files,
    blobs,
    note,
  }: { manifest: BackupManifest; files: NeededFiles['files']; blobs: BlobStore; note: () => string },
): AsyncGenerator<ArchiveEntry> {
  yield textEntry(names.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of [names.vault, names.events]) yield fileEntry(name, join(folder, name));
  yield textEntry(names.checkpoint, note());
  yield* blobEntries(files, blobs, () => {});
}

/** An entry with the content of a file. */
function fileEntry(name: string, path: string): ArchiveEntry {
  return { name, size: sizeOf(path), content: () => createReadStream(path) };
}

/**
 * An entry for each stored file. One that is gone by now was erased meanwhile: what an event names is not removed
 * otherwise.
 */
async function* blobEntries(
  files: NeededFiles['files'],
  blobs: BlobStore,
  progress: Progress,
): AsyncGenerator<ArchiveEntry> {
  let done = 0;
  for (const [sha256, size] of files) {
    const content = await orGone(blobs.open(sha256));
    if (content) yield { name: blobEntry(sha256), size, content: () => content };
    done += 1;
    progress(done, files.size);
  }
}

async function orGone(opening: Promise<Readable>): Promise<Readable | null> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof BlobMissingError) return null;
    throw error;
  }
}
