import type { JsonObject } from '../../config/schema.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { clockStream } from '../facts/catalogue.ts';
import { encodeHeader, type Header, type Payload } from '../facts/envelope.ts';
import { type IsErased, knowErased } from '../facts/erasures.ts';
import { differingRow, type EventRow, type PayloadRow, parseHeader, wrongPayload } from '../log/event-checks.ts';
import type { Finding } from '../proof/seen-heads.ts';
import { payloadColumns, withSegments } from '../segments/segments.ts';
import { isUuid7 } from '../store/ids.ts';
import { formatOf } from '../store/log-file.ts';
import type { Gap } from './missing.ts';

/** The row of an event to check, and whether the event is among the erasures. */
type CheckedRow = EventRow & PayloadRow & { isErasure: number };

/** Reads the events after a position up to another, at most as many as the third value. */
export function selectRows(db: Sqlite): Statement<CheckedRow> {
  return withSegments(db).prepare<unknown[], CheckedRow>(
    `SELECT position, id, stream, version, header, ${payloadColumns},
       EXISTS (SELECT 1 FROM erasures WHERE position = events.position) AS isErasure
     FROM headers AS events LEFT JOIN payloads USING (position) WHERE position > ? AND position <= ? ORDER BY position LIMIT ?`,
  );
}

/**
 * Checks events one after the other: their positions, times, headers and payloads.
 *
 * @param before the header of the event before the first; null for the first of the log.
 */
export function rowChecker(db: Sqlite, logId: string, before: Header | null = null) {
  const erased = erasedPayloads(db);
  const newestHeader = formatOf(db) < 3 ? 1 : 2;
  let last = before?.recordedAt ?? '';
  let version: number = before?.v ?? 1;
  let isErased = erased();

  return {
    /** Must be called before events are read. */
    begin(): void {
      isErased = erased();
    },
    /**
     * The header of a sound event, else the finding. `form` then checks the header against those before it.
     *
     * @param isLeftOut whether the payload is in the bucket, and was not fetched.
     */
    check(row: CheckedRow, position: number, isLeftOut: (row: CheckedRow) => boolean = () => false): Finding | Header {
      const isErasedNow: IsErased = (event) => erased()(event);
      return checkEvent(db, row, { position, logId, last, isErased, isLeftOut, isErasedNow });
    },
    form: (header: Header): Finding | null => wrongForm(header, version, newestHeader),
    /** Proceeds to the next event. */
    pass(header: Header): void {
      last = header.recordedAt;
      version = header.v;
    },
    /** When the last event was recorded. */
    recordedAt: (): string => last,
  };
}

/** The finding about a missing event. */
export function missing({ position, next }: Gap): Finding {
  return `event ${position} is missing: the next one is at position ${next}`;
}

/** Knows the erased payloads. The events that declare them are checked against their commitments with all others. */
function erasedPayloads(db: Sqlite): () => IsErased {
  const newest = db.prepare<[], number>('SELECT coalesce(max(position), 0) FROM erasures').pluck();
  const bodies = withSegments(db).prepare<[], { body: string | null }>(
    `SELECT ${payloadColumns} FROM erasures JOIN events USING (position) LEFT JOIN payloads USING (position)`,
  );
  return knowErased({
    newest: () => newest.get() ?? 0,
    events: () => bodies.all().map(({ body }) => ({ data: dataIn(String(body)) })),
  });
}

function dataIn(body: string): JsonObject | null {
  try {
    const payload: Payload | null = JSON.parse(body);
    return payload?.data ?? null;
  } catch {
    return null;
  }
}

/** Headers have only versions of the log's format, and the versions never decrease. */
function wrongForm({ position, v, batch }: Header, before: number, newest: number): Finding | null {
  const at = `event ${position}`;
  if (!(v >= 1 && v <= newest)) return `${at}: its header has version ${String(v)}, which this log has not`;
  if (v < before) return `${at}: its header has version ${v}, the one before it version ${before}`;
  return batch === undefined || isUuid7(batch) ? null : `${at}: its batch is no UUID v7`;
}

type ExpectedEvent = {
  position: number;
  logId: string;
  last: string;
  isErased: IsErased;
  isLeftOut: (row: CheckedRow) => boolean;
  /** Whether a payload is erased now, but was not when the event was read. */
  isErasedNow: IsErased;
};

function checkEvent(
  db: Sqlite,
  row: CheckedRow,
  { position, logId, last, isErased, isLeftOut, isErasedNow }: ExpectedEvent,
): Finding | Header {
  const at = `event ${position}`;
  if (row.position !== position) return missing({ position, next: row.position });
  // Headers are ASCII, so invalid UTF-8 cannot be read as the recorded text.
  const header = parseHeader(row.header);
  if (!header || encodeHeader(header) !== row.header) {
    return `${at}: its header is not one of canonical JSON`;
  }
  if (header.log !== logId) return `${at} belongs to another log`;
  const differing = differingRow(row, header);
  if (differing !== null) return `${at}: ${differing}`;
  if (header.recordedAt < last && header.stream !== clockStream)
    return `${at} was recorded before event ${position - 1}`;
  if (row.body === null)
    return [isErased, isLeftOut, isErasedNow].some((is) => is(row)) ? header : `${at}: its payload is missing`;
  if (isErased(row)) return `${at} (${header.stream}): its payload was erased, and is there`;
  if (header.type === 'document.erased' && !row.isErasure)
    return `${at} erased something, and is not among the erasures`;
  const wrong = wrongPayload(db, row);
  if (wrong === null) return header;
  return row.enc === 0 ? `${at} (${header.stream}): ${wrong}` : `${at}: ${wrong}`;
}
