import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { counted } from '../../../config/counted.ts';
import type { NamedFiles } from '../../../storage/bucket-files.ts';
import { messageOf } from '../../../storage/errors.ts';
import type { Settings } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';
import { erasuresName } from './erasures-file.ts';
import { type KeepRule, nameOf, readName, superfluous } from './keeping.ts';
import { makeBackup, print, tellMissing, UnsoundError, upTo } from './making.ts';

/** A series of backups of one data directory in one place. */
export type Series = {
  settings: Settings;
  place: NamedFiles;
  recipients: readonly string[];
  keep: readonly KeepRule[];
};

/**
 * Makes a backup, sends it to its place, reads it back from there, and then removes those that no rule keeps.
 *
 * @returns the exit code.
 */
export async function addToSeries({ settings, place, recipients, keep }: Series): Promise<number> {
  const made = await makeBackup(settings, {
    recipients,
    pathIn: (scratch) => join(scratch, 'archive'),
    async deliver({ path, manifest, sha256, erasures }) {
      const name = nameOf(new Date(manifest.takenAt), manifest.size, recipients.length > 0);
      await place.send(name, path);
      if ((await digestOf(place, name)) !== sha256) {
        await place.remove(name);
        throw new StartError(`${place.name} does not give back what was sent to it as ${name}`);
      }
      // The list covers all backups of the series, so it is replaced each time.
      if (erasures !== null) await place.put(erasuresName, erasures);
      rmSync(path, { force: true });
      print(`saved ${counted(manifest.size, 'event')} as ${name} in ${place.name}: ${upTo(manifest)}`);
    },
  });
  const code = tellMissing(made);
  const backups = (await place.list()).map(readName).filter((one) => one !== null);
  const old = superfluous(backups, keep, Date.now());
  for (const { name } of old) await place.remove(name);
  if (old.length > 0) print(`removed ${counted(old.length, 'backup')} that --keep does not name`);
  return code;
}

async function digestOf(place: NamedFiles, name: string): Promise<string> {
  const digest = createHash('sha256');
  const stored = await place.read(name);
  if (stored) for await (const chunk of stored) digest.update(chunk);
  return digest.digest('hex');
}

const signals = ['SIGTERM', 'SIGINT'] as const;

/** Adds a backup to a series at once and then at intervals, until a signal. A failure is told, and the next one is made in its time. */
export async function addEvery(series: Series, milliseconds: number): Promise<number> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = () => stopping.abort();
  for (const name of signals) process.once(name, stop);
  try {
    while (!signal.aborted) {
      const started = performance.now();
      await addToSeries(series).catch((error) => {
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
