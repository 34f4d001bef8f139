import { randomUUID } from 'node:crypto';
import type { Collection } from '../../config/model.ts';
import type { Json } from '../../config/schema.ts';
import { CallError } from '../errors.ts';
import { makeCall } from './bulk-calls.ts';
import { type JsonDocument, RowError } from './documents.ts';
import { type Importing, refusing, stopIfAsked } from './importing.ts';
import type { SentRow } from './kept-call.ts';
import type { RelationLookup, RowReference } from './relations.ts';
import { keyIn, rowBodyOf, rowWriter, type ToWrite, type WriteResult } from './row-writer.ts';

/** A row before it is written: its values with the ids of this service, and the part that the record keeps. */
type PreparedRow = Pick<ToWrite, 'values' | 'source'> & Pick<SentRow, 'from' | 'later'>;

/** A row: its place begins the lines about it, its key names it in the record. */
type RowName = { place: string; key: string };
type ReadyRow = RowName & { row: ToWrite; sent: SentRow; text: string; match: string | null };
type RefusedRow = RowName & { error: RowError };

/** The rows of an import on their way into a collection. */
type Groups = {
  /**
   * Takes a row. It is written after those before it, at the latest by `flush`; then it is counted, or a line is
   * printed for each reason of its refusal.
   *
   * @param prepare gives what is written, null for a row that waits; throws a RowError for a row that is refused.
   */
  take: (row: RowName, prepare: () => Promise<PreparedRow | null>) => Promise<void>;
  /** Writes the rows that were taken. @throws CallError if the service fails or the import is stopped. */
  flush: () => Promise<void>;
  /** Finds the documents of these rows as well: it writes them first. */
  finding: RelationLookup;
};

/** Where rows go. `onRefused` gets the key of each row that is refused. */
type Target = { collection: Collection; finding: RelationLookup; onRefused?: (key: string) => void };

/** The rows of a collection that were taken and are not written yet. */
type Pending = {
  importing: Importing;
  collection: Collection;
  write: (row: ToWrite) => Promise<WriteResult>;
  /** Whether a call may have several rows. */
  takesMany: boolean;
  /** The text of a bulk call around its rows. */
  frame: { before: string; after: string };
  rows: (ReadyRow | RefusedRow)[];
  /** The bytes of the rows in a call. */
  bytes: number;
  /** The ids that the rows have in the import. */
  ids: Set<string>;
  /** The values by which the rows are found. */
  matches: Set<string>;
};

/** How many rows are in one call: more save little, and after a refusal each row costs a call. */
const mostRows = 200;

/**
 * Collects the rows of a collection into bulk calls. The rows of a call that is refused are written one by one, so that
 * each refusal has its row; so are rows with files, and the rows of a dry run.
 */
export function groupsOf(importing: Importing, { collection, finding, onRefused = () => {} }: Target): Groups {
  const { upsert, isDryRun } = importing;
  const { slug, upload } = collection;
  const pending: Pending = {
    importing,
    collection,
    write: rowWriter({ ...importing, collection }),
    takesMany: !upload && !isDryRun,
    frame: { before: upsert === null ? '{"docs":[' : `{"upsertBy":${JSON.stringify(upsert)},"docs":[`, after: ']}' },
    rows: [],
    bytes: 0,
    ids: new Set(),
    matches: new Set(),
  };
  const flush = () => writePending(pending, onRefused);

  async function take(named: RowName, prepare: () => Promise<PreparedRow | null>): Promise<void> {
    const row = await readyOf(pending, named, prepare);
    if (!row) return;
    const { isFirst, isAlone } = placeOf(pending, row);
    if (isFirst) await flush();
    add(pending, row);
    if (isAlone) await flush();
  }

  async function byId(target: string, id: string): Promise<RowReference> {
    if (target === slug && pending.ids.has(id)) await flush();
    return finding.byId(target, id);
  }

  async function find(target: string, field: string, value: Json): Promise<JsonDocument | null> {
    // A row may change the value by which another document is found.
    if (upsert !== null && target === slug) await flush();
    const found = await finding.find(target, field, value);
    if (found || !pending.rows.some(isReady)) return found;
    await flush();
    return finding.find(target, field, value);
  }

  return { take, flush, finding: { ...finding, byId, find } };
}

