import { finishCall } from './bulk-calls.ts';
import { findDocument, RowError } from './documents.ts';
import { groupsOf } from './groups.ts';
import { type Importing, type ImportSource, rowsOf, valuesOf } from './importing.ts';
import { resolveRelations } from './relations.ts';
import { rowKeys } from './state.ts';

/**
 * Imports the rows of a file, in their order, and prints a line for each reason if one is refused.
 *
 * @throws UsageError for a file that cannot be read; CallError when the service fails or the import is stopped.
 */
export async function importRows(importing: Importing, source: ImportSource): Promise<void> {
  const { state, counts, calls, collections } = importing;
  const { slug, fields } = source.collection;
  const keyOf = rowKeys(slug);
  const { take, flush, finding } = groupsOf(importing, {
    collection: source.collection,
    finding: {
      collections,
      byId: async (target, id) => ({ id: state?.imported(target, id) ?? id }),
      find: (target, field, value) => findDocument(calls, target, { field, value }),
    },
  });
  const finished = await finishCall(importing);
  for await (const row of rowsOf(importing, source)) {
    const key = row.problem === undefined ? keyOf(row.values) : '';
    if (state?.isDone(key)) {
      if (!finished.has(key)) counts.skipped += 1;
      continue;
    }
    await take({ place: `${source.path}: row ${row.number}`, key }, async () => {
      const given = valuesOf(row);
      const { values, problems } = await resolveRelations(fields, given, finding);
      if (problems.length > 0) throw new RowError(problems.join('\n'));
      return { values, source: given, ...(typeof given.id === 'string' && { from: given.id }) };
    });
  }
  await flush();
}
