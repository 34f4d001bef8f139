import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import type { Model } from '../../config/model.ts';
import { namesFiles } from '../../events/blobs.ts';
import { readCheckpoints } from '../../events/checkpoints.ts';
import { createIds } from '../../events/ids.ts';
import { BrokenLogError, openLogToRead } from '../../events/log-file.ts';
import { readLog } from '../../events/log-reader.ts';
import { openVault, type Vault, withVault } from '../../events/vault.ts';
import { boot, ClockError, differenceTo, epochsOf, logFile, SchemaError } from '../../projections/boot.ts';
import { removeOtherReadFiles } from '../../projections/files.ts';
import { catchUp } from '../../projections/rebuild.ts';
import { verifyDirectory } from '../../projections/verify.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { blobSettingsOf } from '../blobs/store.ts';
import { loadConfiguration } from '../configuration.ts';
import { judgesIn } from '../notary/keys.ts';
import { disownContradicted, verifyCheckpoints } from '../notary/verification.ts';
import { signedSize } from '../notary/witnesses.ts';
import { certificatesIn } from '../settings/certificates.ts';
import { readSettings } from '../settings/command.ts';
import { parseWitness } from '../settings/cosigners.ts';
import { UsageError } from '../settings/settings.ts';
import { StartError } from '../threads/writer.ts';
import { showProgress } from './progress.ts';
import { readReason } from './reason.ts';
import { tellOfKeys } from './writing.ts';

/** `annals verify`: exit 0 sound, 1 tampered with or different, 2 could not run, or could not look at all of it, or nothing is signed. */
export async function verify(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, ['config', 'data']);
  const verdict = check(settings.data, true);
  const { config } = settings;
  if (verdict.finding === null && config && hasChanged((await loadConfiguration(config)).model, settings.data)) {
    verdict.notes.push('the configuration is not the one the log ends with; the next start records it');
  }
  const last: string[] = [];
  let isPartial = false;
  if (verdict.finding === null) {
    const witnesses = settings.witnesses.map((text) => parseWitness(text).key);
    const trusted = settings.tsaCa === undefined ? [] : certificatesIn(settings.tsaCa);
    const directory = existingLog(settings.data);
    const outsiders = { witnesses, trusted };
    const checkpoints = await verifyCheckpoints(directory, blobSettingsOf(settings), outsiders, verdict.events);
    verdict.finding = checkpoints.finding;
    verdict.notes.push(...checkpoints.notes);
    last.push(...checkpoints.last);
    isPartial = checkpoints.isPartial;
    if (hasFiles(settings.data)) last.push('the uploaded files were not looked at, annals blobs verify does that');
  }
  const code = report(verdict, 'sound: the log is whole, and the read tables equal a replay of it', last);
  // What was looked at is sound; that is not all that was asked.
  return code === 0 && isPartial ? 2 : code;
}

