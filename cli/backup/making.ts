import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../config/counted.ts';
import { checkpointText } from '../../events/proof/notes.ts';
import type { Head } from '../../events/proof/seals.ts';
import { readReplicaMark } from '../../events/replica/replica-mark.ts';
import { openVault } from '../../events/vault/vault.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import { privateFile } from '../../storage/private.ts';
import { existingLog } from '../data-directory.ts';
import { existingVault, refuseReplica } from '../held-directory.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';
import { archiveOf, type BackupManifest, blobIn, readArchive } from './archive.ts';
import { encrypted } from './encryption.ts';
import { erasuresFile } from './erasures-file.ts';
import { entriesOf, findFiles, manifestOf, roundEntries, segmentsIn } from './pack.ts';
import { takeRound, takeScratch, takeSnapshot } from './snapshot.ts';

/** Thrown for a log that is not sound: a backup of it would replace a sound one. */
export class UnsoundError extends Error {
  override name = 'UnsoundError';
}

/** A backup that was made. */
export type MadeBackup = {
  manifest: BackupManifest;
  /** The number of uploaded files in it. */
  files: number;
  /** The names of stored files whose SHA-256 is not their name. */
  altered: string[];
  path: string;
  bytes: number;
  sha256: string;
  /** The signed list of all erasures of the log; null if the vault has no key. */
  erasures: string | null;
};

/** Where a backup goes. */
type Target = {
  /** The path of the archive, given the folder that the backup works in. */
  pathIn: (scratch: string) => string;
  recipients: readonly string[];
  /** Names a segment of the log outside of the archive, which then has the names alone. */
  nameSegment?: (file: string) => string;
  /** Called while the folder is there, and before another backup of this directory may begin. */
  deliver?: (made: MadeBackup, segments: SegmentFiles) => Promise<void>;
};

/** The segments of the log that was saved: their files in the folder. */
type SegmentFiles = { folder: string; files: readonly string[] };

/**
 * Makes a backup of a data directory beside its service: checks the log in it, writes it, and reads it again.
 *
 * @throws UnsoundError; LockedError when another backup is being made.
 */
export async function makeBackup(
  settings: Settings,
  { pathIn, recipients, nameSegment, deliver }: Target,
): Promise<MadeBackup> {
  const directory = existingLog(settings);
  existingVault(directory);
  const { folder, release } = takeScratch(directory);
  const blobs = openBlobStore(blobSettingsOf(settings));
  try {
    const takenAt = new Date();
    const replica = readReplicaMark(directory)?.token ?? null;
    const snapshot = await takeSnapshot({
      directory,
      scratch: folder,
      blobs,
      progress: showProgress('copying the log'),
    });
    const { finding } = verifyWithProgress(folder);
    if (finding !== null) throw new UnsoundError(finding);
    const { files, missing } = await findFiles(folder, blobs);
    const archived = segmentsIn(folder).map(({ file }) => file);
    const segments = nameSegment ? archived.map(nameSegment) : null;
    const manifest = manifestOf(snapshot, { missing, segments, replica, takenAt });
    const entries = entriesOf(snapshot, { manifest, files, blobs, progress: showProgress('copying files') });
    const altered: string[] = [];
    const onEntry = (name: string, sha256: string) => {
      const blob = blobIn(name);
      if (blob !== null && blob !== sha256) altered.push(blob);
    };
    const path = pathIn(folder);
    const written = await writeArchive(archiveOf(entries, { mtime: takenAt, onEntry }), { path, recipients });
    // The erasures come last: to sign them may write to the vault in the folder.
    const made = { manifest, files: files.size, altered, path, ...written, erasures: erasuresFile(folder, folder) };
    await deliver?.(made, { folder, files: archived });
    return made;
  } finally {
    blobs.close();
    release();
  }
}

/** The head of a log, up to which a series has it. */
export type SeriesEnd = Pick<Head, 'size' | 'root'>;

/**
 * Makes a round beside the service: the vault, the events after the end of the last one, the files that these name, and
 * a signed checkpoint.
 *
 * @returns null if the log has not grown.
 * @throws UnsoundError if the log is not the one of the series any more; StartError for the data directory of a node.
 */
export async function makeRound(
  settings: Settings,
  end: SeriesEnd,
  { pathIn, recipients, deliver }: Target,
): Promise<SeriesEnd | null> {
  const directory = existingLog(settings);
  refuseRounds(directory);
  const { folder, release } = takeScratch(directory);
  const blobs = openBlobStore(blobSettingsOf(settings));
  try {
    const takenAt = new Date();
    const round = await takeRound({ directory, scratch: folder }, end);
    if (round === 'unchanged') return null;
    if (round === 'another') throw new UnsoundError('the log is not the one that was saved before');
    const { head, beginsWith } = round;
    const { files, missing } = await findFiles(directory, blobs, end.size);
    const facts = { missing, segments: null, replica: null, takenAt };
    const manifest = { ...manifestOf({ head }, facts), after: end.size, beginsWith };
    // The vault is packed before it is opened to sign.
    const entries = roundEntries(folder, { manifest, files, blobs, note: () => checkpointOf(folder, head, takenAt) });
    const path = pathIn(folder);
    const written = await writeArchive(archiveOf(entries, { mtime: takenAt }), { path, recipients });
    const erasures = erasuresFile(directory, folder);
    await deliver?.({ manifest, files: files.size, altered: [], path, ...written, erasures }, { folder, files: [] });
    return head;
  } finally {
    blobs.close();
    release();
  }
}

/** @throws StartError for the data directory of a node: no rounds are made of it. */
export function refuseRounds(directory: string): void {
  refuseReplica(
    directory,
    'annals backup --follow',
    'the key that signs rounds is there too. --every makes whole backups, which copy no segment twice',
  );
}

function checkpointOf(folder: string, { log, size, root }: Head, time: Date): string {
  const vault = openVault(join(folder, 'vault.db'));
  try {
    return vault.logKeys.current(log).signer.sign(checkpointText(log, { size, root, time: time.toISOString() }));
  } finally {
    vault.close();
  }
}

/** Writes an archive durably, and reads the file again to compare its bytes. */
async function writeArchive(archive: Readable, { path, recipients }: { path: string; recipients: readonly string[] }) {
  const digest = createHash('sha256');
  let bytes = 0;
  await pipeline(
    await encrypted(archive, recipients),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        digest.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: privateFile, flush: true }),
  );
  const sha256 = digest.digest('hex');
  if ((await sha256Of(path)) !== sha256)
    throw new StartError(`the disk does not give back what was written to ${path}`);
  if (recipients.length === 0) await readArchive(createReadStream(path), async () => undefined);
  return { bytes, sha256 };
}

async function sha256Of(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) digest.update(chunk);
  return digest.digest('hex');
}

/** The end of the log in a backup. */
export function upTo({ size, recordedAt }: BackupManifest): string {
  return `the log up to event ${size} of ${recordedAt}`;
}

/** Tells of files that are not in a backup as they should be. @returns the exit code. */
export function tellMissing({ manifest: { missing }, altered }: MadeBackup): number {
  const look = 'annals blobs verify tells which';
  if (missing.length > 0)
    print(`the store does not have ${counted(missing.length, 'file')} that the log names: ${look}`);
  if (altered.length > 0) print(`the store has ${counted(altered.length, 'altered file')}: ${look}`);
  return missing.length + altered.length > 0 ? 1 : 0;
}

/** Prints a line on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
