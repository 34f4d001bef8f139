import type { Sqlite } from '../storage/sqlite.ts';
import { alteredEvent, missingEvent, missingVersion } from './altered.ts';
import { clockStream } from './catalogue.ts';
import { readCheckpoints } from './checkpoints.ts';
import { headerOf, payloadOf } from './envelope.ts';
import { type IsErased, knowErased, openErasures } from './erasures.ts';
import { agrees, differingRow, type EventRow, type PayloadRow, wrongPayload } from './event-checks.ts';
import type { RecordedEvent } from './log.ts';
import { BrokenLogError, type Head } from './log-file.ts';
import { type HashSource, leafHash, rootOf, tileWidth, treeAt } from './merkle.ts';
import { openNote, parseCheckpoint, parseVerifierKey } from './notes.ts';
import type { TreeHead } from './proofs.ts';
import { proveHashes } from './proven.ts';

export type LogReader = ReturnType<typeof readLog>;

const headerColumns = 'position, id, stream, version, header';
const columns = `${headerColumns}, enc, body`;

/**
 * Reads a log. Safe beside a running writer: every call sees a whole batch or nothing of it. A file that is no log of this
 * format can be opened, for `isLog` to say so.
 *
 * What it gives of events is what was recorded: each header is held against the tree that the head proves, each payload against
 * the commitment in its header. What differs, is missing or was erased and is there is an AlteredEventError. Only which events
 * there are in a stream is what the index says, but for gaps.
 */
