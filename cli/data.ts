import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../config/counted.ts';
import type { Model } from '../config/model.ts';
import { readLog } from '../events/log/log-reader.ts';
import { readCheckpoints } from '../events/proof/checkpoints.ts';
import { isMissingSegment } from '../events/segments/offloaded.ts';
import type { Acceptance } from '../events/service-events/acceptances.ts';
import { namesFiles } from '../events/service-events/blobs.ts';
import { settle } from '../events/service-events/categories.ts';
import { createIds } from '../events/store/ids.ts';
import { BrokenLogError, openLogToRead } from '../events/store/log-file.ts';
import { openVault, type Vault, withVault } from '../events/vault/vault.ts';
import { boot, ClockError } from '../projections/start/boot.ts';
import { catchUp } from '../projections/start/rebuild.ts';
import { SchemaError } from '../projections/start/schema-check.ts';
import { differenceTo, epochsOf } from '../projections/tables/epochs.ts';
import { logFile, removeOtherReadFiles } from '../projections/tables/files.ts';
import { forgetAltered, readAltered } from '../server/audit/notary/altered-note.ts';
import { signedSize } from '../server/audit/notary/checkpoint-checks.ts';
import { trustedKeysOf } from '../server/audit/notary/keys.ts';
import { disownContradicted, verifyCheckpoints } from '../server/audit/notary/verification.ts';
import { blobSettingsOf } from '../server/files/blobs/store.ts';
import { showProgress } from '../server/platform/progress.ts';
import { certificatesIn } from '../server/settings/certificates.ts';
import { readSettings } from '../server/settings/command.ts';
import { loadConfiguration } from '../server/settings/configuration.ts';
import { parseWitness } from '../server/settings/cosigners.ts';
import { type Settings, UsageError } from '../server/settings/settings.ts';
import { openHelpers } from '../server/writer/helpers.ts';
import { findSegmentsOf } from '../server/writer/segment-store.ts';
import { StartError } from '../server/writer/writer.ts';
import { messageOf } from '../storage/errors.ts';
import { lockDirectory } from '../storage/lock.ts';
import { isDamage, type Sqlite } from '../storage/sqlite.ts';
import { openReadable, type Readable } from './readable.ts';
import { printError } from './terminal.ts';
import { verifyShown } from './verify-shown.ts';
import { existingVault, readReason, refuseReplica, tellOfKeys } from './writing.ts';

/**
 * `annals verify`: exit 0 sound, 1 tampered with or different, 2 could not run, not all was there to be checked, or
 * nothing is signed.
 */
export async function verify(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, { settings: ['config', 'data'] });
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
    // All was compared with itself; nothing of what is only missing says that it is altered.
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
  // All that could be checked is sound, but not all could be.
  return code === 0 && isPartial ? 2 : code;
}

