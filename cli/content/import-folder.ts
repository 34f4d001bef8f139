import { compileValidator } from '../../config/documents.ts';
import type { Collection, Field } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { finishCall } from './bulk-calls.ts';
import { accepted, asRowError, findDocument, RowError } from './documents.ts';
import { type ExportFolder, requireWhole } from './folder.ts';
import { groupsOf } from './groups.ts';
import { type Importing, type ImportSource, refusing, rowsOf, say, valuesOf } from './importing.ts';
import { type RelationLookup, type ResolvedRow, type RowReference, resolveRelations } from './relations.ts';
import { bodyOf, writeChange } from './row-writer.ts';
import type { ImportRow } from './rows.ts';
import type { ImportState } from './state.ts';

/**
 * An import of an export: `dropsMissing` leaves out what points to documents that neither the export nor the service
 * has.
 */
type FolderImport = Omit<Importing, 'state' | 'upsert'> & { state: ImportState; dropsMissing: boolean };

/**
 * The parts of the work on an export: `finished` are the keys of rows of the call that an earlier run was making,
 * `refused` those of rows that were refused, which are not tried again.
 */
type Work = FolderImport & {
  exported: ExportFolder;
  ids: Ids;
  finding: RelationLookup;
  finished: ReadonlySet<string>;
  refused: Set<string>;
};

/** The place of each document of an export in the order of the import, by collection and id. */
type Ids = ReadonlyMap<string, RowPosition>;
type RowPosition = { source: number; row: number };

/**
 * Imports an export: first its documents, without the relationships to those that come later, then these relationships,
 * then its globals. The values of a row, and so the write that its idempotency key is for, follow from the export
 * alone, however often the import is resumed.
 *
 * @throws UsageError for an export that is not whole; CallError when the service fails or the import is stopped.
 */
export async function importExport(importing: FolderImport, exported: ExportFolder): Promise<void> {
  const ids = await idsOf(importing, exported);
  const finished = await finishCall({ ...importing, upsert: null });
  const work: Work = { ...importing, exported, ids, finding: findingIn(importing, ids), finished, refused: new Set() };
  const { counts } = importing;
  const { sources } = exported;
  for (let isFirst = true, before = -1, isWaiting = true; isWaiting; isFirst = false) {
    // Rows that wait for others are refused once no row gets on.
    const isLast = counts.created === before;
    before = counts.created;
    isWaiting = false;
    for (const source of sources) isWaiting = (await createRows(work, source, { isFirst, isLast })) || isWaiting;
  }
  for (const source of sources) await finishRows(work, source);
  for (const global of exported.globals) await writeGlobal(work, global);
}

async function idsOf(importing: FolderImport, { sources }: ExportFolder): Promise<Ids> {
  const ids = new Map<string, RowPosition>();
  for (const [index, source] of sources.entries()) {
    let rows = 0;
    for await (const row of rowsOf(importing, source, 'reading')) {
      rows += 1;
      const id = idIn(row);
      if (id === null) continue;
      const name = nameOf(source.collection.slug, id);
      if (ids.has(name)) throw new UsageError(`${source.path}: row ${row.number}: the id ${show(id)} is there twice`);
      ids.set(name, { source: index, row: row.number });
    }
    requireWhole(source, rows);
  }
  return ids;
}

function findingIn({ calls, collections, state, isDryRun, dropsMissing }: FolderImport, ids: Ids): RelationLookup {
  const here = new Map<string, boolean>();
  const find = (slug: string, field: string, value: Json) => findDocument(calls, slug, { field, value });
  return { collections, byId, find };

  async function byId(slug: string, id: string): Promise<RowReference> {
    const name = nameOf(slug, id);
    const imported = state.imported(slug, id);
    if (imported !== undefined) return { id: imported };
    if (ids.has(name)) return isDryRun ? { id } : { later: true };
    const isHere = here.get(name) ?? (await find(slug, 'id', id)) !== null;
    here.set(name, isHere);
    if (isHere) return { id };
    const what = `names a document of ${slug} that neither the export nor the service has, ${show(id)}`;
    return dropsMissing ? { leftOut: `${what}; it is left out` } : { problem: `${what}; --drop-missing leaves it out` };
  }
}

/**
 * The fields of a row that are written when all documents are there. A row waits for the documents before it, and for
 * the documents that it requires.
 */
async function laterIn({ ids, collections }: Work, source: ImportSource, values: JsonObject): Promise<string[]> {
  const { slug, fields } = source.collection;
  const own = ids.get(nameOf(slug, String(values.id)));
  const isBefore = (place: RowPosition) =>
    own !== undefined && (place.source === own.source ? place.row < own.row : place.source < own.source);
  const byId = async (target: string, id: string): Promise<RowReference> => {
    const place = ids.get(nameOf(target, id));
    return place && !isBefore(place) ? { later: true } : { id };
  };
  const optional = fields.filter(({ required }) => !required);
  const { later } = await resolveRelations(optional, values, { collections, byId, find: async () => null });
  return [...later];
}

