import type { Sqlite } from '../../storage/sqlite.ts';
import { batchStream } from '../facts/catalogue.ts';
import { headerOf } from '../facts/envelope.ts';
import { type ErasedStream, staysErased } from '../facts/erasures.ts';
import { filesNamedIn } from '../facts/named-files.ts';
import { collectMissing } from '../segments/offloaded.ts';
import { payloadColumns, withSegments } from '../segments/segments.ts';
import type { ShippedErasure } from './shipment.ts';

type StoredPayload = { position: number; header: string; body: string | null };

/** Erases payloads of a log; every call inside a transaction of the caller's. */
export function openErasing(db: Sqlite) {
  const insert = db.prepare('INSERT INTO erasures VALUES (?, ?, 0)');
  const selectPayloads = withSegments(db).prepare<[stream: string, versions: number], StoredPayload>(
    `SELECT events.position, header, ${payloadColumns} FROM headers AS events LEFT JOIN payloads USING (position)
     WHERE stream = ? AND version <= ? ORDER BY version`,
  );
  const deletePayload = db.prepare('DELETE FROM payloads WHERE position = ?');
  // From this row on no reader takes the payload from its segment.
  const insertRemoval = db.prepare(
    'INSERT INTO removals SELECT ? WHERE ? <= (SELECT last FROM segments ORDER BY first DESC LIMIT 1)',
  );
  const deleteClaims = db.prepare('DELETE FROM claims WHERE stream = ?');
  const deleteCommands = db.prepare('DELETE FROM commands WHERE stream = ?');
  const updateFiles = db.prepare('UPDATE erasures SET files = ? WHERE position = ? AND done = 0');
  const updateDone = db.prepare("UPDATE erasures SET done = 1 WHERE done = 0 AND position <= ? AND files = '[]'");

  /**
   * Deletes the payloads of streams so far, their claims, and the idempotency records kept for them.
   *
   * @param position of the event that records the erasure.
   * @returns what was deleted.
   */
  function erase(position: number, streams: readonly ErasedStream[]): ShippedErasure {
    const rows = collectMissing(() => streams.flatMap(({ stream, versions }) => selectPayloads.all(stream, versions)));
    const gone = rows
      .flatMap(({ header, position, body }) => (body === null ? [] : [{ position, body, header: headerOf(header) }]))
      .filter(({ header }) => !staysErased(header.type));
    const files = [...new Set(gone.flatMap(({ header, body }) => [...filesNamedIn(header, body)]))];
    // While an erasure is not done, the guard of the table lets payloads be deleted.
    insert.run(position, JSON.stringify(files));
    const names = streams.map(({ stream }) => stream);
    const idempotencyOf = new Set(names);
    for (const { position, header } of gone) {
      deletePayload.run(position);
      insertRemoval.run(position, position);
      if (header.batch !== undefined) idempotencyOf.add(batchStream(header.batch));
    }
    for (const stream of names) deleteClaims.run(stream);
    for (const stream of idempotencyOf) deleteCommands.run(stream);
    const payloads = gone.map(({ position }) => position);
    return { position, payloads, streams: names, idempotencyOf: [...idempotencyOf], files };
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
