import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Collection } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { showProgress } from '../../platform/progress.ts';
import { CallError } from '../call-error.ts';
import { printable } from '../terminal.ts';
import { columnsOf } from './columns.ts';
import { findDocument, RowError } from './documents.ts';
import type { FindFile } from './files.ts';
import { type Finding, resolveRelations } from './relations.ts';
import { type Format, type Row, readRows } from './rows.ts';
import type { Calls } from './service.ts';
import { rowKeys, type State } from './state.ts';
import { rowWriter } from './writing.ts';

/** How many rows ended how. */
export type Counts = { created: number; updated: number; unchanged: number; skipped: number; refused: number };

/** The parts that all rows of an import share. `state` is null with `upsert`, which can be repeated without. */
export type Importing = {
  calls: Calls;
  collections: ReadonlyMap<string, Collection>;
  state: State | null;
  upsert: string | null;
  isDryRun: boolean;
  reason: string;
  findFile: FindFile;
  signal: AbortSignal;
  counts: Counts;
};

/** A file of rows, and the collection that it goes into. */
export type Source = { path: string; format: Format; collection: Collection };

/** No rows yet. */
export function noCounts(): Counts {
  return { created: 0, updated: 0, unchanged: 0, skipped: 0, refused: 0 };
}

/**
 * Imports the rows of a file, in their order: each is one write of the service, and prints a line for each reason if it is refused.
 *
 * @throws UsageError for a file that cannot be read; CallError when the service fails or the import is stopped.
 */
export async function importRows(importing: Importing, source: Source): Promise<void> {
  const { state, counts, calls, collections, isDryRun } = importing;
  const { slug, fields } = source.collection;
  const write = rowWriter({ ...importing, collection: source.collection });
  const keyOf = rowKeys(slug);
  const finding: Finding = {
    collections,
    byId: async (target, id) => ({ id: state?.imported(target, id) ?? id }),
    find: (target, field, value) => findDocument(calls, target, { field, value }),
  };
  for await (const row of rowsOf(importing, source)) {
    const key = row.problem === undefined ? keyOf(row.values) : '';
    if (state?.isDone(key)) counts.skipped += 1;
    else {
      await refusing(importing, `${source.path}: row ${row.number}`, async () => {
        const given = valuesOf(row);
        const { values, problems } = await resolveRelations(fields, given, finding);
        if (problems.length > 0) throw new RowError(problems.join('\n'));
        const { outcome, id } = await write({ values, source: given, key: state?.writeKey(key) ?? randomUUID() });
        counts[outcome] += 1;
        if (id !== null && !isDryRun)
          state?.add({ key, slug, id, ...(typeof given.id === 'string' && { from: given.id }) });
      });
    }
  }
}

/**
 * The rows of a file, with the progress on standard error.
 *
 * @throws CallError when the import is stopped.
 */
export async function* rowsOf(
  { collections, signal }: Pick<Importing, 'collections' | 'signal'>,
  { path, format, collection }: Source,
  what = 'importing',
): AsyncGenerator<Row> {
  const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
  const progress = showProgress(`${what} ${collection.slug}, bytes`);
  const readTitles = columnsOf(collection, collections);
  const file = { path, format, readTitles, onBytes: (bytes: number) => progress(bytes, size) };
  for await (const row of readRows(file)) {
    if (signal.aborted) throw new CallError('stopped; the same command resumes the import');
    yield row;
  }
}

/** The values of a row. @throws RowError for one that has none. */
export function valuesOf(row: Row): JsonObject {
  if (row.problem === undefined) return row.values;
  throw new RowError(row.problem);
}

/**
 * Does what a row asks for. For one that is refused, prints a line for each reason.
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
