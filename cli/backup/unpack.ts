import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { readLog } from '../../events/log/log-reader.ts';
import { openNote, parseCheckpoint, parseVerifierKey } from '../../events/proof/notes.ts';
import type { Seals } from '../../events/proof/seals.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { openVault, withVault } from '../../events/vault/vault.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import { logFile, removeDatabase } from '../../projections/tables/files.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { BlobStore } from '../../storage/blobs.ts';
import { unfinishedRestore, writing } from '../../storage/data-directory.ts';
import { syncFolder } from '../../storage/disk.ts';
import { codeOf } from '../../storage/errors.ts';
import { makePrivateFolderSync, privateFile } from '../../storage/private.ts';
import { anchorIn, BackupError, type BackupManifest, blobIn, names, segmentIn } from './archive.ts';
import { UnsoundError } from './making.ts';
import { segmentsIn } from './pack.ts';
import { appendStored, type EventTexts, openRestored, readEventLine } from './rewriting.ts';
import { fetchSegments } from './segment-objects.ts';
import { type BackupReading, readBackup } from './sources.ts';

/**
 * Makes the folder that a restore works in, in an empty data directory.
 *
 * @throws UsageError if the directory holds anything.
 */
export function takeEmpty(directory: string): string {
  const held = existsSync(directory) ? readdirSync(directory).filter((name) => name !== 'lost+found') : [];
  const [first] = held;
  if (first !== undefined) {
    const isStopped = held.length === 1 && first === unfinishedRestore;
    const what = isStopped ? 'a restore was stopped there; delete it' : `it holds ${first}`;
    throw new UsageError(`${directory} is not empty: ${what}. A restore needs an empty folder, which --data names`);
  }
  const folder = join(directory, unfinishedRestore);
  writing(folder, () => makePrivateFolderSync(folder));
  return folder;
}

/**
 * Reads the vault and the log of a backup into a folder. The files, which come after them, are left out.
 *
 * @throws UnsoundError if segments beside the backup are missing or altered.
 */
export async function unpackLog(reading: BackupReading, folder: string): Promise<BackupManifest> {
  const found: string[] = [];
  const { manifest } = await readBackup(reading, async (_manifest, name, content) => {
    if (blobIn(name) !== null) return 'stop';
    if (name === names.vault || name === names.log) {
      await save(content, join(folder, name));
      found.push(name);
    }
    if (name === names.packedLog) {
      await saveUnpacked(content, join(folder, names.log));
      found.push(names.log);
    }
    if (segmentIn(name) !== null) {
      makePrivateFolderSync(join(folder, 'segments'));
      await save(content, join(folder, name));
    }
    return undefined;
  });
  for (const name of [names.vault, names.log]) {
    if (!found.includes(name))
      throw new StartError(`${reading.source.name} has no ${name}: it is not a backup of a whole log`);
  }
  if (manifest.segments !== null) await unpackSegments(reading, manifest.segments, folder);
  return manifest;
}

const shownFaults = 3;

async function unpackSegments({ source, identities }: BackupReading, names: readonly string[], folder: string) {
  const place = source.segments;
  const faults = await fetchSegments(segmentsIn(folder), names, {
    place,
    folder,
    identities,
    progress: showProgress('fetching segments'),
  });
  if (faults.length === 0) return;
  const more = faults.length > shownFaults ? [`and ${faults.length - shownFaults} more`] : [];
  throw new UnsoundError([...faults.slice(0, shownFaults), ...more].join('; '));
}

/**
 * Unpacks a round: appends its events to the log of a folder, and replaces the vault there.
 *
 * @throws StartError if the round does not begin where the log ends, or its checkpoint is not of the resulting log.
 */
