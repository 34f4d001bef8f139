import { statSync } from 'node:fs';
import type { Collection, Model } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { showProgress } from '../../server/platform/progress.ts';
import { CallError } from '../errors.ts';
import { printable } from '../terminal.ts';
import { columnsOf } from './columns.ts';
import { RowError } from './documents.ts';
import type { FindFile } from './files.ts';
import { type Format, type ImportRow, readRows } from './rows.ts';
import type { Calls } from './service.ts';
import type { ImportState } from './state.ts';

/** How many rows ended how. */
export type ImportCounts = { created: number; updated: number; unchanged: number; skipped: number; refused: number };

/** The parts that all rows of an import share. `state` is null with `upsert`, which can be repeated without. */
export type Importing = {
  calls: Calls;
  collections: ReadonlyMap<string, Collection>;
  limits: Model['limits'];
  state: ImportState | null;
  upsert: string | null;
  isDryRun: boolean;
  /** Whether rows are saved as drafts. */
  isDraft: boolean;
  reason: string;
  findFile: FindFile;
  signal: AbortSignal;
  counts: ImportCounts;
};

/** A file of rows, and the collection that it goes into. */
export type ImportSource = { path: string; format: Format; collection: Collection };

/** No rows yet. */
export function noCounts(): ImportCounts {
  return { created: 0, updated: 0, unchanged: 0, skipped: 0, refused: 0 };
}

/**
 * The rows of a file, with the progress on standard error.
 *
 * @throws CallError when the import is stopped.
 */
export async function* rowsOf(
  { collections, signal }: Pick<Importing, 'collections' | 'signal'>,
  { path, format, collection }: ImportSource,
  what = 'importing',
): AsyncGenerator<ImportRow> {
  const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
  const progress = showProgress(`${what} ${collection.slug}, bytes`);
  const readTitles = columnsOf(collection, collections);
  const file = { path, format, readTitles, onBytes: (bytes: number) => progress(bytes, size) };
  for await (const row of readRows(file)) {
    stopIfAsked({ signal });
    yield row;
  }
}

/** @throws CallError when the import is to stop. */
export function stopIfAsked({ signal }: Pick<Importing, 'signal'>): void {
  if (signal.aborted) throw new CallError('stopped; the same command resumes the import');
}

/** The values of a row. @throws RowError if it has none. */
export function valuesOf(row: ImportRow): JsonObject {
  if (row.problem === undefined) return row.values;
  throw new RowError(row.problem);
}

/**
 * Does the work of a row. If the row is refused, prints a line for each reason.
 *
 * @param place of the row, which begins the lines.
 */
export async function refusing(
  { counts }: Pick<Importing, 'counts'>,
  place: string,
  write: () => Promise<void>,
): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    counts.refused += 1;
    for (const reason of error.message.split('\n')) say(place, reason);
    return false;
  }
}

/** Prints a line about a row. */
export function say(place: string, line: string): void {
  process.stderr.write(`${place}: ${printable(line)}\n`);
}
