import { pluckLate, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { headerOf, payloadOf } from '../facts/envelope.ts';
import { type IsErased, knowErased } from '../facts/erasures.ts';
import { leafHash } from '../proof/merkle.ts';
import { collectMissing } from '../segments/offloaded.ts';
import { withSegments } from '../segments/segments.ts';
import { alteredEvent, missingEvent } from '../store/altered.ts';
import type { StoredTree } from '../store/stored-tree.ts';
import { inStream } from '../store/stream-index.ts';
import {
  agrees,
  differingRow,
  type EventRow,
  type EventText,
  eventColumns,
  headerColumns,
  type PayloadRow,
  wrongPayload,
} from './event-checks.ts';
import { proveHashes } from './proven.ts';

/** Reads the texts of events, each of them proven, without gaps. */
export function readEvents(db: Sqlite, tree: StoredTree) {
  withSegments(db);
  const selectRange = prepareLate<[after: number, upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position`,
  );
  const selectHeaders = prepareLate<[after: number, upTo: number], EventRow>(
    db,
    `SELECT ${headerColumns} FROM headers WHERE position > ? AND position <= ? ORDER BY position`,
  );
  const selectStream = prepareLate<[stream: string], Row>(
    db,
    `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position) WHERE stream = ? ORDER BY version`,
  );
  const selectStreamFrom = prepareLate<[stream: string, after: number, upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position)
     WHERE stream = ? AND version > ? AND position <= ? ORDER BY version`,
  );
  const { hashes, proven, requireHeader, withPayloads, erasureTexts } = proveEvents(db, tree);

  /** The stored texts of the events at positions `after + 1` to `upTo`. Proofs are about these bytes. */
  function texts(after: number, upTo: number): EventText[] {
    return proven(() => toEnd(after, upTo, selectRange().all(after, upTo)));
  }

  /** The stored headers alone of the events at positions `after + 1` to `upTo`. */
  function headers(after: number, upTo: number): string[] {
    const rows = toEnd(after, upTo, selectHeaders().all(after, upTo));
    for (const row of rows) requireHeader(row);
    return rows.map(({ header }) => header);
  }

  /** The stored texts of all events of a stream, oldest first. */
  function streamTexts(name: string): EventText[] {
    return proven(() => inStream(name, 0, selectStream().all(name)));
  }

  /**
   * The first of the events at positions `after + 1` to `upTo`: as many as make some `bytes`, at least one. Each call
   * is a read of its own, so that reading on for minutes holds back no writer, and holds no more than that.
   */
  function textsWithin(after: number, upTo: number, bytes: number): EventText[] {
    return proven(() => {
      const rows = within(selectRange().iterate(after, upTo), bytes);
      return rows.length > 0 ? inOrder(after, rows) : toEnd(after, upTo, rows);
    });
  }

  /** As {@link textsWithin}, of the events of a stream after version `after` that stand at positions up to `upTo`. */
  function streamTextsWithin(name: string, { after, upTo, bytes }: { after: number; upTo: number; bytes: number }) {
    return proven(() => inStream(name, after, within(selectStreamFrom().iterate(name, after, upTo), bytes)));
  }

  /**
   * Reads a part of the log: the stored texts of the events at positions `after + 1` to `upTo` whose stream is in it,
   * and of all that erased something. `isWhole`: of all other events too, without their payloads; then a missing one is
   * noticed.
   */
  function part(isIn: (stream: string) => boolean, isWhole: boolean): (after: number, upTo: number) => EventText[] {
    db.function('in_part', { directOnly: true }, (stream: unknown) => Number(isIn(String(stream))));
    const select = db.prepare<[after: number, upTo: number], Row>(
      `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ?
       AND (in_part(stream) OR EXISTS (SELECT 1 FROM erasures WHERE erasures.position = events.position)) ORDER BY position`,
    );
    if (!isWhole) return (after, upTo) => proven(() => select.all(after, upTo));
    return (after, upTo) => {
      const rows = toEnd(after, upTo, selectHeaders().all(after, upTo));
      for (const row of rows) requireHeader(row);
      const found = withPayloads(() => select.all(after, upTo));
      let next = 0;
      return rows.map(({ position, header }): EventText => {
        const row = found[next];
        if (row?.position !== position) return { header, body: null };
        next += 1;
        if (row.header !== header) requireHeader(row);
        return textOf(row);
      });
    };
  }

  /** Rows of all positions after one, up to another or to the end of the log. */
  function toEnd<T extends EventRow>(after: number, upTo: number, rows: T[]): T[] {
    const next = after + inOrder(after, rows).length + 1;
    // An event that is appended meanwhile is there when the head says so.
    if (next <= upTo && next <= tree.head().size && tree.headers(next - 1, next).length === 0) throw missingEvent(next);
    return rows;
  }

  return { hashes, texts, headers, streamTexts, textsWithin, streamTextsWithin, part, erasureTexts };
}

