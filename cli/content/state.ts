import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { messageOf } from '../../storage/errors.ts';
import { dropCall, type KeptCall, keepCall, keptCall, type SentRow, sentRowIn } from './kept-call.ts';

/** A row that was imported, and the id of its document here. */
export type ImportedRow = SentRow & { id: string };

/** The log that is written to, and the export that is imported, null for the file of one collection. */
type Ends = { log: string; source: string | null };

/** The kept record of an import, so that it can be resumed and no row is imported twice. */
export type ImportState = {
  isDone: (key: string) => boolean;
  /** A row with fields that have yet to be written; undefined if there are none. */
  unfinished: (key: string) => ImportedRow | undefined;
  /** Whether a row is written by itself: a call with others was refused, or there were none. */
  isSingle: (key: string) => boolean;
  /** The id here of a document by its id in the import. */
  imported: (slug: string, from: string) => string | undefined;
  add: (row: ImportedRow) => void;
  /** Keeps a bulk call before it is made, so that it can be made again as it was. */
  begin: (call: Omit<KeptCall, 'import'>) => Promise<void>;
  /** The bulk call that was kept and of which the outcome is not known; null without one. */
  begun: () => KeptCall | null;
  /**
   * Ends a bulk call, by the ids that its rows have got, in their order; with an error if the call has written nothing.
   *
   * @returns the rows that are done now.
   */
  end: (rows: readonly SentRow[], written: readonly { id: string | null }[] | Error) => ImportedRow[];
  /** Ends a bulk call that is refused: from now on these rows are written by themselves. */
  split: (rows: readonly { key: string }[]) => void;
  /** An idempotency key for the write of rows, the same however often the import is resumed. */
  writeKey: (...keys: string[]) => string;
};

/** The rows that a record names. */
type RecordedRows = {
  done: Set<string>;
  /** The id here of each document, by `SLUG/ID` in the import. */
  ids: Map<string, string>;
  unfinished: Map<string, ImportedRow>;
  single: Set<string>;
};

/**
 * Opens the record of an import: a line of JSON that names the log, then a line for the rows of each call, for each row
 * that was written by itself, and for each row that is finished later. A call that is being made is in a file beside
 * the record.
 *
 * @param isKept false for a dry run, which writes nothing.
 * @throws UsageError if the file is of another log or export, or is not a record of an import.
 */
export function openState(path: string, { log, source }: Ends, isKept: boolean): ImportState {
  let head = { annalsImport: 1, log, import: randomUUID() as string, ...(source === null ? {} : { source }) };
  const known: RecordedRows = { done: new Set(), ids: new Map(), unfinished: new Map(), single: new Set() };
  const { done, ids, unfinished, single } = known;
  const callPath = `${path}.sending`;
  if (existsSync(path)) {
    const [first, ...lines] = readWhole(path, isKept);
    head = { ...head, import: importIn(path, first, { log, source }) };
    for (const line of lines) noteLine(known, path, line);
  } else write(head, true);

  return {
    isDone: (key) => done.has(key),
    isSingle: (key) => single.has(key),
    unfinished: (key) => unfinished.get(key),
    imported: (slug, from) => ids.get(`${slug}/${from}`),
    add(row) {
      note(known, row);
      write(row);
    },
    begin: (call) => keeping(() => keepCall(callPath, { ...call, import: head.import })),
    begun() {
      const call = isKept ? keptCall(callPath) : null;
      // Not a call of another record, nor one whose end is in the record.
      return call?.import === head.import && call.rows.some(({ key }) => !done.has(key)) ? call : null;
    },
    end(rows, written) {
      const ended = written instanceof Error ? [] : doneBy(known, rows, written);
      for (const row of ended) note(known, row);
      if (ended.length > 0) write({ rows: ended }, true);
      keeping(() => dropCall(callPath));
      return ended;
    },
    split(rows) {
      const keys = rows.map(({ key }) => key).filter((key) => !single.has(key));
      for (const key of keys) single.add(key);
      if (keys.length > 0) write({ single: keys }, true);
      keeping(() => dropCall(callPath));
    },
    writeKey: (...keys) =>
      createHash('sha256')
        .update([head.import, ...keys].join('\n'))
        .digest('base64url'),
  };

  /**
   * Adds a line. `isOnDisk`: it must survive a power cut, before a call is forgotten or rows are written by themselves.
   */
  function write(line: object, isOnDisk = false): void {
    if (!isKept) return;
    const text = `${JSON.stringify(line)}\n`;
    keeping(() => appendFileSync(path, text, { mode: 0o600, flush: isOnDisk }));
  }
}

/** The id of the import, from the first line of a record. @throws UsageError if it is another record. */
function importIn(path: string, first: Json | undefined, { log, source }: Ends): string {
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
  return String(first.import);
}

function noteLine(known: RecordedRows, path: string, line: Json): void {
  if (isObject(line) && Array.isArray(line.rows)) for (const row of line.rows) note(known, doneIn(path, row));
  else if (isObject(line) && Array.isArray(line.single)) for (const key of line.single) known.single.add(String(key));
  else note(known, doneIn(path, line));
}

function note({ done, ids, unfinished }: RecordedRows, row: ImportedRow): void {
  const { key, slug, id, from, later } = row;
  done.add(key);
  if (from !== undefined) ids.set(`${slug}/${from}`, id);
  if (later) unfinished.set(key, row);
  else unfinished.delete(key);
}

/** The rows that a call has written, without those that were done before. */
function doneBy(
  { done }: RecordedRows,
  rows: readonly SentRow[],
  written: readonly { id: string | null }[],
): ImportedRow[] {
  return rows.flatMap((row, index) => {
    const id = written[index]?.id ?? null;
    return id === null || done.has(row.key) ? [] : [{ ...row, id }];
  });
}

function keeping<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new UsageError(`the record of the import cannot be written, --state names its file: ${messageOf(error)}`);
  }
}

function doneIn(path: string, line: Json): ImportedRow {
  const row = sentRowIn(line);
  if (!row || !isObject(line) || typeof line.id !== 'string') throw damaged(path);
  return { ...row, id: line.id };
}

function damaged(path: string): UsageError {
  return new UsageError(`${path} is damaged; --state names another file`);
}

/**
 * The lines of a record. A last line that was cut off by a crash is removed: its row is written again, under the same
 * key.
 */
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

/** Names rows by their content: a row that occurs twice has two keys, and the same file has the same keys again. */
export function rowKeys(slug: string): (values: JsonObject) => string {
  const counts = new Map<string, number>();
  return (values) => {
    const digest = createHash('sha256').update(JSON.stringify(values)).digest('base64url');
    const count = (counts.get(digest) ?? 0) + 1;
    counts.set(digest, count);
    return `${slug}:${digest}:${count}`;
  };
}
