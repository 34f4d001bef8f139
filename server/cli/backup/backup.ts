import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../../config/counted.ts';
import { verifyDirectory } from '../../../projections/verify.ts';
import { openBlobStore } from '../../../storage/blob-store.ts';
import { syncFolder } from '../../../storage/disk.ts';
import { privateFile } from '../../../storage/private.ts';
import { blobSettingsOf } from '../../files/blobs/store.ts';
import { showProgress } from '../../platform/progress.ts';
import { readSettings } from '../../settings/command.ts';
import { type Settings, UsageError } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';
import { existingLog } from '../data.ts';
import { existingVault } from '../writing.ts';
import { archiveOf, blobIn, type Manifest, readArchive } from './archive.ts';
import { encrypted, readRecipients } from './encryption.ts';
import { entriesOf, findFiles, manifestOf } from './pack.ts';
import { takeScratch, takeSnapshot } from './snapshot.ts';

/** `annals backup --out FILE`: exit 0 saved, 1 the log is not sound or files are missing, 2 could not run. */
export async function backup(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, {
    settings: ['data'],
    flags: { out: 'string', force: 'boolean', recipient: 'list' },
  });
  if (flags.out === undefined) throw new UsageError('--out is missing: the file to write');
  const file = resolve(flags.out);
  refuseFile(file, flags.force === true);
  const recipients = await readRecipients(flags.recipient ?? []);
  const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`);
  try {
    const made = await makeBackup(settings, { path: partial, recipients });
    refuseFile(file, flags.force === true);
    renameSync(partial, file);
    await syncFolder(dirname(file));
    print(`${praise(made)} in ${flags.out} (${made.bytes} bytes): ${upTo(made.manifest)}`);
    print(`SHA-256 of the file ${made.sha256}`);
    return tellMissing(made);
  } catch (error) {
    if (!(error instanceof UnsoundError)) throw error;
    print(`NOT SOUND: ${error.message}; no backup was made`);
    return 1;
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Thrown for a log that is not sound: a backup of it would take the place of one that is. */
class UnsoundError extends Error {
  override name = 'UnsoundError';
}

/** A backup that was made: the bytes of its file and their SHA-256. */
export type Made = { manifest: Manifest; files: number; altered: string[]; bytes: number; sha256: string };

/**
 * Makes a backup of a data directory beside its service, checks the log in it, writes it, and reads it again.
 *
 * @param target where to; without `recipients` it is not encrypted.
 * @throws UnsoundError; LockedError when another backup is being made.
 */
export async function makeBackup(
  settings: Settings,
  { path, recipients }: { path: string; recipients: readonly string[] },
): Promise<Made> {
  const directory = existingLog(settings.data);
  existingVault(directory);
  const scratch = takeScratch(directory);
  const blobs = openBlobStore(blobSettingsOf(settings));
  try {
    const takenAt = new Date();
    const progress = showProgress('copying the log');
    const snapshot = await takeSnapshot({ directory, scratch: scratch.folder, blobs, progress });
    const steps = { log: showProgress('reading the log'), replay: showProgress('replaying the log') };
    const { finding } = verifyDirectory(scratch.folder, true, steps);
    if (finding !== null) throw new UnsoundError(finding);
    const { files, missing } = await findFiles(scratch.folder, blobs);
    const manifest = manifestOf(snapshot, missing, takenAt);
    const entries = entriesOf(snapshot, { manifest, files, blobs, progress: showProgress('copying files') });
    const altered: string[] = [];
    const onEntry = (name: string, sha256: string) => {
      const blob = blobIn(name);
      if (blob !== null && blob !== sha256) altered.push(blob);
    };
    const written = await writeArchive(archiveOf(entries, { mtime: takenAt, onEntry }), { path, recipients });
    return { manifest, files: files.size, altered, ...written };
  } finally {
    blobs.close();
    scratch.release();
  }
}

/** Writes an archive, and reads the file again: it is durable and has the bytes that were meant. */
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

function refuseFile(file: string, isForced: boolean): void {
  if (!existsSync(dirname(file))) throw new UsageError(`--out: there is no folder ${dirname(file)}`);
  if (existsSync(file) && !isForced) throw new UsageError(`--out: ${file} is there; --force overwrites it`);
}

function praise({ manifest, files }: Made): string {
  return `saved ${counted(manifest.size, 'event')} and ${counted(files, 'file')}`;
}

function upTo({ size, recordedAt }: Manifest): string {
  return `the log up to event ${size} of ${recordedAt}`;
}

/** @returns the exit code. */
function tellMissing({ manifest: { missing }, altered }: Made): number {
  const look = 'annals blobs verify tells which';
  if (missing.length > 0)
    print(`the store does not have ${counted(missing.length, 'file')} that the log names: ${look}`);
  if (altered.length > 0) print(`the store has ${counted(altered.length, 'altered file')}: ${look}`);
  return missing.length + altered.length > 0 ? 1 : 0;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
