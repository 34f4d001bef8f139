import { prepareLate, type Sqlite } from '../storage/sqlite.ts';
import { missingEvent } from './altered.ts';
import { type EventRow, type EventText, eventColumns, headerColumns } from './event-checks.ts';
import { proveEvents, type Row } from './event-proof.ts';
import type { StoredTree } from './stored-tree.ts';
import { inStream } from './stream-index.ts';

/** Reads the texts of events, each of them proven, without gaps. */
export function readEvents(db: Sqlite, tree: StoredTree) {
  const selectRange = prepareLate<[after: number, upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position`,
  );
  const selectHeaders = prepareLate<[after: number, upTo: number], EventRow>(
    db,
    `SELECT ${headerColumns} FROM events WHERE position > ? AND position <= ? ORDER BY position`,
  );
  const selectStream = prepareLate<[stream: string], Row>(
    db,
    `SELECT ${eventColumns} FROM events LEFT JOIN payloads USING (position) WHERE stream = ? ORDER BY version`,
  );
  const selectStreamFrom = prepareLate<[stream: string, after: number, upTo: number], Row>(
    db,
    `SELECT ${eventColumns} FROM events LEFT JOIN payloads USING (position)
     WHERE stream = ? AND version > ? AND position <= ? ORDER BY version`,
  );
  const { hashes, proven, requireHeader, erasureTexts } = proveEvents(db, tree);

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
   * The first of the events at positions `after + 1` to `upTo`: as many as make some `bytes`, at least one. Each call is a read of
   * its own, so that reading on for minutes holds back no writer, and holds no more than that.
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

  /** Rows of all positions after one, up to another or to the end of the log. */
  function toEnd<T extends EventRow>(after: number, upTo: number, rows: T[]): T[] {
    const next = after + inOrder(after, rows).length + 1;
    // An event that is appended meanwhile is there when the head says so.
    if (next <= upTo && next <= tree.head().size && tree.headers(next - 1, next).length === 0) throw missingEvent(next);
    return rows;
  }

  return { hashes, texts, headers, streamTexts, textsWithin, streamTextsWithin, erasureTexts };
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
