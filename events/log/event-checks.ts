import type { Sqlite } from '../../storage/sqlite.ts';
import { commitmentOf, type Header } from '../facts/envelope.ts';
import { payloadColumns } from '../segments/segments.ts';

/** The row of an event: its header, and the columns by which it is found. */
export type EventRow = { position: number; id: string; stream: string; version: number; header: string };

/**
 * The columns of a payload; `body` is null if the payload is missing. A damaged row header of SQLite turns a text into
 * a number.
 */
export type PayloadRow = { enc: number | null; body: string | number | Buffer | null };

/** An event as it is stored: its canonical header and its payload's text, null once that has been erased. */
export type EventText = { header: string; body: string | null };

/** The columns of an EventRow. */
export const headerColumns = 'position, id, stream, version, header';

/** The columns of an EventRow with its PayloadRow, of a query of `headers AS events` that LEFT JOINs `payloads`. */
export const eventColumns = `${headerColumns}, ${payloadColumns}`;

/** Reads the text of a header; null for any other text. */
export function parseHeader(text: string): Header | null {
  try {
    const header: Header | null = JSON.parse(text);
    return header?.actor ? header : null;
  } catch {
    return null;
  }
}

/**
 * Whether a row agrees with the canonical header in it, without parsing the header. Members are in the order of their
 * names, and each quotation mark in a value is escaped, so each of these texts can only be found as these members.
 */
export function agrees({ position, id, stream, version, header }: EventRow): boolean {
  return (
    header.endsWith(`,"version":${version}}`) &&
    header.includes(`,"position":${position},"recordedAt":`) &&
    header.includes(`,"stream":${JSON.stringify(stream)},"type":`) &&
    header.includes(`,"id":"${id}","log":`)
  );
}

/** The difference between a row and the header in it; null if they agree. */
export function differingRow(row: EventRow, header: Header): string | null {
  for (const name of ['position', 'id', 'stream', 'version'] as const) {
    if (header[name] !== row[name]) return `its row says ${name} ${row[name]}, its header ${header[name]}`;
  }
  return null;
}

/** The fault of a payload that is present; null if it is the payload that the canonical header commits to. */
export function wrongPayload(
  db: Sqlite,
  { position, header, enc, body }: PayloadRow & { position: number; header: string },
): string | null {
  if (enc !== 0) return `its payload has an unknown encoding ${enc}`;
  const isCommitted =
    typeof body === 'string' &&
    header.includes(`,"payload":"${commitmentOf(bytesOf(db, body, position))}","position":`);
  return isCommitted ? null : 'its payload is not the one committed to';
}

/** The bytes of a body. Invalid UTF-8 is read as U+FFFD: only the bytes tell such a text from another. */
function bytesOf(db: Sqlite, body: string, position: number): string | Buffer {
  if (!body.includes('\uFFFD')) return body;
  const select = db.prepare<[position: number], Buffer>('SELECT CAST(body AS BLOB) FROM payloads WHERE position = ?');
  return select.pluck().get(position) ?? body;
}