export async function unpackRound(reading: BackupReading, folder: string): Promise<BackupManifest> {
  const vault = join(folder, 'vault.db');
  let note = '';
  const { name } = reading.source;
  const { manifest } = await readBackup(reading, async ({ log, after, beginsWith }, entry, content) => {
    if (blobIn(entry) !== null) return 'stop';
    if (entry === names.checkpoint) note = Buffer.concat(await content.toArray()).toString();
    if (entry === names.vault) {
      const head = headOf(folder);
      if (log !== head.log || after !== head.size || beginsWith !== head.root.toString('base64'))
        throw new StartError(`${name} does not go on from the backup before it`);
      removeDatabase(vault);
      await save(content, vault);
    }
    if (entry === names.events) {
      const seals = sealsOf(folder);
      const db = openRestored(folder, seals);
      try {
        await appendStored(db, seals, linesOf(content));
      } finally {
        db.close();
      }
    }
    return undefined;
  });
  const head = headOf(folder);
  const verifiers = withVault(vault, ({ known }) => known(head.log)).map(({ verifierKey }) =>
    parseVerifierKey(verifierKey),
  );
  const signed = parseCheckpoint(openNote(note, verifiers)?.text ?? '');
  if (signed?.size !== head.size || !signed.root.equals(head.root))
    throw new StartError(`${name} was altered: its checkpoint is not of the log that its events give`);
  return manifest;
}

async function* linesOf(content: Readable): AsyncGenerator<EventTexts> {
  for await (const line of createInterface({ input: content, crlfDelay: Number.POSITIVE_INFINITY }))
    yield readEventLine(line);
}

/**
 * Which files of a backup are kept, and in which store, that of the restored service. The kept ones are added to
 * `kept`.
 */
type Keeping = { needed: ReadonlySet<string>; kept: Set<string>; store: BlobStore; progress: Progress };

/**
 * Reads a whole backup, and keeps its checkpoints and the files that a log needs. One that was altered before is left
 * out.
 */
export async function unpackFiles(reading: BackupReading, { needed, kept, store, progress }: Keeping): Promise<void> {
  makePrivateFolderSync(store.incoming);
  await readBackup(reading, async (_manifest, name, content, size) => {
    const anchor = anchorIn(name);
    if (anchor !== null) await store.anchor(anchor, Buffer.concat(await content.toArray()).toString());
    const sha256 = blobIn(name);
    if (sha256 === null || !needed.has(sha256)) return undefined;
    const path = join(store.incoming, sha256);
    if ((await save(content, path)) === sha256) {
      await store.keep({ path, size, sha256 });
      kept.add(sha256);
    }
    rmSync(path, { force: true });
    progress(kept.size, needed.size);
    return undefined;
  });
}

/** @returns the SHA-256 of the file. */
async function save(content: Readable, path: string): Promise<string> {
  const digest = createHash('sha256');
  content.on('data', (chunk: Buffer) => digest.update(chunk));
  await pipeline(content, createWriteStream(path, { mode: privateFile, flush: true }));
  return digest.digest('hex');
}

/** @throws BackupError for bytes that were not compressed so. */
async function saveUnpacked(content: Readable, path: string): Promise<void> {
  try {
    await pipeline(content, createZstdDecompress(), createWriteStream(path, { mode: privateFile, flush: true }));
  } catch (error) {
    if (!codeOf(error)?.startsWith('ZSTD_') && codeOf(error) !== 'Z_BUF_ERROR') throw error;
    throw new BackupError(`was altered: ${names.packedLog} cannot be decompressed`);
  }
}

/** The means to seal a log, from the vault that was restored with it. */
export function sealsOf(folder: string): Seals {
  const vault = openVault(join(folder, 'vault.db'));
  try {
    return vault.seals();
  } finally {
    vault.close();
  }
}

/** The end of the log of a folder. */
export function headOf(folder: string) {
  const db = openLogToRead(logFile(folder));
  try {
    return readLog(db).head();
  } finally {
    db.close();
  }
}

/**
 * Puts what was restored into its place. The log comes last: a directory without one holds nothing that could be
 * started.
 */
export async function moveOut(folder: string, directory: string): Promise<void> {
  const last = ['log.db'];
  const all = readdirSync(folder).filter((name) => !/^(lock\.|.*-(wal|shm)$)/.test(name));
  for (const name of [...all.filter((one) => !last.includes(one)), ...last])
    renameSync(join(folder, name), join(directory, name));
  rmSync(folder, { recursive: true });
  await syncFolder(directory);
  await syncFolder(dirname(directory));
}
