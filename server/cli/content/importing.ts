import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Collection } from '../../../config/model.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { showProgress } from '../../platform/progress.ts';
import { CallError } from '../operator.ts';
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
  const { state, counts, isDryRun } = importing;
  const { slug } = source.collection;
  const write = rowWriter({ ...importing, collection: source.collection });
  for await (const { row, key, resolve } of rowsOf(importing, source)) {
    if (row.problem !== undefined) refuse(importing, source, row.number, row.problem);
    else if (state?.isDone(key)) counts.skipped += 1;
    else {
      const { number, values: given } = row;
      await refusing(importing, source, number, async () => {
        const toWrite = { values: await resolve(given), source: given, key: state?.writeKey(key) ?? randomUUID() };
        const { outcome, id } = await write(toWrite);
        counts[outcome] += 1;
        if (id !== null && !isDryRun)
          state?.add({ key, slug, id, ...(typeof given.id === 'string' && { from: given.id }) });
      });
    }
  }
}

/** A row with its key, and the way to the values that it is written with. */
type Keyed = { row: Row; key: string; resolve: (values: JsonObject) => Promise<JsonObject> };

async function* rowsOf(importing: Importing, { path, format, collection }: Source): AsyncGenerator<Keyed> {
  const { collections, signal, state, calls } = importing;
  const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
  const progress = showProgress(`importing ${collection.slug}, bytes`);
  const readTitles = columnsOf(collection, collections);
  const keyOf = rowKeys(collection.slug);
  const finding: Finding = {
    collections,
    imported: (slug, id) => state?.imported(slug, id),
    find: (slug: string, field: string, value: Json) => findDocument(calls, slug, { field, value }),
  };
  const resolve = async (values: JsonObject) => {
    const resolved = await resolveRelations(collection.fields, values, finding);
    if (resolved.problems.length > 0) throw new RowError(resolved.problems.join('\n'));
    return resolved.values;
  };
  const file = { path, format, readTitles, onBytes: (bytes: number) => progress(bytes, size) };
  for await (const row of readRows(file)) {
    if (signal.aborted) throw new CallError('stopped; the same command resumes the import');
    const key = row.problem === undefined ? keyOf(row.values) : '';
    yield { row, key, resolve };
  }
}

async function refusing(
  importing: Importing,
  source: Source,
  number: number,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    refuse(importing, source, number, error.message);
  }
}

/** Prints a line for each reason why a row is refused. */
function refuse({ counts }: Importing, { path }: Source, number: number, reasons: string): void {
  counts.refused += 1;
  for (const reason of reasons.split('\n')) process.stderr.write(`${path}: row ${number}: ${printable(reason)}\n`);
}
