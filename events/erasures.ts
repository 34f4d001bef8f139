import type { Json, JsonObject } from '../config/schema.ts';
import type { Sqlite } from '../storage/sqlite.ts';
import { filesNamedIn } from './blobs.ts';
import type { EventType } from './catalogue.ts';
import type { Header } from './envelope.ts';

/** A stream whose first `versions` events have lost their payloads. */
export type ErasedStream = { stream: string; versions: number };

/**
 * What there is to do for a recorded erasure. `files`: SHA-256 of stored files that the erased events named, and that are gone
 * unless something else needs them; not looked at yet.
 */
export type Erasure = { position: number; files: string[]; isDone: boolean };

/** The streams that a `document.erased` declares to have lost payloads; none for what is not of that form. */
export function erasedStreams(data: JsonObject | null): ErasedStream[] {
  const streams: Json | undefined = data?.streams;
  if (!Array.isArray(streams)) return [];
  return streams.filter(isErasedStream);
}

function isErasedStream(value: Json): value is ErasedStream {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  return typeof value.stream === 'string' && Number.isSafeInteger(value.versions);
}

/** Whether payloads of this type stay when their stream is erased: they say what was, and why. */
export function staysErased(type: EventType): boolean {
  return type === 'document.erased';
}

type PayloadRow = { position: number; header: string; body: string };

/** Takes payloads out of a log that is being written; every call inside a transaction of the caller's. */
export function openErasing(db: Sqlite) {
  const insert = db.prepare('INSERT INTO erasures VALUES (?, ?, 0)');
  const selectPayloads = db.prepare(
    `SELECT position, header, body FROM events JOIN payloads USING (position)
     WHERE stream = ? AND version <= ? ORDER BY version`,
  );
  const deletePayload = db.prepare('DELETE FROM payloads WHERE position = ?');
  const deleteClaims = db.prepare('DELETE FROM claims WHERE stream = ?');
  const deleteCommands = db.prepare('DELETE FROM commands WHERE stream = ?');
  const updateFiles = db.prepare('UPDATE erasures SET files = ? WHERE position = ? AND done = 0');
  const updateDone = db.prepare("UPDATE erasures SET done = 1 WHERE done = 0 AND position <= ? AND files = '[]'");

  /** Deletes what streams have said so far, what they claim, and the attempts kept for them. @param position of the event. */
  function erase(position: number, streams: readonly ErasedStream[]): void {
    const rows = streams.flatMap(({ stream, versions }) => selectPayloads.all(stream, versions) as PayloadRow[]);
    const gone = rows
      .map(({ header, ...row }) => ({ ...row, header: JSON.parse(header) as Header }))
      .filter(({ header }) => !staysErased(header.type));
    const files = new Set(gone.flatMap(({ header, body }) => [...filesNamedIn(header, body)]));
    // From here on payloads may be deleted.
    insert.run(position, JSON.stringify([...files]));
    for (const { position } of gone) deletePayload.run(position);
    for (const { stream } of streams) {
      deleteClaims.run(stream);
      deleteCommands.run(stream);
    }
  }

  return {
    erase,
    /** Notes which files of an erasure are still to be removed. */
    setFiles: (position: number, files: readonly string[]): void => {
      updateFiles.run(JSON.stringify(files), position);
    },
    /** Ends the erasures up to a position that have no file left to be removed. */
    finish: (position: number): void => {
      updateDone.run(position);
    },
  };
}

type ErasureRow = { position: number; files: string; done: number };

const columns = 'SELECT position, files, done FROM erasures';

/** Reads what became of erasures. Rarely asked, so nothing is prepared for it: also a log of an earlier format can be opened. */
export function openErasures(db: Sqlite) {
  return {
    /** Those that are not finished, oldest first. */
    unfinished: (): Erasure[] =>
      (db.prepare(`${columns} WHERE done = 0 ORDER BY position`).all() as ErasureRow[]).map(fromRow),
    /** The one whose event is at a position. */
    at(position: number): Erasure | null {
      const row = db.prepare(`${columns} WHERE position = ?`).get(position) as ErasureRow | undefined;
      return row ? fromRow(row) : null;
    },
    /** At most `limit` of those before a position, newest first. */
    before(position: number, limit: number): Erasure[] {
      const rows = db.prepare(`${columns} WHERE position < ? ORDER BY position DESC LIMIT ?`).all(position, limit);
      return (rows as ErasureRow[]).map(fromRow);
    },
    /** The position of the newest; 0 when there is none. */
    newest: (): number => (db.prepare('SELECT max(position) FROM erasures').pluck().get() as number | null) ?? 0,
  };
}

function fromRow({ position, files, done }: ErasureRow): Erasure {
  return { position, files: JSON.parse(files) as string[], isDone: done === 1 };
}
