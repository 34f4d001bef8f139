import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { counted } from '../../config/counted.ts';
import { noteBackup } from '../../server/platform/backup-note.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { NamedFiles } from '../../storage/bucket/files.ts';
import { messageOf } from '../../storage/errors.ts';
import { erasuresName } from './erasures-file.ts';
import { type KeepRule, nameOf, orphans, readName, roundName, superfluous } from './keeping.ts';
import {
  type MadeBackup,
  makeBackup,
  makeRound,
  print,
  type SeriesEnd,
  tellMissing,
  UnsoundError,
  upTo,
} from './making.ts';
import { objectName, removeList, removeSegments, segmentsName, sendChecked, sendSegments } from './segment-objects.ts';

/** A series of backups of one data directory in one place. */
type Series = {
  settings: Settings;
  place: NamedFiles;
  recipients: readonly string[];
  keep: readonly KeepRule[];
};

/**
 * Makes a backup, sends it to its place, reads it back from there, and then removes the backups that no rule keeps.
 *
 * @returns the exit code, and the end of the log in the backup.
 */
export async function addToSeries(series: Series): Promise<{ code: number; end: SeriesEnd }> {
  const { settings, place, recipients } = series;
  const segments = place.folder(segmentsName);
  let removed = { backups: 0, segments: 0 };
  const made = await makeBackup(settings, {
    recipients,
    pathIn,
    nameSegment: (file) => objectName(file, recipients),
    deliver: async (one, saved) => {
      const name = nameOf(new Date(one.manifest.takenAt), one.manifest.size, recipients.length > 0);
      const progress = showProgress('copying segments');
      const send = () => sendSegments(name, { place: segments, ...saved, recipients, progress });
      await send();
      await deliver(series, one, name);
      // Another process may have removed some as superfluous that began to do so before it could know of this backup.
      await send();
      removed = await removeOld(series, segments);
    },
  });
  const code = tellMissing(made);
  if (removed.backups > 0) print(`removed ${counted(removed.backups, 'backup')} that --keep does not name`);
  if (removed.segments > 0) print(`removed ${counted(removed.segments, 'segment')} that no backup needs`);
  const { size, root } = made.manifest;
  return { code, end: { size, root: Buffer.from(root, 'base64') } };
}

/** Removes the backups that no rule keeps, their rounds, and the segments that no other backup needs. */
async function removeOld(
  { place, keep }: Series,
  segments: NamedFiles,
): Promise<{ backups: number; segments: number }> {
  if (keep.length === 0) return { backups: 0, segments: 0 };
  const all = await place.list();
  const backups = all.map(readName).filter((one) => one !== null);
  const old = superfluous(backups, keep, Date.now());
  const left = backups.filter((one) => !old.includes(one));
  for (const { name } of [...old, ...orphans(all, left)]) await place.remove(name);
  for (const { name } of old) await removeList(segments, name);
  const names = left.map(({ name }) => name);
  return { backups: old.length, segments: await removeSegments(segments, names, Date.now()) };
}

const pathIn = (scratch: string) => join(scratch, 'archive');

/** Sends an archive to its place, and reads it back from there. */
async function deliver(
  { settings, place }: Series,
  { path, manifest, sha256, erasures }: MadeBackup,
  name: string,
): Promise<void> {
  // Another process of the series removes a backup that its own, a newer one, makes superfluous.
  const takenAt = Date.parse(manifest.takenAt);
  const mayBeGone = async () => (await place.list()).some((other) => (readName(other)?.takenAt ?? 0) > takenAt);
  await sendChecked(place, name, { path, sha256, mayBeGone });
  rmSync(path, { force: true });
  noteBackup(settings.data, manifest.size);
  const what = counted(manifest.size - manifest.after, 'event');
  print(`saved ${what} as ${name} in ${place.name}: ${upTo(manifest)}`);
  if (erasures !== null) await replaceErasures(place, erasures);
}

/**
 * Replaces the list of erasures, which covers all backups of the series.
 *
 * @throws StartError if it could not be replaced; the backup is in its place even so.
 */
async function replaceErasures(place: Series['place'], erasures: string): Promise<void> {
  try {
    await place.put(erasuresName, erasures);
  } catch (error) {
    throw new StartError(
      `the backup is whole and in its place, but ${erasuresName} beside it could not be replaced: ${messageOf(error)}; the one that is ` +
        'there may lack the latest erasures, which a restore then does not repeat: run the same command again',
    );
  }
}

const signals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Adds a backup to a series at once and then at intervals, until a signal. A failure is told, and the next one is made
 * in its time.
 */
export function addEvery(series: Series, milliseconds: number): Promise<number> {
  return repeat(milliseconds, async () => {
    await addToSeries(series);
  });
}

/** How long rounds go on from one whole backup before the next whole backup. */
const longest = 24 * 3_600_000;

/**
 * Adds a backup to a series, and then a round whenever the log has grown, until a signal; once a day a whole backup
 * again.
 */
export function follow(series: Series, milliseconds: number): Promise<number> {
  const { settings, recipients } = series;
  let end: SeriesEnd | null = null;
  let begun = 0;
  return repeat(milliseconds, async () => {
    if (end === null || Date.now() - begun > longest) {
      begun = Date.now();
      end = (await addToSeries(series)).end;
      return;
    }
    const before = end.size;
    try {
      const next = await makeRound(settings, end, {
        recipients,
        pathIn,
        deliver: (made) => {
          const { takenAt, size } = made.manifest;
          const name = roundName(new Date(takenAt), { after: before, size }, recipients.length > 0);
          return deliver(series, made, name);
        },
      });
      end = next ?? end;
      // Without a new event the last one still has everything.
      if (next === null) noteBackup(settings.data, end.size);
    } catch (error) {
      // The next one begins anew.
      if (error instanceof UnsoundError) end = null;
      throw error;
    }
  });
}

async function repeat(milliseconds: number, run: () => Promise<void>): Promise<number> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = () => stopping.abort();
  for (const name of signals) process.once(name, stop);
  try {
    while (!signal.aborted) {
      const started = performance.now();
      await run().catch((error) => {
        const what = error instanceof UnsoundError ? 'NOT SOUND: ' : '';
        process.stderr.write(`warning: no backup was made: ${what}${messageOf(error)}\n`);
      });
      const left = Math.max(0, milliseconds - (performance.now() - started));
      await wait(left, undefined, { signal }).catch(() => {});
    }
    return 0;
  } finally {
    for (const name of signals) process.off(name, stop);
  }
}