/** Rows without a gap in their positions. */
function inOrder<T extends { position: number }>(after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ position }, index) => position !== after + index + 1);
  if (at >= 0) throw missingEvent(after + at + 1);
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

/** An event with its payload, as a query gives it. */
type Row = EventRow & PayloadRow;

const noneErased: IsErased = () => false;

/**
 * Decides which rows of a log are what was recorded: a header by the tree that the head proves, a payload by the
 * commitment in its header, a missing payload by the erasures. Anything else is an AlteredEventError.
 */
function proveEvents(db: Sqlite, tree: StoredTree) {
  const selectErasures = prepareLate<[upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM erasures JOIN headers AS events USING (position) LEFT JOIN payloads USING (position)
     WHERE position <= ? ORDER BY position`,
  );
  const selectNewestErasure = pluckLate<[], number | null>(db, 'SELECT max(position) FROM erasures');

  const { hashes, leafOf } = proveHashes(tree);
  const erased = knowErased({
    newest: () => selectNewestErasure().get() ?? 0,
    events: () => erasureTexts(Number.MAX_SAFE_INTEGER).map(({ body }) => ({ data: payloadOf(body)?.data ?? null })),
  });

  /** @param read is called after the erasures are known, so that an erased payload that it finds was put back. */
  function proven(read: () => Row[]): EventText[] {
    const isErased = erased();
    return collectMissing(read).map((row) => {
      requireHeader(row);
      requirePayload(row, isErased);
      return textOf(row);
    });
  }

  /** The same for rows whose headers are proven otherwise. */
  function withPayloads(read: () => Row[]): Row[] {
    const isErased = erased();
    const rows = collectMissing(read);
    for (const row of rows) requirePayload(row, isErased);
    return rows;
  }

  // An event may have been erased since it was read.
  function requirePayload(row: Row, isErased: IsErased, isErasedNow: IsErased = (event) => erased()(event)): void {
    const { position, body } = row;
    if (body === null && !isErased(row) && !isErasedNow(row)) throw alteredEvent(position, 'its payload is missing');
    if (body !== null && isErased(row)) throw alteredEvent(position, 'its payload was erased, and is there');
    const wrong = body === null ? null : wrongPayload(db, row);
    if (wrong !== null) throw alteredEvent(position, wrong);
  }

  function requireHeader(row: EventRow): void {
    const { position, header } = row;
    if (!leafHash(header).equals(leafOf(position)))
      throw alteredEvent(position, 'its header is not the one that the tree holds');
    if (!agrees(row))
      throw alteredEvent(position, differingRow(row, JSON.parse(header)) ?? 'its header is not one of an event');
  }

  /** The events that say which payloads were erased, of the first `upTo`. */
  function erasureTexts(upTo: number): EventText[] {
    return collectMissing(() => selectErasures().all(upTo)).map((row) => {
      // They say what is erased, and nothing takes what they say.
      requireHeader(row);
      requirePayload(row, noneErased, noneErased);
      if (headerOf(row.header).type !== 'document.erased')
        throw alteredEvent(row.position, 'it is among the erasures, and erased nothing');
      return textOf(row);
    });
  }

  return { hashes, proven, requireHeader, withPayloads, erasureTexts };
}

/** Of a row whose payload was found to be sound. */
function textOf({ header, body }: Row): EventText {
  return { header, body: body as string | null };
}
