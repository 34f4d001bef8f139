import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isObject, type Json } from '../../config/schema.ts';
import { readJson } from '../../server/queries/field-texts.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { syncFolder } from '../../storage/disk.ts';

/**
 * A row of an import: its key, and the id of its document there. `later` are the fields that have yet to be written,
 * since they name documents that are imported after it.
 */
export type SentRow = { key: string; slug: string; from?: string; later?: string[] };

/** A bulk call of an import, with all that it takes to make it again: `key` is its idempotency key, `text` its body. */
export type KeptCall = { import: string; path: string; key: string; reason: string; rows: SentRow[]; text: string };

/** Writes a call to a file, which survives a power cut. It holds content, so it is for its owner alone. */
export function keepCall(path: string, { text, ...about }: KeptCall): Promise<void> {
  writeFileSync(path, `${JSON.stringify(about)}\n${text}\n`, { mode: 0o600, flush: true });
  return syncFolder(dirname(resolve(path)));
}

/**
 * Reads such a file; null if the file is missing or not whole: then its call was never made.
 *
 * @throws UsageError for another file.
 */
export function keptCall(path: string): KeptCall | null {
  if (!existsSync(path)) return null;
  const [first = '', text = '', end] = readFileSync(path, 'utf8').split('\n');
  if (end !== '') return null;
  const about = readJson(first);
  const rows = isObject(about) && Array.isArray(about.rows) ? about.rows.map(sentRowIn) : [];
  const call = { ...(isObject(about) ? about : {}), rows, text };
  if (!isCall(call))
    throw new UsageError(`${path} is not the call of an import; remove it, or name another file with --state`);
  return call;
}

function isCall(call: object): call is KeptCall {
  const { import: id, path, key, reason, rows } = call as Partial<KeptCall>;
  return [id, path, key, reason].every((one) => typeof one === 'string') && rows?.every((row) => row !== null) === true;
}

/** The row in a line; null if the line is not a row. */
export function sentRowIn(line: Json): SentRow | null {
  const { key, slug, from, later } = isObject(line) ? line : {};
  if (typeof key !== 'string' || typeof slug !== 'string') return null;
  return {
    key,
    slug,
    ...(typeof from === 'string' ? { from } : {}),
    ...(Array.isArray(later) ? { later: later.map(String) } : {}),
  };
}

/** Removes such a file, if there is one. */
export function dropCall(path: string): void {
  rmSync(path, { force: true });
}