/** `annals rebuild [--check]`: exit 0 done or equal, 1 different, 2 could not run, or a segment is missing. */
export async function rebuild(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, {
    settings: ['config', 'data', 'strictSchema', 'acceptLoss', 'acceptClock', 'noBackup'],
    flags: {
      check: 'boolean',
      'accept-lost-events': 'boolean',
      'accept-foreign-writes': 'boolean',
      reason: 'string',
    },
  });
  const isAccepted = flags['accept-lost-events'] === true;
  const acceptsUnsealed = flags['accept-foreign-writes'] === true;
  for (const flag of ['accept-lost-events', 'accept-foreign-writes'] as const) {
    if (flags.check && flags[flag]) throw new UsageError(`--check changes nothing, so it does not go with --${flag}`);
  }
  const whys = [
    ...(isAccepted ? ['why events are lost'] : []),
    ...(acceptsUnsealed ? ['why a log is taken that vault.db has not sealed'] : []),
  ];
  const reason = whys.length > 0 ? readReason(flags.reason, `${whys.join(', ')}, and who accepts it`) : '';
  if (whys.length === 0 && flags.reason !== undefined)
    throw new UsageError(
      '--reason goes with --accept-lost-events or --accept-foreign-writes: the log keeps the reason for them',
    );
  if (flags.check) {
    const equal = 'equal: the read tables are what a replay of the log gives';
    return checking(settings, async (directory) => report(check(directory, false), equal));
  }
  const { model } = await loadConfiguration(settings.config);
  const directory = existingLog(settings);
  refuseReplica(directory, 'annals rebuild', 'a start of the node on an empty data directory builds everything anew');
  const vaultFile = acceptsUnsealed ? join(directory, 'vault.db') : existingVault(directory);
  const lock = lockDirectory(directory, 'annals rebuild');
  const vault = openVault(vaultFile);
  try {
    if (isAccepted) removeOtherReadFiles(directory, '');
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
    const { log, projector, accepted } = boot({
      directory,
      schema: model.schema,
      rules: model.rules,
      ids,
      now: Date.now,
      logId: `annals/${ids.next().id}`,
      seals: { ...vault.seals(), acceptsUnsealed },
      ...(acceptsUnsealed && { acceptance: { reason, signedSize: () => signedBy(directory, vault) } }),
      onSealed: vault.remembersSealed,
      upgrading: { noBackup: settings.noBackup, tell: printError },
      acceptsClock: settings.acceptClock,
      isStrict: settings.strictSchema,
      acceptsLoss: settings.acceptLoss,
      onChanges: (lines) => {
        for (const line of lines) process.stdout.write(`warning: ${line}\n`);
      },
      progress: showProgress('replaying the log'),
      helpers: openHelpers(),
      isRebuild: true,
      signed: isAccepted ? [] : vault.logKeys.signed(),
    });
    if (acceptsUnsealed) process.stdout.write(`${acceptedLine(accepted)}\n`);
    const { size } = log.head();
    if (isAccepted) {
      const lines = await disownContradicted(directory, blobSettingsOf(settings), reason);
      for (const line of lines) process.stdout.write(`${line}\n`);
      await tellOfKeys({ directory, vault }, log, ids);
      catchUp(projector, { log });
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

/** Runs a check of a data directory, with its read tables. */
async function checking(settings: Settings, run: (directory: string) => Promise<number>): Promise<number> {
  const { directory, done } = readableLog(settings, { withTables: true });
  try {
    return await run(directory);
  } finally {
    done();
  }
}

/** The number of first events that keys of a vault have signed, as far as the log keeps the signatures. */
function signedBy(directory: string, { logKeys }: Vault): number {
  return withLog(directory, (db) => {
    const log = readLog(db);
    const { log: logId } = log.head();
    const trust = trustedKeysOf(log, logKeys.known(logId), logKeys.disowned(logId));
    return signedSize(log, readCheckpoints(db), trust);
  });
}

/** The events that the operator has accepted, and the command that shows them. */
function acceptedLine(accepted: Acceptance | null): string {
  if (!accepted) return 'there was nothing to accept: vault.db has sealed the log';
  const { from, to } = accepted;
  const first = (from ?? 0) + 1;
  const all = from === null ? counted(to, 'event') : `events ${first} to ${to}`;
  const none = first === to ? `event ${to} is not signed` : `none of the ${all} is signed`;
  const look = `annals events --from ${first} --to ${to} shows ${first === to ? 'it' : 'them'}`;
  const told = `, without proof of its writer; ${none} by a key of vault.db: ${look}`;
  return `the log is sealed again as it is${first <= to ? told : ', and all of it is signed'}`;
}

/** Whether the schema or the rules of a configuration differ from those that a log ends with. */
export function hasChanged(model: Model, data: string): boolean {
  return withLog(data, (db) => {
    const log = readLog(db);
    const epochs = epochsOf(log);
    const { schema } = settle(epochs, model.schema, log);
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), { schema, rules: model.rules });
    return isChanged || hasOtherRules;
  });
}

function withLog<T>(data: string, run: (db: Sqlite) => T): T {
  const db = openLogToRead(logFile(resolve(data)));
  try {
    return run(db);
  } finally {
    db.close();
  }
}

function check(directory: string, checkLog: boolean) {
  const vault = join(directory, 'vault.db');
  const keys = existsSync(vault) ? withVault(vault, ({ signed }) => signed().map(({ key }) => key)) : [];
  return verifyShown(directory, { checkLog, keys });
}

/** @param last further parts of the last line if all is sound. */
function report({ finding, events, notes }: ReturnType<typeof check>, praise: string, last: string[] = []): number {
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

/**
 * The path of a data directory that has a log. From here on this thread knows where its segments are.
 *
 * @param flag the flag that named it.
 * @throws UsageError if it has no log.
 */
export function existingLog(settings: Located, flag = '--data'): string {
  const directory = resolve(settings.data);
  if (!existsSync(logFile(directory)))
    throw new UsageError(`there is no log in ${directory}; ${flag} names the directory`);
  findSegmentsOf(logFile(directory), blobSettingsOf(settings), true);
  return directory;
}

type Located = Pick<Settings, 'data' | 'bucket'>;

/**
 * The same for a command that only reads it: see {@link openReadable}.
 *
 * @param withTables whether the command reads the read tables as well.
 */
export function readableLog(settings: Located, { withTables = false, flag = '--data' } = {}): Readable {
  existingLog(settings, flag);
  const readable = openReadable(settings.data, withTables);
  findSegmentsOf(logFile(readable.directory), blobSettingsOf(settings), true);
  return readable;
}

/** The error of a log that is damaged, as the operator is told; any other error unchanged. */
export function startErrorOf(error: unknown, tell = (message: string) => message): unknown {
  return isDamage(error) || error instanceof BrokenLogError ? new StartError(tell(messageOf(error))) : error;
}