/** Creates the documents of a collection that are not there yet. True if some wait for others. */
async function createRows(
  work: Work,
  source: ImportSource,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): Promise<boolean> {
  const { state, counts, isDryRun, finished, refused } = work;
  const { fields } = source.collection;
  const { take, flush, finding } = groupsOf(
    { ...work, upsert: null },
    { collection: source.collection, finding: work.finding, onRefused: (key) => refused.add(key) },
  );
  let isWaiting = false;
  for await (const row of rowsOf(work, source)) {
    const key = keyOf(source, row);
    if (state.isDone(key)) {
      if (isFirst && !finished.has(key)) counts.skipped += 1;
    } else if (!refused.has(key)) {
      await take({ place: placeOf(source, row), key }, async () => {
        const given = rowIn(row);
        const later = isDryRun ? [] : await laterIn(work, source, given);
        const resolved = await resolveRelations(fields, without(given, later), finding);
        const missing = fields.find(({ name }) => resolved.later.has(name));
        if (missing && !isLast) {
          isWaiting = true;
          return null;
        }
        tell(placeOf(source, row), resolved, missing);
        return { values: resolved.values, source: given, from: given.id, ...(later.length > 0 && { later }) };
      });
    }
  }
  await flush();
  return isWaiting;
}

/** Writes the relationships of a collection that had to wait. */
async function finishRows(work: Work, source: ImportSource): Promise<void> {
  const { state } = work;
  const { slug, fields } = source.collection;
  for await (const row of rowsOf(work, source, 'connecting')) {
    const unfinished = state.unfinished(keyOf(source, row));
    if (!unfinished) continue;
    await refusing(work, placeOf(source, row), async () => {
      const { later = [], ...done } = unfinished;
      const own = fields.filter(({ name }) => later.includes(name));
      const resolved = await resolveRelations(own, only(rowIn(row), later), work.finding);
      const missing = own.find(({ name }) => resolved.later.has(name));
      tell(placeOf(source, row), resolved, missing);
      await writeChange(work, { path: `/api/collections/${slug}/${done.id}`, values: resolved.values });
      state.add(done);
    });
  }
}

async function writeGlobal(work: Work, { path, global, values }: ExportFolder['globals'][number]): Promise<void> {
  const { calls, state, counts, isDryRun } = work;
  const { slug, fields } = global;
  const key = `globals/${slug}`;
  if (state.isDone(key)) {
    counts.skipped += 1;
    return;
  }
  await refusing(work, path, async () => {
    const resolved = await resolveRelations(fields, bodyOf(global, values), work.finding);
    const missing = fields.find(({ name }) => resolved.later.has(name));
    tell(path, resolved, missing);
    const before = accepted(await calls.ask({ method: 'GET', path: `/api/globals/${slug}` }));
    if (isDryRun) {
      try {
        compileValidator(global).update(resolved.values);
      } catch (error) {
        asRowError(error);
      }
      counts.updated += 1;
      return;
    }
    const after = await writeChange(work, { path: `/api/globals/${slug}`, values: resolved.values });
    counts[after.updatedAt === before.updatedAt ? 'unchanged' : 'updated'] += 1;
    state.add({ key, slug: 'globals', id: slug });
  });
}

/** A row of an export is known by its id. */
function keyOf({ collection }: ImportSource, row: ImportRow): string {
  return `${collection.slug}:${idIn(row) ?? `row ${row.number}`}`;
}

function nameOf(slug: string, id: string): string {
  return `${slug}/${id}`;
}

function idIn(row: ImportRow): string | null {
  return row.problem === undefined && typeof row.values.id === 'string' ? row.values.id : null;
}

function placeOf({ path }: ImportSource, { number }: ImportRow): string {
  return `${path}: row ${number}`;
}

function rowIn(row: ImportRow): JsonObject & { id: string } {
  const values = valuesOf(row);
  const { id } = values;
  if (typeof id !== 'string') throw new RowError(`id must be a text, got ${show(id)}`);
  return { ...values, id };
}

/**
 * Prints what is left out of a row.
 *
 * @param missing a field that names a document that was not imported.
 * @throws RowError for such a field, and for documents that are not found.
 */
function tell(place: string, { notes, problems }: ResolvedRow, missing: Field | undefined): void {
  const of = missing?.relationTo === undefined ? '' : ` of ${missing.relationTo}`;
  const waits = `names a document${of} that is not imported: it was refused, or waits for this one`;
  const lines = missing ? [...problems, `${missing.name} ${waits}`] : problems;
  if (lines.length > 0) throw new RowError(lines.join('\n'));
  for (const note of notes) say(place, note);
}

function without(values: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
}

function only(values: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** The auth collections of an export, which come without passwords. */
export function accountsIn({ sources }: ExportFolder): Collection[] {
  return sources
    .filter(({ collection, documents }) => collection.auth && documents > 0)
    .map(({ collection }) => collection);
}