export function readLog(db: Sqlite) {
  const selectHead = late(() =>
    db.prepare<[], Head>('SELECT log, size, root, recorded_at AS recordedAt, mac FROM head'),
  );
  const selectRange = late(() =>
    db.prepare<[after: number, upTo: number], Row>(
      `SELECT ${columns} FROM events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position`,
    ),
  );
  const selectStream = late(() =>
    db.prepare<[stream: string], Row>(
      `SELECT ${columns} FROM events LEFT JOIN payloads USING (position) WHERE stream = ? ORDER BY version`,
    ),
  );
  const selectPositions = late(() =>
    db.prepare<StreamRange, Place>(
      'SELECT position, version FROM events WHERE stream = ? AND version > ? AND version <= ? ORDER BY version',
    ),
  );
  // The plus sign keeps it to the index of streams: there are fewer events in one than in the log.
  const selectPositionsWithin = late(() =>
    db.prepare<[...StreamRange, limit: number], Place>(
      'SELECT position, version FROM events WHERE stream = ? AND +position > ? AND +position <= ? ORDER BY version LIMIT ? + 0',
    ),
  );
  // SQLite looks at a bare `?` here and plans anew for each value, which costs four times the look-up.
  const selectVersion = late(() =>
    db.prepare<[stream: string], number | null>('SELECT max(version) FROM events WHERE stream = (SELECT ?)').pluck(),
  );
  const selectHeaders = late(() =>
    db.prepare<[after: number, upTo: number], EventRow>(
      `SELECT ${headerColumns} FROM events WHERE position > ? AND position <= ? ORDER BY position`,
    ),
  );
  const selectStored = late(() =>
    db
      .prepare<[after: number, upTo: number], string>(
        'SELECT header FROM events WHERE position > ? AND position <= ? ORDER BY position',
      )
      .pluck(),
  );
  // Everything that begins with a prefix is before what begins with the next character.
  const selectUnder = late(() =>
    db
      .prepare<[from: string, to: string], string>(
        'SELECT DISTINCT stream FROM events WHERE stream >= ? AND stream < ? ORDER BY stream',
      )
      .pluck(),
  );
  const selectStreamFrom = late(() =>
    db.prepare<StreamRange, Row>(
      `SELECT ${columns} FROM events LEFT JOIN payloads USING (position)
     WHERE stream = ? AND version > ? AND position <= ? ORDER BY version`,
    ),
  );
  const selectLast = late(() =>
    db.prepare<[stream: string, upTo: number], Place>(
      'SELECT position, version FROM events WHERE stream = (SELECT ?) AND position <= ? ORDER BY version DESC LIMIT 1',
    ),
  );
  const selectErasures = late(() =>
    db.prepare<[upTo: number], Row>(
      `SELECT ${columns} FROM erasures JOIN events USING (position) LEFT JOIN payloads USING (position)
     WHERE position <= ? ORDER BY position`,
    ),
  );
  const selectClaim = late(() =>
    db
      .prepare<[scope: string, value: string], string>('SELECT stream FROM claims WHERE scope = ? AND value = ?')
      .pluck(),
  );
  const selectNewestErasure = late(() => db.prepare<[], number | null>('SELECT max(position) FROM erasures').pluck());
  const selectTile = late(() =>
    db.prepare<[level: number, index: number], Buffer>('SELECT hashes FROM tiles WHERE level = ? AND idx = ?').pluck(),
  );

  function head(): Head {
    const rows = selectHead().all();
    const [found] = rows;
    if (!found || rows.length !== 1) throw new BrokenLogError(`log.db has ${rows.length} heads`);
    if (!Number.isSafeInteger(found.size) || !Buffer.isBuffer(found.root))
      throw new BrokenLogError('the head of log.db is damaged');
    return found;
  }

  /** The events at positions `after + 1` to `upTo`, in order. */
  function range(after: number, upTo: number): RecordedEvent[] {
    return texts(after, upTo).map(eventOf);
  }

  /** All events of a stream, oldest first. */
  function stream(name: string): RecordedEvent[] {
    return checked(() => inStream(name, 0, selectStream().all(name))).map(eventOf);
  }

  /** The stored texts of the events at positions `after + 1` to `upTo`: what proofs are about is these bytes. */
  function texts(after: number, upTo: number): EventText[] {
    return checked(() => toEnd(after, upTo, selectRange().all(after, upTo)));
  }

  /** The stored headers alone of the events at positions `after + 1` to `upTo`. */
  function headers(after: number, upTo: number): string[] {
    const rows = toEnd(after, upTo, selectHeaders().all(after, upTo));
    for (const row of rows) requireHeader(row);
    return rows.map(({ header }) => header);
  }

  /** Where the versions `after + 1` to `upTo` of a stream stand in the log, in their order. */
  function positionsOf(name: string, after: number, upTo: number): number[] {
    const rows = inStream(name, after, selectPositions().all(name, after, upTo));
    const next = after + rows.length + 1;
    // What is appended meanwhile is there when the newest version says so.
    if (next <= upTo && next <= versionOf(name) && selectPositions().get(name, next - 1, next) === undefined)
      throw missingVersion(name, next);
    return rows.map(({ position }) => position);
  }

  /** Where a version of a stream stands that there is. */
  function positionOf(name: string, version: number): number {
    const [position] = positionsOf(name, version - 1, version);
    if (position === undefined) throw missingVersion(name, version);
    return position;
  }

  /** The positions of a stream's events after `after` up to `upTo`, the first `limit` of them. */
  function positionsWithin(name: string, after: number, upTo: number, limit: number): number[] {
    const rows = selectPositionsWithin().all(name, after, upTo, limit);
    return inStream(name, (rows[0]?.version ?? 1) - 1, rows).map(({ position }) => position);
  }

  /**
   * The first of the events at positions `after + 1` to `upTo`: as many as make some `bytes`, at least one. Each call is a read
   * of its own, so one who goes on reading for minutes holds back nobody, and holds no more than that.
   */
  function textsWithin(after: number, upTo: number, bytes: number): EventText[] {
    return checked(() => {
      const rows = within(selectRange().iterate(after, upTo), bytes);
      return rows.length > 0 ? inOrder(after, rows) : toEnd(after, upTo, rows);
    });
  }

  /** As {@link textsWithin}, of the events of a stream after version `after` that stand at positions up to `upTo`. */
  function streamTextsWithin(name: string, after: number, upTo: number, bytes: number): EventText[] {
    return checked(() => {
      return inStream(name, after, within(selectStreamFrom().iterate(name, after, upTo), bytes));
    });
  }

  /** Where a stream stood when the log held `upTo` events; null when it had not begun. */
  function lastOf(name: string, upTo: number): { position: number; version: number } | null {
    return selectLast().get(name, upTo) ?? null;
  }

  /** The events that say which payloads were erased, of the first `upTo`. */
  function erasureTexts(upTo: number): EventText[] {
    return selectErasures()
      .all(upTo)
      .map((row) => {
        // They say what is erased, and nothing takes what they say.
        const text = checkedEvent(row, noneErased, noneErased);
        if (headerOf(row.header).type !== 'document.erased')
          throw alteredEvent(row.position, 'it is among the erasures, and erased nothing');
        return text;
      });
  }

  /**
   * The position of the last event recorded at or before a time (ISO 8601, UTC, milliseconds); 0 when there is none. What was
   * recorded by a wrong clock counts as recorded when that was corrected.
   */
  function positionAt(time: string): number {
    let high = head().size;
    // Between two corrections of the clock times only go up.
    for (const start of corrections().reverse()) {
      if (timeAt(start) <= time) return halve(start, high);
      high = start - 1;
    }
    return halve(0, high);

    function halve(from: number, to: number): number {
      let [low, high] = [from, to];
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (timeAt(middle) <= time) low = middle;
        else high = middle - 1;
      }
      return low;
    }
  }

  function timeAt(position: number): string {
    const [header] = headers(position - 1, position);
    if (header === undefined) throw missingEvent(position);
    return headerOf(header).recordedAt;
  }

  /** The positions of the corrections of the clock, from which on times may be earlier than before. */
  function corrections(): number[] {
    return positionsOf(clockStream, 0, Number.MAX_SAFE_INTEGER);
  }

  /** The stream that holds a unique value; null for none. */
  function holderOf(scope: string, value: string): string | null {
    return selectClaim().get(scope, value) ?? null;
  }

  /** The version of the newest event of a stream; 0 when there is none. */
  function versionOf(name: string): number {
    return selectVersion().get(name) ?? 0;
  }

  /** The names of all streams that begin with a prefix that ends in a slash, in their order. */
  function streamsUnder(prefix: string): string[] {
    return selectUnder().all(prefix, `${prefix.slice(0, -1)}0`);
  }

  /** Hashes of the tree as they are stored: in tiles, and at its right edge, which has no full tile yet, as the headers. */
  const storedHashes: HashSource = (level, start, count) => {
    const index = Math.floor(start / tileWidth);
    const stored = storedTile(level, index);
    const at = (start % tileWidth) * 32;
    if (stored && stored.length >= at + count * 32) {
      return Array.from({ length: count }, (_, i) => stored.subarray(at + i * 32, at + (i + 1) * 32));
    }
    if (level > 0) throw new BrokenLogError(`tile ${level}/${index} is missing or short`);
    const headers = storedHeaders(start, start + count);
    if (headers.length !== count) throw new BrokenLogError(`events ${start + 1} to ${start + count} are missing`);
    return headers.map(leafHash);
  };

  function storedTile(level: number, index: number): Buffer | undefined {
    return selectTile().get(level, index);
  }

  function storedHeaders(after: number, upTo: number): string[] {
    return selectStored().all(after, upTo);
  }

  const { hashes, leafOf } = proveHashes({ head, headers: storedHeaders, tile: storedTile, hashes: storedHashes });
  const erased = knowErased({
    newest: () => selectNewestErasure().get() ?? 0,
    events: () => erasureTexts(Number.MAX_SAFE_INTEGER).map(eventOf),
  });

  /** @param read is called when it is known what is erased: what is there then although it was erased was put back. */
  function checked(read: () => Row[]): EventText[] {
    const isErased = erased();
    // It may have been erased since.
    return read().map((row) => checkedEvent(row, isErased, (event) => erased()(event)));
  }

  function checkedEvent(row: Row, isErased: IsErased, isErasedNow: IsErased): EventText {
    requireHeader(row);
    const { position, header, body } = row;
    if (body === null && !isErased(row) && !isErasedNow(row)) throw alteredEvent(position, 'its payload is missing');
    if (body !== null && isErased(row)) throw alteredEvent(position, 'its payload was erased, and is there');
    const wrong = body === null ? null : wrongPayload(db, row);
    if (wrong !== null) throw alteredEvent(position, wrong);
    return { header, body: body as string | null };
  }

  /** Rows of all positions after one, up to another or to the end of the log. */
  function toEnd<T extends EventRow>(after: number, upTo: number, rows: T[]): T[] {
    const next = after + inOrder(after, rows).length + 1;
    // What is appended meanwhile is there when the head says so.
    if (next <= upTo && next <= head().size && storedHeaders(next - 1, next).length === 0) throw missingEvent(next);
    return rows;
  }

  function requireHeader(row: EventRow): void {
    const { position, header } = row;
    if (!leafHash(header).equals(leafOf(position)))
      throw alteredEvent(position, 'its header is not the one that the tree holds');
    if (!agrees(row)) throw alteredEvent(position, differingRow(row, JSON.parse(header)) ?? 'its header is none');
  }

  /** The heads in the checkpoints that the log keeps: those that one of these verifier keys has signed. */
  function signedHeads(keys: readonly string[]): TreeHead[] {
    const verifiers = keys.map(parseVerifierKey);
    return [...readCheckpoints(db).all()].flatMap(({ note }) => {
      const head = parseCheckpoint(openNote(note, verifiers)?.text ?? '');
      return head ? [head] : [];
    });
  }

  /** The root the tree had when it held `size` events. */
  function rootAt(size: number): Buffer {
    return rootOf(treeAt(size, hashes));
  }

  return {
    head,
    range,
    stream,
    texts,
    headers,
    positionOf,
    positionsOf,
    positionsWithin,
    textsWithin,
    streamTextsWithin,
    lastOf,
    erasureTexts,
    positionAt,
    versionOf,
    holderOf,
    streamsUnder,
    hashes,
    storedHashes,
    rootAt,
    signedHeads,
    erasures: openErasures(db),
  };
}

