import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Model } from '../../config/model.ts';
import { namesFiles } from '../../events/blobs.ts';
import { createIds, type Ids } from '../../events/ids.ts';
import { BrokenLogError } from '../../events/log-file.ts';
import { readLog } from '../../events/log-reader.ts';
import type { SqliteLog } from '../../events/sqlite-log.ts';
import { openVault, withKnownKeys } from '../../events/vault.ts';
import { boot, ClockError, differenceTo, epochsOf, logFile, SchemaError } from '../../projections/boot.ts';
import { removeOtherReadFiles } from '../../projections/files.ts';
import { catchUp } from '../../projections/rebuild.ts';
import { verifyDirectory } from '../../projections/verify.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { blobSettingsOf } from '../blobs/store.ts';
import { loadConfiguration } from '../configuration.ts';
import { certificatesIn } from '../notary/authority.ts';
import { parseWitness } from '../notary/cosigning.ts';
import { recordKeyChanges } from '../notary/keys.ts';
import { disownContradicted, verifyCheckpoints } from '../notary/verification.ts';
import { readSettings } from '../settings/command.ts';
import { UsageError } from '../settings/settings.ts';
import { StartError } from '../threads/writer.ts';
import { showProgress } from './progress.ts';
import { readReason } from './reason.ts';

/** `annals verify`: exit 0 sound, 1 tampered with or different, 2 could not run, or could not look at all of it. */
export async function verify(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, ['config', 'data']);
  const verdict = check(settings.data, true);
  const { config } = settings;
  if (verdict.finding === null && config && hasChanged((await loadConfiguration(config)).model, settings.data)) {
    verdict.notes.push('the configuration is not the one the log ends with; the next start records it');
  }
  if (verdict.finding === null && hasFiles(settings.data)) {
    verdict.notes.push('the log names uploaded files; annals blobs verify checks those');
  }
  let isPartial = false;
  if (verdict.finding === null) {
    const witnesses = settings.witnesses.map((text) => parseWitness(text).key);
    const trusted = settings.tsaCa === undefined ? [] : certificatesIn(settings.tsaCa);
    const directory = existingLog(settings.data);
    const checkpoints = await verifyCheckpoints(directory, blobSettingsOf(settings), { witnesses, trusted });
    verdict.finding = checkpoints.finding;
    verdict.notes.push(...checkpoints.notes);
    isPartial = checkpoints.isPartial;
  }
  const code = report(verdict, 'sound: the log is whole, and the read tables equal a replay of it');
  // What was looked at is sound; that is not all that was asked.
  return code === 0 && isPartial ? 2 : code;
}

/** `annals rebuild [--check]`: exit 0 done or equal, 1 different, 2 could not run. */
export async function rebuild(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, ['config', 'data', 'strictSchema', 'acceptClock'], {
    check: 'boolean',
    'accept-lost-events': 'boolean',
    reason: 'string',
  });
  const isAccepted = flags['accept-lost-events'] === true;
  const reason = isAccepted ? readAcceptance(flags.reason) : '';
  if (!isAccepted && flags.reason !== undefined)
    throw new UsageError('--reason goes with --accept-lost-events, which the log keeps the reason of');
  if (flags.check)
    return report(check(settings.data, false), 'equal: the read tables are what a replay of the log gives');
  const { model } = await loadConfiguration(settings.config);
  const directory = existingLog(settings.data);
  const lock = lockDirectory(directory, 'annals rebuild');
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
      acceptsClock: settings.acceptClock,
      isStrict: settings.strictSchema,
      onChanges: (lines: readonly string[]) => {
        for (const line of lines) process.stdout.write(`warning: ${line}\n`);
      },
      progress,
    };
    const { log, projector } = boot({ ...options, isRebuild: true, signed: isAccepted ? [] : signedHeads(directory) });
    const { size } = log.head();
    if (isAccepted) {
      const lines = await disownContradicted(directory, blobSettingsOf(settings), reason);
      for (const line of lines) process.stdout.write(`${line}\n`);
      await tellOfKeys(directory, log, ids);
      catchUp(projector, log, log.head().size);
    }
    process.stdout.write(`rebuilt the read tables from ${size} events\n`);
    return 0;
  } catch (error) {
    if (error instanceof BrokenLogError || error instanceof ClockError || error instanceof SchemaError)
      throw new StartError(error.message);
    throw error;
  } finally {
    lock.release();
  }
}

function readAcceptance(text: string | undefined): string {
  const problems: string[] = [];
  const reason = readReason(text, 'why events are lost, and who accepts it', problems);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return reason;
}

/**
 * Tells a log what became of its keys. Nobody else may have it open for writing; what is recorded is not in the read tables yet.
 */
export async function tellOfKeys(directory: string, log: SqliteLog, ids: Ids): Promise<void> {
  const vault = openVault(join(directory, 'vault.db'));
  try {
    await recordKeyChanges({
      file: logFile(directory),
      keys: vault.logKeys,
      append: async (command) => {
        const [outcome] = log.append([command]).outcomes;
        if (!outcome || outcome instanceof Error || !outcome.ok) throw outcome ?? new Error('an event has no outcome');
      },
      nextId: () => ids.next().id,
      onRecorded: (line) => process.stdout.write(`${line}\n`),
    });
  } finally {
    vault.close();
  }
}

/** What the keys of logs have signed, as the vault of a directory remembers. */
export function signedHeads(directory: string) {
  const vault = join(directory, 'vault.db');
  return existsSync(vault) ? withKnownKeys(vault, ({ signed }) => signed()) : [];
}

function hasFiles(data: string): boolean {
  const db = openDatabase(logFile(resolve(data)), { readonly: true });
  try {
    return namesFiles(db);
  } finally {
    db.close();
  }
}

/** Whether a configuration's schema, or its rules, are others than those that a log ends with. */
export function hasChanged(model: Model, data: string): boolean {
  const db = openDatabase(logFile(resolve(data)), { readonly: true });
  try {
    const { isChanged, hasOtherRules } = differenceTo(epochsOf(readLog(db)).at(-1), model);
    return isChanged || hasOtherRules;
  } finally {
    db.close();
  }
}

function check(data: string, checkLog: boolean) {
  const directory = existingLog(data);
  const keys = signedHeads(directory).map(({ key }) => key);
  const steps = { log: showProgress('reading the log'), replay: showProgress('replaying the log'), keys };
  return verifyDirectory(directory, checkLog, steps);
}

function report({ finding, events, notes }: ReturnType<typeof check>, praise: string): number {
  for (const note of notes) process.stdout.write(`note: ${note}\n`);
  process.stdout.write(finding === null ? `${praise} (${events} events)\n` : `NOT SOUND: ${finding}\n`);
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