async function readyOf(
  { importing, collection }: Pending,
  named: RowName,
  prepare: () => Promise<PreparedRow | null>,
): Promise<ReadyRow | RefusedRow | null> {
  const { state, upsert } = importing;
  const { key } = named;
  try {
    const prepared = await prepare();
    if (!prepared) return null;
    const { values, source, ...kept } = prepared;
    const body = rowBodyOf(collection, values);
    const match = upsert === null ? null : JSON.stringify(keyIn(upsert, body).value);
    const row = { values, source, key: state?.writeKey(key) ?? randomUUID() };
    return { ...named, row, sent: { key, slug: collection.slug, ...kept }, text: JSON.stringify(body), match };
  } catch (error) {
    if (error instanceof RowError) return { ...named, error };
    throw error;
  }
}

/** Whether a row begins a call, and whether the call is made at once. */
function placeOf(pending: Pending, row: ReadyRow | RefusedRow): { isFirst: boolean; isAlone: boolean } {
  const { importing, takesMany, frame, rows, bytes, matches } = pending;
  if (!isReady(row)) return { isFirst: false, isAlone: rows.length + 1 >= mostRows || !rows.some(isReady) };
  const { state, limits } = importing;
  const most = limits.bulkBody - Buffer.byteLength(frame.before + frame.after);
  const size = Buffer.byteLength(row.text);
  // A row that exceeds the limit of a single call is sent alone, so that it gets the refusal of that limit.
  const isAlone = !takesMany || state?.isSingle(row.key) === true || size > Math.min(limits.body, most);
  const isTwice = row.match !== null && matches.has(row.match);
  return { isFirst: isAlone || isTwice || rows.length >= mostRows || bytes + size > most, isAlone };
}

function add(pending: Pending, row: ReadyRow | RefusedRow): void {
  pending.rows.push(row);
  if (!isReady(row)) return;
  const { text, sent, match } = row;
  pending.bytes += Buffer.byteLength(text) + 1;
  if (sent.from !== undefined) pending.ids.add(sent.from);
  if (match !== null) pending.matches.add(match);
}

async function writePending(pending: Pending, onRefused: (key: string) => void): Promise<void> {
  const { importing, takesMany } = pending;
  const all = pending.rows;
  pending.rows = [];
  pending.bytes = 0;
  pending.ids.clear();
  pending.matches.clear();
  const rows = all.filter(isReady);
  const ends = rows.length > 1 ? await writeTogether(pending, rows) : null;
  if (!ends && takesMany) importing.state?.split(rows);
  for (const row of all) {
    const isSound = await refusing(importing, row.place, async () => {
      if (!isReady(row)) throw row.error;
      const end = ends ? ends.get(row) : await writeAlone(pending, row);
      if (!end) throw new CallError('the service answered with fewer documents than it was sent');
      if (end instanceof RowError) throw end;
      importing.counts[end.outcome] += 1;
    });
    if (!isSound) onRefused(row.key);
  }
}

async function writeAlone({ importing, write }: Pending, { row, sent }: ReadyRow): Promise<WriteResult> {
  stopIfAsked(importing);
  const written = await write(row);
  if (written.id !== null && !importing.isDryRun) importing.state?.add({ ...sent, id: written.id });
  return written;
}

/** The end of each row; null if the call is refused, and has written nothing. */
async function writeTogether(
  { importing, collection, frame }: Pending,
  rows: readonly ReadyRow[],
): Promise<Map<ReadyRow, WriteResult | RowError | undefined> | null> {
  const { calls, state, reason } = importing;
  const text = frame.before + rows.map((row) => row.text).join(',') + frame.after;
  const sent = rows.map((row) => row.sent);
  const call = { path: `/api/collections/${collection.slug}/bulk`, text, reason };
  const key = state?.writeKey(...sent.map((row) => row.key));
  if (key !== undefined) await state?.begin({ ...call, key, rows: sent });
  const written = await makeCall(calls, key === undefined ? call : { ...call, key });
  if (!written) return null;
  state?.end(sent, written);
  return new Map(rows.map((row, index) => [row, written instanceof RowError ? written : written[index]]));
}

function isReady(row: ReadyRow | RefusedRow): row is ReadyRow {
  return !('error' in row);
}
