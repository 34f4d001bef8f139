import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LogReader } from '../../events/log/log-reader.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { readCheckpoints } from '../../events/proof/checkpoints.ts';
import { parseVerifierKey } from '../../events/proof/notes.ts';
import { readReplicaMark } from '../../events/replica/replica-mark.ts';
import { createIds } from '../../events/store/ids.ts';
import { BrokenLogError, openLogToRead } from '../../events/store/log-file.ts';
import { withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { readAltered } from '../../server/audit/notary/altered-note.ts';
import { checkInLog } from '../../server/audit/notary/checkpoint-checks.ts';
import { keyHistory, trustedKeysOf } from '../../server/audit/notary/keys.ts';
import type { ChangedKey, KeyNote, KeyRecord, KeyWay } from '../../server/ports.ts';
import { changeKeyPath } from '../../server/running/engine/signing-keys.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import type { Settings } from '../../server/settings/settings.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { existingLog, readableLog, startErrorOf } from '../data-directory.ts';
import { type HeldDirectory, holding, openToWrite, readReason, recordKeys, requireLog } from '../held-directory.ts';
import { answerOf, callAsOperator, reportAnswer } from '../operator-connection.ts';
import { printable, printLine } from '../terminal.ts';

/** `annals signing-key history`: exit 0 shown, 2 could not run. */
export async function showKeys({ settings, flags }: CommandLine<{ json: 'boolean' }>): Promise<number> {
  const { directory, done } = readableLog(settings);
  let db: Sqlite | null = null;
  try {
    db = openLogToRead(logFile(directory));
    requireLog(db);
    const vault = join(directory, 'vault.db');
    const { log } = readLog(db).head();
    const known = existsSync(vault) ? withVault(vault, (keys) => keys.known(log)) : [];
    const keys = keyHistory(db, known.find(({ retiredAt }) => retiredAt === null) ?? null);
    const lines = flags.json ? [JSON.stringify({ keys })] : keys.flatMap(linesOf);
    for (const line of lines) printLine(printable(line));
    return 0;
  } catch (error) {
    throw startErrorOf(error);
  } finally {
    db?.close();
    done();
  }
}

function linesOf({ id, verifierKey, signs, since, first, last, replaced, disowned }: KeyRecord): string[] {
  const known = verifierKey ?? 'verifier key unknown';
  const kept =
    first && last && `checkpoints of it: from size ${first.size}, ${first.signedAt}, to ${last.size}, ${last.signedAt}`;
  return [
    `${id}  ${known}`,
    ...(since ? [`  signs from event ${since.position} on, ${since.recordedAt}`] : []),
    ...(kept ? [`  ${kept}`] : []),
    ...(disowned ? [`  disowned by ${told(disowned)}`] : []),
    ...(replaced
      ? [`  ${replaced.handover === null ? 'replaced by' : 'handed over to'} ${replaced.by}: ${told(replaced)}`]
      : []),
    ...(signs ? ['  signs now'] : []),
  ];
}

function told({ position, recordedAt, actor, reason }: KeyNote): string {
  return `event ${position}, ${recordedAt}, by ${actor.id ?? actor.type}: ${reason}`;
}

/** `annals signing-key replace`: exit 0 replaced, 1 refused, 2 could not run. */
export function replaceKey(given: CommandLine<{ reason: 'string' }>): Promise<number> {
  return changeKey('replace', given);
}

/** `annals signing-key rotate`: exit 0 rotated, 1 refused, 2 could not run. */
export function rotateKey(given: CommandLine<{ reason: 'string' }>): Promise<number> {
  return changeKey('rotate', given);
}

async function changeKey(way: KeyWay, { settings, flags }: CommandLine<{ reason: 'string' }>): Promise<number> {
  const reason = readReason(flags.reason, 'why another key signs it');
  const directory = existingLog(settings);
  if (settings.log !== undefined || readReplicaMark(directory) !== null) return changeForNodes(settings, way, reason);
  // A running service would go on signing with its key.
  return holding(settings, `annals signing-key ${way}`, async (opened) => {
    return changeIn(opened, way, reason).catch((error) => {
      throw startErrorOf(error);
    });
  });
}

/** The key is in PostgreSQL: the node that runs here changes it, or this process as one. */
async function changeForNodes(settings: Settings, way: KeyWay, reason: string): Promise<number> {
  const loaded = await loadConfiguration(settings.config);
  const order = { path: changeKeyPath, body: { way, reason } };
  const answered = await callAsOperator({ settings, loaded }, order);
  return reportAnswer(answered, (body) => {
    const { from, key } = answerOf<ChangedKey>(body, { from: 'string', key: 'string' });
    return `${announced(way, key)}\nthe key ${from} is replaced by ${parseVerifierKey(key).id}: ${printable(reason)}`;
  });
}

function announced(way: KeyWay, key: string): string {
  return way === 'replace'
    ? `auditors need to know the new key: ${key}`
    : `auditors can keep the old key; the new one is: ${key}`;
}

async function changeIn(opened: HeldDirectory, way: KeyWay, reason: string): Promise<number> {
  const { logKeys } = opened.vault;
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  const { log, begin } = openToWrite(opened, ids, Date.now);
  const { log: logId } = log.head();
  if (way === 'rotate') requireSigned(opened, readLog(opened.db));
  begin();
  // Earlier changes that are not recorded yet come first.
  await recordKeys(opened, log, ids);
  if (way === 'replace') logKeys.replace(logId, { reason });
  else {
    const { size, root } = log.head();
    logKeys.replace(logId, { reason, handedOver: { size, root, time: new Date().toISOString() } });
  }
  const { key } = logKeys.current(logId).signer;
  printLine(announced(way, key));
  await recordKeys(opened, log, ids);
  return 0;
}

/** A key vouches for no log that contradicts the newest checkpoint in it, neither for that which it hands over. */
function requireSigned({ directory, db, vault }: HeldDirectory, log: LogReader): void {
  const [newest] = readCheckpoints(db).recent(1);
  const altered = readAltered(directory);
  if (altered?.part === 'log') throw new BrokenLogError(`the log is known to be altered: ${altered.finding}`);
  if (!newest) return;
  const name = `the checkpoint of position ${newest.size}`;
  const { log: logId } = log.head();
  const trust = trustedKeysOf(log, vault.logKeys.known(logId), vault.logKeys.disowned(logId));
  const checked = checkInLog(log, trust, { name, note: newest.note });
  if ('finding' in checked) throw new BrokenLogError(checked.finding);
}
