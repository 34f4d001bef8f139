import type { Sqlite } from '../../storage/sqlite.ts';
import { commitmentOf, type Header } from '../facts/envelope.ts';
import { payloadColumns } from '../segments/segments.ts';

/** The row of an event: its header, and what is beside it to find it by. */
export type EventRow = { position: number; id: string; stream: string; version: number; header: string };

/**
 * The columns of a payload; `body` is null where it is missing. Damage to what SQLite has before a row makes a number
 * of a text.
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
 * Whether a row says what the header in it says, without reading that: for a canonical one. Names of members stand in
 * the order of the alphabet, and no value holds a quotation mark that is not escaped, so each of these texts is found
 * as these members alone.
 */
export function agrees({ position, id, stream, version, header }: EventRow): boolean {
  return (
    header.endsWith(`,"version":${version}}`) &&
    header.includes(`,"position":${position},"recordedAt":`) &&
    header.includes(`,"stream":${JSON.stringify(stream)},"type":`) &&
    header.includes(`,"id":"${id}","log":`)
  );
}

/** In what a row differs from the header in it; null when it does not. */
export function differingRow(row: EventRow, header: Header): string | null {
  for (const name of ['position', 'id', 'stream', 'version'] as const) {
    if (header[name] !== row[name]) return `its row says ${name} ${row[name]}, its header ${header[name]}`;
  }
  return null;
}

/** The fault of a payload that is there; null when it is the one that the canonical header commits to. */
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

/** Bytes that are no valid UTF-8 are read as U+FFFD: where that stands in the text, only the bytes tell what it was. */
function bytesOf(db: Sqlite, body: string, position: number): string | Buffer {
  if (!body.includes('\uFFFD')) return body;
  const select = db.prepare<[position: number], Buffer>('SELECT CAST(body AS BLOB) FROM payloads WHERE position = ?');
  return select.pluck().get(position) ?? body;
}
