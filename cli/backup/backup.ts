import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import { noteBackup } from '../../server/platform/backup-note.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { syncFolder } from '../../storage/disk.ts';
import type { backupFlags } from '../flags.ts';
import { readRecipients } from './encryption.ts';
import { readEvery, readKeep } from './keeping.ts';
import { makeBackup, print, refuseRounds, tellMissing, UnsoundError, upTo } from './making.ts';
import { isBucket, openPlace } from './places.ts';
import { addEvery, addToSeries, follow } from './series.ts';

/**
 * `annals backup`: exit 0 saved, 1 the log is not sound or files are missing, 2 could not run.
 *
 * The steps of a backup, which `makeBackup` takes beside a running service:
 *
 * 1. Take the folder `backup` of the data directory, which one backup at a time has.
 * 2. Read the checkpoints in the store, then copy `vault.db` and `log.db` as of one moment (`snapshot.ts`).
 * 3. Verify the copy. If it is not sound, make no backup.
 * 4. Find the uploaded files that the copy names (`pack.ts`).
 * 5. Write the archive, encrypted if there are recipients, and read it again.
 * 6. Put it in its place: rename it, or send it to the series with its segments, and read it back.
 * 7. Of a series, replace the list of erasures, then remove the backups that `--keep` does not name.
 *
 * `--follow` makes rounds between whole backups: the same steps for the events since the last one (`makeRound`).
 */
export async function backup({ settings, flags }: CommandLine<typeof backupFlags>): Promise<number> {
  const { out, to, s3, every, keep, plain } = flags;
  if ((out === undefined) === (to === undefined))
    throw new UsageError('either --out FILE for one backup, or --to FOLDER or --to s3://BUCKET/PREFIX for a series');
  const recipients = await readRecipients(flags.recipient ?? []);
  if (plain && recipients.length > 0) throw new UsageError('--plain and --recipient are both given: one of them');
  try {
    if (out !== undefined) {
      for (const [name, value] of Object.entries({ s3, every, keep, follow: flags.follow }))
        if (value !== undefined) throw new UsageError(`--${name} goes with --to`);
      return await saveFile(settings, { out, recipients, isForced: flags.force === true });
    }
    if (flags.force) throw new UsageError('--force goes with --out');
    const word = to ?? '';
    if (isBucket(word) && recipients.length === 0 && !plain) {
      throw new UsageError(
        'a backup in a bucket is encrypted, for it holds password hashes and keys: --recipient age1…, whose private key stays elsewhere; ' +
          '--plain saves it as it is',
      );
    }
    const rules = keep === undefined ? [] : readKeep(keep);
    const pause = every === undefined && !flags.follow ? null : readEvery(every ?? '10s');
    if (flags.follow) refuseRounds(resolve(settings.data));
    const place = openPlace(word, { settings, s3 });
    try {
      const series = { settings, place, recipients, keep: rules };
      return pause === null
        ? (await addToSeries(series)).code
        : await (flags.follow ? follow : addEvery)(series, pause);
    } finally {
      place.close();
    }
  } catch (error) {
    if (!(error instanceof UnsoundError)) throw error;
    print(`NOT SOUND: ${error.message}; no backup was made`);
    return 1;
  }
}

async function saveFile(
  settings: Settings,
  { out, recipients, isForced }: { out: string; recipients: readonly string[]; isForced: boolean },
): Promise<number> {
  const file = resolve(out);
  refuseFile(file, isForced);
  const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`);
  try {
    const made = await makeBackup(settings, { pathIn: () => partial, recipients });
    refuseFile(file, isForced);
    renameSync(partial, file);
    await syncFolder(dirname(file));
    noteBackup(settings.data, made.manifest.size);
    const { manifest, files, bytes, sha256 } = made;
    const what = `${counted(manifest.size, 'event')} and ${counted(files, 'file')}`;
    print(`saved ${what} in ${out} (${bytes} bytes): ${upTo(manifest)}`);
    print(`SHA-256 of the file ${sha256}`);
    return tellMissing(made);
  } finally {
    rmSync(partial, { force: true });
  }
}

function refuseFile(file: string, isForced: boolean): void {
  if (!existsSync(dirname(file))) throw new UsageError(`--out: there is no folder ${dirname(file)}`);
  if (existsSync(file) && !isForced) throw new UsageError(`--out: ${file} is there; --force overwrites it`);
}