/** What is prepared when it is asked for first: who opens a log seldom asks it everything. */
function late<T>(prepare: () => T): () => T {
  let prepared: T | null = null;
  return () => {
    prepared ??= prepare();
    return prepared;
  };
}

type Row = EventRow & PayloadRow;
type Place = { position: number; version: number };
type StreamRange = [stream: string, after: number, upTo: number];

const noneErased: IsErased = () => false;

/** Rows without a gap in their positions. */
function inOrder<T extends { position: number }>(after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ position }, index) => position !== after + index + 1);
  if (at >= 0) throw missingEvent(after + at + 1);
  return rows;
}

/** Rows without a gap in their versions. */
function inStream<T extends Place>(stream: string, after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ version }, index) => version !== after + index + 1);
  if (at >= 0) throw missingVersion(stream, after + at + 1);
  return rows;
}

function within(rows: Iterable<Row>, bytes: number): Row[] {
  const found: Row[] = [];
  let held = 0;
  for (const row of rows) {
    found.push(row);
    held += row.header.length + String(row.body ?? '').length;
    if (held >= bytes) break;
  }
  return found;
}

/** An event as it is stored: its canonical header and its payload's text, null once that has been erased. */
export type EventText = { header: string; body: string | null };

/** The stored texts of one event. @throws AlteredEventError where it is missing. */
export function textAt(log: Pick<LogReader, 'texts'>, position: number): EventText {
  const [text] = log.texts(position - 1, position);
  if (!text) throw missingEvent(position);
  return text;
}

/** Reads what is stored of an event. */
export function eventOf({ header, body }: EventText): RecordedEvent {
  const payload = payloadOf(body);
  return { header: headerOf(header), data: payload?.data ?? null, context: payload?.context ?? null };
}
