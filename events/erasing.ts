import type { Sqlite } from '../storage/sqlite.ts';
import { filesNamedIn } from './blobs.ts';
import { headerOf } from './envelope.ts';
import { type ErasedStream, staysErased } from './erasures.ts';

type PayloadRow = { position: number; header: string; body: string };

/** Takes payloads out of a log that is being written; every call inside a transaction of the caller's. */
export function openErasing(db: Sqlite) {
  const insert = db.prepare('INSERT INTO erasures VALUES (?, ?, 0)');
  const selectPayloads = db.prepare<[stream: string, versions: number], PayloadRow>(
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
    const rows = streams.flatMap(({ stream, versions }) => selectPayloads.all(stream, versions));
    const gone = rows
      .map(({ header, ...row }) => ({ ...row, header: headerOf(header) }))
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
