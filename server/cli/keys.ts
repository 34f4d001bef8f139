import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createIds } from '../../events/ids.ts';
import { openLogToRead } from '../../events/log-file.ts';
import { readLog } from '../../events/log-reader.ts';
import { withVault } from '../../events/vault.ts';
import { logFile } from '../../projections/files.ts';
import { keyHistory } from '../audit/notary/keys.ts';
import type { KeyNote, KeyRecord } from '../ports.ts';
import { readSettings } from '../settings/command.ts';
import { existingLog, startErrorOf } from './data.ts';
import { printable, printLine } from './terminal.ts';
import { holding, type Opened, openToWrite, readReason, requireLog, tellOfKeys } from './writing.ts';

/** `annals keys history`: exit 0 shown, 2 could not run. */
export async function showKeys(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, { settings: ['data'], flags: { json: 'boolean' } });
  const directory = existingLog(settings.data);
  const db = openLogToRead(logFile(directory));
  try {
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
    db.close();
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
    ...(replaced ? [`  replaced by ${replaced.by}: ${told(replaced)}`] : []),
    ...(signs ? ['  signs now'] : []),
  ];
}

function told({ position, recordedAt, actor, reason }: KeyNote): string {
  return `event ${position}, ${recordedAt}, by ${actor.id ?? actor.type}: ${reason}`;
}

/** `annals keys replace`: exit 0 replaced, 2 could not run. */
export async function replaceKey(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags } = readSettings(args, environment, { settings: ['data'], flags: { reason: 'string' } });
  const reason = readReason(flags.reason, 'why another key signs it');
  // A running service would go on signing with its key.
  return holding(existingLog(settings.data), 'annals keys replace', async (opened) => {
    return replaceIn(opened, reason).catch((error) => {
      throw startErrorOf(error);
    });
  });
}

async function replaceIn(opened: Opened, reason: string): Promise<number> {
  const { logKeys } = opened.vault;
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  const { log, begin } = openToWrite(opened, ids, Date.now);
  begin();
  const { log: logId } = log.head();
  // Earlier changes that are not recorded yet come first.
  await tellOfKeys(opened, log, ids);
  logKeys.replace(logId, { reason });
  process.stdout.write(`auditors need to know the new key: ${logKeys.current(logId).signer.key}\n`);
  await tellOfKeys(opened, log, ids);
  return 0;
}