/** `annals rebuild [--check]`: exit 0 done or equal, 1 different, 2 could not run. */
export async function rebuild(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, ['config', 'data', 'strictSchema', 'acceptClock'], {
    check: 'boolean',
    'accept-lost-events': 'boolean',
    'accept-foreign-writes': 'boolean',
    reason: 'string',
  });
  const isAccepted = flags['accept-lost-events'] === true;
  const reason = isAccepted ? readAcceptance(flags.reason) : '';
  if (!isAccepted && flags.reason !== undefined)
    throw new UsageError('--reason goes with --accept-lost-events, which the log keeps the reason of');
  for (const flag of ['accept-lost-events', 'accept-foreign-writes'] as const) {
    if (flags.check && flags[flag]) throw new UsageError(`--check changes nothing, so it does not go with --${flag}`);
  }
  if (flags.check)
    return report(check(settings.data, false), 'equal: the read tables are what a replay of the log gives');
  const { model } = await loadConfiguration(settings.config);
  const directory = existingLog(settings.data);
  const lock = lockDirectory(directory, 'annals rebuild');
  const vault = openVault(join(directory, 'vault.db'));
  try {
    if (isAccepted) removeOtherReadFiles(directory, '');
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
    const progress = showProgress('replaying the log');
    const options = {
      directory,
      schema: model.schema,
      rules: model.rules,
      ids,
      now: Date.now,
      logId: `annals/${ids.next().id}`,
      seals: vault.seals(),
      acceptsUnsealed: flags['accept-foreign-writes'] === true,
      acceptsClock: settings.acceptClock,
      isStrict: settings.strictSchema,
      onChanges: (lines: readonly string[]) => {
        for (const line of lines) process.stdout.write(`warning: ${line}\n`);
      },
      progress,
    };
    const signed = isAccepted ? [] : vault.logKeys.signed();
    const { log, projector, found } = boot({ ...options, isRebuild: true, signed });
    vault.remembersSealed(log.head().log);
    if (options.acceptsUnsealed) process.stdout.write(`${acceptedLine(directory, vault, found)}\n`);
    const { size } = log.head();
    if (isAccepted) {
      const lines = await disownContradicted(directory, blobSettingsOf(settings), reason);
      for (const line of lines) process.stdout.write(`${line}\n`);
      await tellOfKeys({ directory, vault }, log, ids);
      catchUp(projector, log, log.head().size);
    }
    process.stdout.write(`rebuilt the read tables from ${counted(size, 'event')}\n`);
    return 0;
  } catch (error) {
    if (error instanceof BrokenLogError || error instanceof ClockError || error instanceof SchemaError)
      throw new StartError(error.message);
    throw error;
  } finally {
    vault.close();
    lock.release();
  }
}

function readAcceptance(text: string | undefined): string {
  const problems: string[] = [];
  const reason = readReason(text, 'why events are lost, and who accepts it', problems);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return reason;
}

/** What the operator has accepted, who should look at it. */
function acceptedLine(directory: string, vault: Vault, found: number): string {
  const db = openLogToRead(logFile(directory));
  try {
    const log = readLog(db);
    const signed = signedSize(log, readCheckpoints(db), judgesIn(log, vault.logKeys));
    const count = found - signed;
    const all = signed === 0 ? `${found} events` : `events ${signed + 1} to ${found}`;
    const none = count === 1 ? `event ${found} is not signed` : `none of the ${all} is signed`;
    const told = `, whoever wrote it; ${none} by a key of vault.db: annals log tail -n ${count} shows ${count === 1 ? 'it' : 'them'}`;
    return `the log is sealed anew as it is${count > 0 ? told : ', and all of it is signed'}`;
  } finally {
    db.close();
  }
}

function hasFiles(data: string): boolean {
  const db = openLogToRead(logFile(resolve(data)));
  try {
    return namesFiles(db);
  } finally {
    db.close();
  }
}

/** Whether a configuration's schema, or its rules, are others than those that a log ends with. */
export function hasChanged(model: Model, data: string): boolean {
  const db = openLogToRead(logFile(resolve(data)));
  try {
    const { isChanged, hasOtherRules } = differenceTo(epochsOf(readLog(db)).at(-1), model);
    return isChanged || hasOtherRules;
  } finally {
    db.close();
  }
}

function check(data: string, checkLog: boolean) {
  const directory = existingLog(data);
  const vault = join(directory, 'vault.db');
  const keys = existsSync(vault) ? withVault(vault, ({ signed }) => signed().map(({ key }) => key)) : [];
  const steps = { log: showProgress('reading the log'), replay: showProgress('replaying the log'), keys };
  return verifyDirectory(directory, checkLog, steps);
}

/** @param last what else the last line has to say where all is sound. */
function report({ finding, events, notes }: ReturnType<typeof check>, praise: string, last: string[] = []): number {
  for (const note of notes) process.stdout.write(`note: ${note}\n`);
  const sound = [`${praise} (${counted(events, 'event')})`, ...last].join('; ');
  process.stdout.write(finding === null ? `${sound}\n` : `NOT SOUND: ${finding}\n`);
  return finding === null ? 0 : 1;
}

/**
 * The path of a data directory that has a log.
 *
 * @param flag by which it was named.
 * @throws UsageError when it has none.
 */
export function existingLog(data: string, flag = '--data'): string {
  const directory = resolve(data);
  if (!existsSync(logFile(directory)))
    throw new UsageError(`there is no log in ${directory}; ${flag} names the directory`);
  return directory;
}
