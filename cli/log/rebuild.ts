import { join } from 'node:path';
import { counted } from '../../config/counted.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { readCheckpoints } from '../../events/proof/checkpoints.ts';
import type { Acceptance } from '../../events/service-events/acceptances.ts';
import { createIds } from '../../events/store/ids.ts';
import { BrokenLogError } from '../../events/store/log-file.ts';
import { openVault, type Vault } from '../../events/vault/vault.ts';
import { boot, ClockError } from '../../projections/start/boot.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { removeOtherReadFiles } from '../../projections/tables/files.ts';
import { signedSize } from '../../server/audit/notary/checkpoint-checks.ts';
import { trustedKeysOf } from '../../server/audit/notary/keys.ts';
import { disownContradicted } from '../../server/audit/notary/verification.ts';
import { blobSettingsOf } from '../../server/files/blobs/store.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { openHelpers } from '../../server/writer/helpers.ts';
import { StartError } from '../../server/writer/writer.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { existingLog, withLog } from '../data-directory.ts';
import type { rebuildFlags } from '../flags.ts';
import { existingVault, readReason, recordKeys, refuseReplica } from '../held-directory.ts';
import { printError } from '../terminal.ts';
import { check, checking, report } from './verify.ts';
/** `annals rebuild [--check]`: exit 0 done or equal, 1 different, 2 could not run, or a segment is missing. */
export async function rebuild({ settings, flags }: CommandLine<typeof rebuildFlags>): Promise<number> {
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
      await recordKeys({ directory, vault }, log, ids);
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
