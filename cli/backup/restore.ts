import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { readMoment } from '../../server/queries/moments.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import { messageOf } from '../../storage/errors.ts';
import type { restoreFlags } from '../flags.ts';
import { ofFlag } from '../log/events.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';
import { readIdentities } from './encryption.ts';
import { readErasures } from './erasures-file.ts';
import { print, UnsoundError } from './making.ts';
import { namedIn } from './pack.ts';
import { choose } from './places.ts';
import { restoreReplica } from './restore-replica.ts';
import { cutLog, eraseAgain, type LaterErasure, restoreClaims } from './rewriting.ts';
import type { BackupReading } from './sources.ts';
import { headOf, moveOut, sealsOf, takeEmpty, unpackFiles, unpackLog, unpackRound } from './unpack.ts';

/**
 * `annals restore BACKUP --data DIR`: exit 0 restored, 1 the backup is not sound, 2 could not run. Its steps:
 *
 * 1. Find the backup that the word names, with the rounds that follow it and the list of erasures beside it.
 * 2. Make a folder in the data directory, which must be empty; until step 8 nothing is outside of the folder.
 * 3. Unpack the vault, the log and its segments. The backup of a node is finished by `restoreReplica`.
 * 4. Append the events of the rounds, each with its vault.
 * 5. Verify the log. If it is not sound, restore nothing.
 * 6. Cut the log off at `--to`, and erase again what was erased later: by events that were cut off, and by the lists.
 * 7. Unpack the uploaded files that the log still names, into the folder or the bucket.
 * 8. Move all out of the folder into the data directory.
 */
export async function restore({ settings, flags, words }: CommandLine<typeof restoreFlags>): Promise<number> {
  const identities = await readIdentities(flags.identity);
  const { source, rounds, erasures: beside, close } = await choose(words[0] ?? '', { settings, s3: flags.s3 });
  const reading: BackupReading = { source, identities };
  const directory = resolve(settings.data);
  const folder = takeEmpty(directory);
  try {
    const manifest = await unpackLog(reading, folder);
    if (manifest.replica !== null) {
      const { to, erasures } = flags;
      return await restoreReplica({
        reading,
        folder,
        directory,
        settings,
        flags: { to, erasures },
        token: manifest.replica,
      });
    }
    let { size: savedSize } = manifest;
    const following: BackupReading[] = rounds.map((round) => ({ source: round, identities }));
    for (const round of following) savedSize = (await unpackRound(round, folder)).size;
    if (following.length > 0) restoreClaims(folder, sealsOf(folder));
    const { finding } = verifyWithProgress(folder);
    if (finding !== null) {
      print(`NOT SOUND: ${finding}; nothing was restored`);
      return 1;
    }
    const lists = [...(beside ? [beside] : []), ...(flags.erasures === undefined ? [] : [listIn(flags.erasures)])];
    const known = lists.map(({ name, text }) => readErasures(text, name, folder));
    const { position, signed, erased } = await shorten(folder, flags.to, known);
    const { needed, kept } = await restoreFiles({ readings: [reading, ...following], folder, settings });
    await moveOut(folder, directory);

    print(`restored ${counted(headOf(directory).size, 'event')} and ${counted(kept.size, 'file')} in ${directory}`);
    if (erased > 0) print(`erased again what ${counted(erased, 'later erasure')} had erased`);
    const missing = [...needed].filter((sha256) => !kept.has(sha256)).length;
    if (missing > 0)
      print(
        `note: ${counted(missing, 'file was', 'files were')} missing or altered when the backup was made: annals blobs verify names them`,
      );
    if (position < signed)
      print(
        `note: events up to ${signed} were signed, and auditors may have seen them. Before the first start: annals rebuild --accept-lost-events --reason TEXT`,
      );
    const upTo = Math.max(savedSize, ...known.map(({ size }) => size));
    print(
      `note: erasures are known up to event ${upTo}: what was erased after that is here again${known.length > 0 ? '' : '; --erasures FILE names a newer list of them'}`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof UnsoundError)) throw error;
    print(`NOT SOUND: ${error.message}; nothing was restored`);
    return 1;
  } finally {
    close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the list of erasures that `--erasures` names. */
function listIn(path: string): { name: string; text: string } {
  try {
    return { name: path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    throw new UsageError(`--erasures: ${messageOf(error)}`);
  }
}

/**
 * Cuts the log of a folder off at a moment, and erases from it what was erased since.
 *
 * @returns the last position; `signed`: how many events of the backup were signed; how many erasures were repeated.
 */
async function shorten(
  folder: string,
  to: string | undefined,
  known: readonly { erasures: LaterErasure[] }[],
): Promise<{ position: number; signed: number; erased: number }> {
  const seals = sealsOf(folder);
  const { size, log } = headOf(folder);
  const position = to === undefined ? size : positionIn(folder, to);
  const isCut = position < size;
  const later = isCut ? await cutLog(folder, position, seals) : [];
  const listed = known.flatMap(({ erasures }) => erasures).filter((one) => one.position > size);
  const erased = await eraseAgain(folder, [...later, ...listed], seals);
  if (isCut || erased > 0) restoreClaims(folder, seals);
  return { position, signed: signedSize(folder, log), erased };
}

type Files = { readings: readonly BackupReading[]; folder: string; settings: Settings };

/** Keeps the files that the restored log needs, in the folder or in the bucket of the settings. */
async function restoreFiles({
  readings,
  folder,
  settings,
}: Files): Promise<{ needed: Set<string>; kept: Set<string> }> {
  const store = openBlobStore(blobSettingsOf({ data: folder, bucket: settings.bucket }));
  try {
    const needed = namedIn(folder);
    await store.prepare(headOf(folder).log);
    const kept = new Set<string>();
    const progress = showProgress('restoring files');
    for (const reading of readings) await unpackFiles(reading, { needed, kept, store, progress });
    return { needed, kept };
  } finally {
    store.close();
  }
}

/** The position of a moment. @throws UsageError if the log of the backup does not reach the moment. */
function positionIn(folder: string, text: string): number {
  const db = openLogToRead(logFile(folder));
  try {
    const log = readLog(db);
    const position = ofFlag(() => readMoment(text, '--to', { events: log, clock: { believed: Date.now } }));
    if (position === 0) throw new StartError('--to is before the first event of the log: there is nothing to restore');
    return position;
  } finally {
    db.close();
  }
}

/** The number of events that the newest checkpoint of the signing key covers; 0 without one. */
function signedSize(folder: string, logId: string): number {
  return withVault(join(folder, 'vault.db'), (keys) =>
    Math.max(0, ...keys.signed().flatMap(({ log, size }) => (log === logId ? [size] : []))),
  );
}
