import { hash } from 'node:crypto';
import { join } from 'node:path';
import { isObject, type Json } from '../../config/schema.ts';
import { erasedStreams } from '../../events/facts/erasures.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openNote, parseVerifierKey } from '../../events/proof/notes.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { openVault, withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { StartError } from '../../server/writer/writer.ts';
import { erasuresIn, type LaterErasure } from './rewriting.ts';

/** The name of the list beside the backups of a series. */
export const erasuresName = 'erasures.json';

/** The first line of the signed text: it cannot be taken for a checkpoint. */
const kind = 'annals-erasures-v1';

/**
 * All erasures of a log, signed by the key of a vault; null if the vault has no key, as the vault of a node, whose key
 * is in PostgreSQL.
 *
 * @param folder the folder of the log.
 * @param copy the folder of a copy of its vault, which signing may write to.
 */
export function erasuresFile(folder: string, copy: string): string | null {
  const db = openLogToRead(logFile(folder));
  const vault = openVault(join(copy, 'vault.db'));
  try {
    const { log, size } = readLog(db).head();
    if (!vault.logKeys.canSign(log)) return null;
    const erasures = erasuresIn(db, 0);
    const { signer } = vault.logKeys.current(log);
    const note = signer.sign(textOf(log, size, erasures));
    return `${JSON.stringify({ format: 1, note, erasures }, null, 1)}\n`;
  } finally {
    vault.close();
    db.close();
  }
}

function textOf(log: string, size: number, erasures: readonly LaterErasure[]): string {
  return `${kind}\n${log}\n${size}\n${hash('sha256', JSON.stringify(erasures))}\n`;
}

/**
 * Reads a list of erasures for the log of a folder.
 *
 * @param name begins messages about the list.
 * @returns the erasures, and up to which event they are known.
 * @throws StartError if the list is of another log, or no key of the vault in the folder has signed it.
 */
export function readErasures(text: string, name: string, folder: string): { erasures: LaterErasure[]; size: number } {
  const found = parsed(text);
  const { note, erasures } = isObject(found) && found.format === 1 ? found : {};
  if (typeof note !== 'string' || !Array.isArray(erasures)) throw new StartError(`${name} is not a list of erasures`);
  const list = erasures.map(erasureOf);
  const [first, log = '', size = ''] = note.split('\n');
  const own = logIn(folder);
  if (first !== kind || log !== own) throw new StartError(`${name} is not the list of erasures of the log ${own}`);
  const keys = withVault(join(folder, 'vault.db'), ({ known }) => known(own));
  const verifiers = keys
    .filter(({ isDisowned }) => !isDisowned)
    .map(({ verifierKey }) => parseVerifierKey(verifierKey));
  const opened = openNote(note, verifiers);
  if (!opened) throw new StartError(`${name} is not signed by a key that the backup knows`);
  if (opened.text !== textOf(own, Number(size), list))
    throw new StartError(`${name} was altered: it is not what was signed`);
  return { erasures: list, size: Number(size) };
}

function erasureOf(value: Json): LaterErasure {
  const { position, recordedAt, stream, reason, streams } = isObject(value) ? value : {};
  return {
    position: Number(position),
    recordedAt: String(recordedAt),
    stream: String(stream),
    reason: String(reason),
    streams: erasedStreams({ streams: streams ?? null }),
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The id of the log of a folder. */
function logIn(folder: string): string {
  const db = openLogToRead(logFile(folder));
  try {
    return readLog(db).head().log;
  } finally {
    db.close();
  }
}
