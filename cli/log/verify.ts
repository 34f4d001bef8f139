import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import { isMissingSegment } from '../../events/segments/offloaded.ts';
import { namesFiles } from '../../events/service-events/blobs.ts';
import { withVault } from '../../events/vault/vault.ts';
import { forgetAltered, readAltered } from '../../server/audit/notary/altered-note.ts';
import { verifyCheckpoints } from '../../server/audit/notary/verification.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { certificatesIn } from '../../server/settings/certificates.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { parseWitness } from '../../server/settings/cosigners.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { hasChanged, readableLog, withLog } from '../data-directory.ts';
import type { NoFlags } from '../flags.ts';
import { verifyWithProgress } from '../verify-with-progress.ts';

/**
 * `annals verify`: exit 0 sound, 1 tampered with or different, 2 could not run, not all was there to be checked, or
 * nothing is signed.
 */
export async function verify({ settings }: CommandLine<NoFlags>): Promise<number> {
  return checking(settings, (directory) => verifyIn(directory, settings));
}

async function verifyIn(directory: string, settings: Settings): Promise<number> {
  const verdict = check(directory, true);
  const { config } = settings;
  if (verdict.finding === null && config && hasChanged((await loadConfiguration(config)).model, directory)) {
    verdict.notes.push('the configuration is not the one the log ends with; the next start records it');
  }
  const last: string[] = [];
  let isPartial = false;
  if (verdict.finding === null) {
    const witnesses = settings.witnesses.map((text) => parseWitness(text).key);
    const trusted = settings.tsaCa === undefined ? [] : certificatesIn(settings.tsaCa);
    const checkpoints = await verifyCheckpoints({
      directory,
      blobs: blobSettingsOf(settings),
      outsiders: { witnesses, trusted },
      events: verdict.events,
    });
    verdict.finding = checkpoints.finding;
    verdict.notes.push(...checkpoints.notes);
    last.push(...checkpoints.last);
    isPartial = checkpoints.isPartial;
    // Parts that are missing could not be compared; all that is there is sound.
    const data = resolve(settings.data);
    if (verdict.finding === null && readAltered(data))
      verdict.notes.push(
        forgetAltered(data)
          ? 'the log, or what follows from it, was known to be altered: it is sound now, and checkpoints are signed again'
          : 'altered.json stays, which says that the log is altered: this user may not remove it',
      );
    if (withLog(directory, namesFiles))
      last.push('the uploaded files were not looked at, annals blobs verify does that');
  }
  const code = report(verdict, 'sound: the log is whole, and the read tables equal a replay of it', last);
  // All that could be checked is sound, but a part could not be checked.
  return code === 0 && isPartial ? 2 : code;
}

/** Runs a check of a data directory, with its read tables. */
export async function checking(settings: Settings, run: (directory: string) => Promise<number>): Promise<number> {
  const { directory, done } = readableLog(settings, { withTables: true });
  try {
    return await run(directory);
  } finally {
    done();
  }
}

/** Verifies a data directory by the keys of its vault. @param checkLog false: the read tables alone. */
export function check(directory: string, checkLog: boolean) {
  const vault = join(directory, 'vault.db');
  const keys = existsSync(vault) ? withVault(vault, ({ signed }) => signed().map(({ key }) => key)) : [];
  return verifyWithProgress(directory, { checkLog, keys });
}

/** Prints a verdict, and gives the exit code. @param last further parts of the last line if all is sound. */
export function report(
  { finding, events, notes }: ReturnType<typeof check>,
  praise: string,
  last: string[] = [],
): number {
  for (const note of notes) process.stdout.write(`note: ${note}\n`);
  // Nothing that was signed contradicts the rest.
  if (finding !== null && isMissingSegment(finding)) {
    process.stdout.write(`UNDECIDED: ${finding}\n`);
    return 2;
  }
  const sound = [`${praise} (${counted(events, 'event')})`, ...last].join('; ');
  process.stdout.write(finding === null ? `${sound}\n` : `NOT SOUND: ${finding}\n`);
  return finding === null ? 0 : 1;
}
