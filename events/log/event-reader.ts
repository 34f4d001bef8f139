import { prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { withSegments } from '../segments/segments.ts';
import { missingEvent } from '../store/altered.ts';
import type { StoredTree } from '../store/stored-tree.ts';
import { inStream } from '../store/stream-index.ts';
import { type EventRow, type EventText, eventColumns, headerColumns } from './event-checks.ts';
import { proveEvents, type StoredEvent, textOf } from './event-proofs.ts';

/** The statements and proofs that events are read with. */
type ReaderParts = ReturnType<typeof prepareStatements> &
  ReturnType<typeof proveEvents> & { db: Sqlite; tree: StoredTree };

/** Reads the texts of events, each of them proven, without gaps. */
export function readEvents(db: Sqlite, tree: StoredTree) {
  withSegments(db);
  const parts: ReaderParts = { ...prepareStatements(db), ...proveEvents(db, tree), db, tree };
  const { selectRange, selectStream, selectStreamFrom, hashes, proven, erasureTexts } = parts;

  /** The stored texts of the events at positions `after + 1` to `upTo`. Proofs are about these bytes. */
  function texts(after: number, upTo: number): EventText[] {
    return proven(() => toEnd(tree, after, { upTo, rows: selectRange().all(after, upTo) }));
  }

  /** The stored texts of all events of a stream, oldest first. */
  function streamTexts(name: string): EventText[] {
    return proven(() => inStream(name, 0, selectStream().all(name)));
  }

  /**
   * The first of the events at positions `after + 1` to `upTo`: as many as have about `bytes` together, at least one.
   * Each call is a separate read, so reading on for minutes holds back no writer, and holds no more in memory.
   */
  function textsWithin(after: number, upTo: number, bytes: number): EventText[] {
    return proven(() => {
      const rows = firstRows(selectRange().iterate(after, upTo), bytes);
      return rows.length > 0 ? inOrder(after, rows) : toEnd(tree, after, { upTo, rows });
    });
  }

  /** As {@link textsWithin}, but of the events of a stream after version `after`, at positions up to `upTo`. */
  function streamTextsWithin(name: string, { after, upTo, bytes }: { after: number; upTo: number; bytes: number }) {
    return proven(() => inStream(name, after, firstRows(selectStreamFrom().iterate(name, after, upTo), bytes)));
  }

  return {
    hashes,
    texts,
    /** The stored headers alone of the events at positions `after + 1` to `upTo`. */
    headers: (after: number, upTo: number): string[] => headerRows(parts, after, upTo).map(({ header }) => header),
    streamTexts,
    textsWithin,
    streamTextsWithin,
    /**
     * Reads a part of the log: the stored texts of the events at positions `after + 1` to `upTo` whose stream is in it,
     * and of all that erased something. With `isWhole` all other events come too, so that a missing one is noticed:
     * those about reviews, which ask for mails, with their payloads, the others without.
     */
    part: (isIn: (stream: string) => boolean, isWhole: boolean) => partReader(parts, isIn, isWhole),
    erasureTexts,
  };
}

function prepareStatements(db: Sqlite) {
  const events = `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position)`;
  return {
    selectRange: prepareLate<[after: number, upTo: number], StoredEvent>(
      db,
      `${events} WHERE position > ? AND position <= ? ORDER BY position`,
    ),
    selectHeaders: prepareLate<[after: number, upTo: number], EventRow>(
      db,
      `SELECT ${headerColumns} FROM headers WHERE position > ? AND position <= ? ORDER BY position`,
    ),
    selectStream: prepareLate<[stream: string], StoredEvent>(db, `${events} WHERE stream = ? ORDER BY version`),
    selectStreamFrom: prepareLate<[stream: string, after: number, upTo: number], StoredEvent>(
      db,
      `${events} WHERE stream = ? AND version > ? AND position <= ? ORDER BY version`,
    ),
  };
}

function headerRows({ selectHeaders, requireHeader, tree }: ReaderParts, after: number, upTo: number): EventRow[] {
  const rows = toEnd(tree, after, { upTo, rows: selectHeaders().all(after, upTo) });
  for (const row of rows) requireHeader(row);
  return rows;
}

function partReader(
  parts: ReaderParts,
  isIn: (stream: string) => boolean,
  isWhole: boolean,
): (after: number, upTo: number) => EventText[] {
  const { db, proven, requireHeader, withPayloads } = parts;
  db.function('in_part', { directOnly: true }, (stream: unknown) => Number(isIn(String(stream))));
  const ofReviews = isWhole ? `OR instr(header, '"type":"review.')` : '';
  const select = db.prepare<[after: number, upTo: number], StoredEvent>(
    `SELECT ${eventColumns} FROM headers AS events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ?
     AND (in_part(stream) ${ofReviews} OR EXISTS (SELECT 1 FROM erasures WHERE erasures.position = events.position))
     ORDER BY position`,
  );
  if (!isWhole) return (after, upTo) => proven(() => select.all(after, upTo));
  return (after, upTo) => {
    const rows = headerRows(parts, after, upTo);
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
function toEnd<T extends EventRow>(tree: StoredTree, after: number, { upTo, rows }: { upTo: number; rows: T[] }): T[] {
  const next = after + inOrder(after, rows).length + 1;
  // The log may have grown meanwhile: an event is missing only if the head counts it and its header is not there.
  if (next <= upTo && next <= tree.head().size && tree.headers(next - 1, next).length === 0) throw missingEvent(next);
  return rows;
}

/** Rows without a gap in their positions. */
function inOrder<T extends { position: number }>(after: number, rows: T[]): T[] {
  const at = rows.findIndex(({ position }, index) => position !== after + index + 1);
  if (at >= 0) throw missingEvent(after + at + 1);
  return rows;
}

/** The first rows that have `bytes` together. */
function firstRows(rows: Iterable<StoredEvent>, bytes: number): StoredEvent[] {
  const found: StoredEvent[] = [];
  let held = 0;
  for (const row of rows) {
    found.push(row);
    held += row.header.length + String(row.body ?? '').length;
    if (held >= bytes) break;
  }
  return found;
}
