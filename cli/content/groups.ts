import { randomUUID } from 'node:crypto';
import type { Collection } from '../../config/model.ts';
import type { Json } from '../../config/schema.ts';
import { CallError } from '../call-error.ts';
import { makeCall } from './bulk-calls.ts';
import { type JsonDocument, RowError } from './documents.ts';
import { type Importing, refusing, stopIfAsked } from './importing.ts';
import type { SentRow } from './kept-call.ts';
import type { Finding, Found } from './relations.ts';
import { keyIn, rowBodyOf, rowWriter, type ToWrite, type Written } from './writing.ts';

/** A row before it is written: its values with the ids of this service, and the part that the record keeps. */
export type Prepared = Pick<ToWrite, 'values' | 'source'> & Pick<SentRow, 'from' | 'later'>;

/** A row: its place begins the lines about it, its key names it in the record. */
type Named = { place: string; key: string };
type Ready = Named & { row: ToWrite; sent: SentRow; text: string; match: string | null };
type Refused = Named & { error: RowError };

/** The rows of an import on their way into a collection. */
export type Groups = {
  /**
   * Takes a row. It is written after those before it, at the latest by `flush`; then it is counted, or a line is
   * printed for each reason of its refusal.
   *
   * @param prepare gives what is written, null for a row that waits; throws a RowError for one that is refused.
   */
  take: (row: Named, prepare: () => Promise<Prepared | null>) => Promise<void>;
  /** Writes the rows that were taken. @throws CallError when the service fails or the import is stopped. */
  flush: () => Promise<void>;
  /** Finds the documents of these rows as well: it writes them first. */
  finding: Finding;
};

/** So many rows are in one call: more save little, and a refusal costs a call for each. */
const mostRows = 200;

/**
 * Collects the rows of a collection into bulk calls. The rows of a call that is refused are written one by one, so that
 * each refusal has its row; so are rows with files, and the rows of a dry run.
 *
 * @param onRefused is told the key of a row that is refused.
 */
export function groupsOf(
  importing: Importing,
  { collection, finding }: { collection: Collection; finding: Finding },
  onRefused: (key: string) => void = () => {},
): Groups {
  const { calls, state, upsert, isDryRun, reason, counts, limits } = importing;
  const { slug, upload } = collection;
  const write = rowWriter({ ...importing, collection });
  const takesMany = !upload && !isDryRun;
  const before = upsert === null ? '{"docs":[' : `{"upsertBy":${JSON.stringify(upsert)},"docs":[`;
  const after = ']}';
  const most = limits.bulkBody - Buffer.byteLength(before + after);
  let taken: (Ready | Refused)[] = [];
  let bytes = 0;
  const ids = new Set<string>();
  const matches = new Set<string>();
  return { take, flush, finding: { ...finding, byId, find } };

  async function take(named: Named, prepare: () => Promise<Prepared | null>): Promise<void> {
    const row = await readyOf(named, prepare);
    if (!row) return;
    if (!isReady(row)) {
      taken.push(row);
      if (taken.length >= mostRows || !taken.some(isReady)) await flush();
      return;
    }
    const size = Buffer.byteLength(row.text);
    // As large as by itself, whatever stands beside it.
    const isAlone = !takesMany || state?.isSingle(row.key) === true || size > Math.min(limits.body, most);
    const { match, sent } = row;
    const isTwice = match !== null && matches.has(match);
    if (isAlone || isTwice || taken.length >= mostRows || bytes + size > most) await flush();
    taken.push(row);
    bytes += size + 1;
    if (sent.from !== undefined) ids.add(sent.from);
    if (match !== null) matches.add(match);
    if (isAlone) await flush();
  }

  async function readyOf(named: Named, prepare: () => Promise<Prepared | null>): Promise<Ready | Refused | null> {
    const { key } = named;
    try {
      const prepared = await prepare();
      if (!prepared) return null;
      const { values, source, ...kept } = prepared;
      const body = rowBodyOf(collection, values);
      const match = upsert === null ? null : JSON.stringify(keyIn(upsert, body).value);
      const row = { values, source, key: state?.writeKey(key) ?? randomUUID() };
      return { ...named, row, sent: { key, slug, ...kept }, text: JSON.stringify(body), match };
    } catch (error) {
      if (error instanceof RowError) return { ...named, error };
      throw error;
    }
  }

  async function flush(): Promise<void> {
    const all = taken;
    const rows = all.filter(isReady);
    taken = [];
    bytes = 0;
    ids.clear();
    matches.clear();
    const ends = rows.length > 1 ? await writeTogether(rows) : null;
    if (!ends && takesMany) state?.split(rows);
    for (const row of all) {
      const isSound = await refusing(importing, row.place, async () => {
        if (!isReady(row)) throw row.error;
        const end = ends ? ends.get(row) : await writeAlone(row);
        if (!end) throw new CallError('the service answered with fewer documents than it was sent');
        if (end instanceof RowError) throw end;
        counts[end.outcome] += 1;
      });
      if (!isSound) onRefused(row.key);
    }
  }

  async function writeAlone({ row, sent }: Ready): Promise<Written> {
    stopIfAsked(importing);
    const written = await write(row);
    if (written.id !== null && !isDryRun) state?.add({ ...sent, id: written.id });
    return written;
  }

  /** The end of each row; null where the call is refused, and has written nothing. */
  async function writeTogether(rows: readonly Ready[]): Promise<Map<Ready, Written | RowError | undefined> | null> {
    const text = before + rows.map((row) => row.text).join(',') + after;
    const sent = rows.map((row) => row.sent);
    const call = { path: `/api/collections/${slug}/bulk`, text, reason };
    const key = state?.writeKey(...sent.map((row) => row.key));
    if (key !== undefined) await state?.begin({ ...call, key, rows: sent });
    const written = await makeCall(calls, key === undefined ? call : { ...call, key });
    if (!written) return null;
    state?.end(sent, written);
    return new Map(rows.map((row, index) => [row, written instanceof RowError ? written : written[index]]));
  }

  async function byId(target: string, id: string): Promise<Found> {
    if (target === slug && ids.has(id)) await flush();
    return finding.byId(target, id);
  }

  async function find(target: string, field: string, value: Json): Promise<JsonDocument | null> {
    // A row may change the value by which another one is found.
    if (upsert !== null && target === slug) await flush();
    const found = await finding.find(target, field, value);
    if (found || !taken.some(isReady)) return found;
    await flush();
    return finding.find(target, field, value);
  }
}

function isReady(row: Ready | Refused): row is Ready {
  return !('error' in row);
}
