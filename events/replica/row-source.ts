import type { Sqlite } from '../../storage/sqlite.ts';
import { batchStream, schemaStream } from '../facts/catalogue.ts';
import { headerOf } from '../facts/envelope.ts';
import { erasedStreams, staysErased } from '../facts/erasures.ts';
import { eventOf, type LogReader, readLog } from '../log/log-reader.ts';
import type { MissingRows, Shipment, ShippedClaim, ShippedErasure, ShippedIdempotencyRecord } from '../log/shipment.ts';
import { appendLeaf, leafHash, rootOf, type Tree, treeAt } from '../proof/merkle.ts';

/** A part of a log, with the erasures in it. Its claims and idempotency records are read separately. */
export type LogPage = Pick<Shipment, 'from' | 'head' | 'erasures'> & Pick<MissingRows, 'events'>;

/** The largest page, and about how many bytes it has. */
const mostEvents = 1000;
const mostBytes = 2 * 1024 * 1024;

const newest = '(SELECT position FROM events WHERE events.stream = claims.stream ORDER BY version DESC LIMIT 1)';

type ClaimRow = Omit<ShippedClaim, 'isTaken'>;

export type RowSource = ReturnType<typeof openRowSource>;

/**
 * Reads a log in the rows that another store keeps. Each call is a read by itself, unless the caller has begun a
 * transaction.
 */
export function openRowSource(db: Sqlite) {
  const log = readLog(db);
  const select = prepareSelects(db);
  const countOf = (rows: string) => db.prepare<[], number>(`SELECT count(*) FROM ${rows}`).pluck().get() ?? 0;
  return {
    head: log.head,
    /** The streams that events after a position are about or have erased, and whether the schema has changed. */
    touched: (after: number, upTo: number) => touchedIn(log, new Set(select.streams.all(after, upTo)), { after, upTo }),
    /**
     * The events after the end of a tree, as many as go into one page. They are appended to the tree.
     *
     * @throws AlteredEventError if the log is damaged.
     */
    page: (tree: Tree, upTo: number): LogPage => pageOf(log, tree, upTo),
    /** The stored texts of the events between two positions. */
    texts: log.texts,
    /** The tree of the first events. */
    treeAt: (size: number): Tree => treeAt(size, log.storedHashes),
    rootAt: log.rootAt,
    /** The claims of all streams or of some, each at the newest event of its stream. */
    claims: function* (streams?: readonly string[]): Generator<ShippedClaim> {
      const rows = streams ? select.claimsOf.iterate(JSON.stringify(streams)) : select.claims.iterate();
      for (const row of rows) yield { ...row, isTaken: true };
    },
    holderOf: log.holderOf,
    /** An idempotency record by its key. */
    idempotencyRecord: (key: string): ShippedIdempotencyRecord | null => select.record.get(key) ?? null,
    /** The idempotency records that were kept when the log had `since` events, and later. */
    idempotencyRecords: (since: number): IterableIterator<ShippedIdempotencyRecord> => select.records.iterate(since),
    /** The files of each erasure that are still to be looked at. */
    erasures: () => select.erasures.all(),
    /** The number of claims, and of idempotency records that were kept after a moment. */
    counts: (since: number): { claims: number; idempotencyRecords: number } => ({
      claims: countOf('claims'),
      idempotencyRecords: countOf(`commands WHERE recorded_at > ${Number(since)}`),
    }),
  };
}

function prepareSelects(db: Sqlite) {
  const claims = `SELECT scope, value, stream, ${newest} AS position FROM claims`;
  const records = 'SELECT key, fingerprint, stream, position, version, recorded_at AS recordedAt FROM commands WHERE';
  return {
    claims: db.prepare<[], ClaimRow>(claims),
    claimsOf: db.prepare<[streams: string], ClaimRow>(`${claims} WHERE stream IN (SELECT value FROM json_each(?))`),
    records: db.prepare<[since: number], ShippedIdempotencyRecord>(`${records} position >= ?`),
    record: db.prepare<[key: string], ShippedIdempotencyRecord>(`${records} key = ?`),
    streams: db
      .prepare<[after: number, upTo: number], string>(
        'SELECT DISTINCT stream FROM events WHERE position > ? AND position <= ?',
      )
      .pluck(),
    erasures: db.prepare<[], { position: number; files: string }>(
      'SELECT position, files FROM erasures ORDER BY position',
    ),
  };
}

function pageOf(log: LogReader, tree: Tree, upTo: number): LogPage {
  const from = tree.size;
  const texts = log.textsWithin(from, Math.min(upTo, from + mostEvents), mostBytes);
  const recorded = texts.map(eventOf);
  const events = texts.map(({ header, body }, at) => {
    const { position, id, stream, version } = (recorded[at] as (typeof recorded)[number]).header;
    appendLeaf(tree, leafHash(header), () => {});
    return { position, id, stream, version, header, body };
  });
  const last = recorded.at(-1)?.header;
  if (!last) throw new Error(`the log has no events after ${from}`);
  const head = { log: last.log, size: tree.size, root: rootOf(tree), recordedAt: last.recordedAt };
  const erasures = recorded
    .filter(({ header }) => header.type === 'document.erased')
    .map((event) => erasureOf(log, event));
  return { from, head, events, erasures };
}

function erasureOf(log: LogReader, { header: { position }, data }: ReturnType<typeof eventOf>): ShippedErasure {
  const erased = erasedStreams(data);
  const gone = erased.flatMap(({ stream, versions }) =>
    log
      .positionsOf(stream, 0, versions)
      .flatMap((at) => log.headers(at - 1, at).map(headerOf))
      .filter(({ type }) => !staysErased(type)),
  );
  const streams = erased.map(({ stream }) => stream);
  const batches = gone.flatMap(({ batch }) => (batch === undefined ? [] : [batchStream(batch)]));
  return {
    position,
    payloads: gone.map((header) => header.position),
    streams,
    idempotencyOf: [...new Set([...streams, ...batches])],
    files: log.erasures.at(position)?.files ?? [],
  };
}

/** @param streams the streams of the events; the erased streams are added to them. */
function touchedIn(
  log: LogReader,
  streams: Set<string>,
  { after, upTo }: { after: number; upTo: number },
): { streams: string[]; hasNewSchema: boolean } {
  for (const { position } of log.erasures.before(upTo + 1, Number.MAX_SAFE_INTEGER)) {
    if (position <= after) break;
    const [event] = log.range(position - 1, position);
    for (const { stream } of erasedStreams(event?.data ?? null)) streams.add(stream);
  }
  return { streams: [...streams], hasNewSchema: streams.has(schemaStream) };
}
