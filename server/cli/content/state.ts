import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { isObject, type Json, type JsonObject } from '../../../config/schema.ts';
import { messageOf } from '../../../storage/errors.ts';
import { UsageError } from '../../settings/settings.ts';

/**
 * A row that was imported: its key, and the ids of its document here and in the import. `later` are the fields that have yet to be written,
 * since they name documents that were imported after it.
 */
export type Done = { key: string; slug: string; id: string; from?: string; later?: string[] };

/** The log that is written to, and the export that is imported, null for the file of one collection. */
export type Ends = { log: string; source: string | null };

/** The kept record of an import, so that it can be resumed and no row is imported twice. */
export type State = {
  isDone: (key: string) => boolean;
  /** A row of which fields have yet to be written; undefined for another one. */
  unfinished: (key: string) => Done | undefined;
  /** The id here of a document by its id in the import. */
  imported: (slug: string, from: string) => string | undefined;
  add: (row: Done) => void;
  /** An idempotency key for the write of a row, the same however often the import is resumed. */
  writeKey: (key: string) => string;
};

/**
 * Opens the record of an import: a line of JSON for the log that it is of, then one for each imported row, and another one for a row that
 * is finished later.
 *
 * @param isKept false for a dry run, which writes nothing.
 * @throws UsageError if the file is of another log or export, or is not a record of an import.
 */
export function openState(path: string, { log, source }: Ends, isKept: boolean): State {
  let head = { annalsImport: 1, log, import: randomUUID() as string, ...(source === null ? {} : { source }) };
  const done = new Set<string>();
  const ids = new Map<string, string>();
  const unfinished = new Map<string, Done>();
  const note = (row: Done) => {
    const { key, slug, id, from, later } = row;
    done.add(key);
    if (from !== undefined) ids.set(`${slug}/${from}`, id);
    if (later) unfinished.set(key, row);
    else unfinished.delete(key);
  };
  if (existsSync(path)) {
    const [first, ...lines] = readWhole(path, isKept);
    if (!isObject(first) || first.annalsImport !== 1) {
      throw new UsageError(`${path} is not the record of an import; --state names another file`);
    }
    if (first.log !== log) {
      throw new UsageError(
        `${path} is the record of an import into another log, ${String(first.log)}; --state names another file`,
      );
    }
    if (source !== null && first.source !== source)
      throw new UsageError(`${path} is not the record of the import of this export; --state names another file`);
    head = { ...head, import: String(first.import) };
    for (const line of lines) note(doneIn(path, line));
  } else write(head);

  return {
    isDone: (key) => done.has(key),
    unfinished: (key) => unfinished.get(key),
    imported: (slug, from) => ids.get(`${slug}/${from}`),
    add(row) {
      note(row);
      write(row);
    },
    writeKey: (key) => createHash('sha256').update(`${head.import}\n${key}`).digest('base64url'),
  };

  function write(line: typeof head | Done): void {
    if (!isKept) return;
    try {
      appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600, flush: line === head });
    } catch (error) {
      throw new UsageError(`the record of the import cannot be written, --state names its file: ${messageOf(error)}`);
    }
  }
}

function doneIn(path: string, line: Json): Done {
  const { key, slug, id, from, later } = isObject(line) ? line : {};
  if (typeof key !== 'string' || typeof slug !== 'string' || typeof id !== 'string') throw damaged(path);
  return {
    key,
    slug,
    id,
    ...(typeof from === 'string' ? { from } : {}),
    ...(Array.isArray(later) ? { later: later.map(String) } : {}),
  };
}

function damaged(path: string): UsageError {
  return new UsageError(`${path} is damaged; --state names another file`);
}

/** The lines of a record. A last line that was cut off by a crash is removed: its row is written again, under the same key. */
function readWhole(path: string, isKept: boolean): Json[] {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf('\n') + 1;
  if (end < bytes.length && isKept) truncateSync(path, end);
  try {
    return bytes
      .subarray(0, end)
      .toString()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  } catch {
    throw damaged(path);
  }
}

/** Names rows by what they say: the same row again is another one, the same file again has the same rows. */
export function rowKeys(slug: string): (values: JsonObject) => string {
  const counts = new Map<string, number>();
  return (values) => {
    const digest = createHash('sha256').update(JSON.stringify(values)).digest('base64url');
    const count = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, count);
    return `${slug}:${digest}:${count}`;
  };
}
