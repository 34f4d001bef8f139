import { splitStream } from '../../events/facts/catalogue.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey, type Upcaster } from '../../events/facts/upcasters.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { openAccountFold } from './account-fold.ts';
import { openApiKeyFold } from './api-keys.ts';
import { openAuditFold } from './audit.ts';
import { markRows, type RowMarks } from './row-marks.ts';
import { type TableWriter, tableWriter, type Version } from './table-writer.ts';
import type { Tables } from './tables.ts';

/** How far a read file has come: the last position it has applied, and the root of the log's tree there. */
export type Checkpoint = { position: number; root: Buffer };

/** A document that the current batch touches: as the table has it, and as it is now. */
type Entry = { writer: TableWriter; id: string; stored: Version | null; current: Version | null };

export type Projector = ReturnType<typeof openProjector>;

/**
 * Folds events into the read tables. One function serves single writes and bulk loads: within a batch each document is
 * read at most once and its row written once, whatever happened to it in between.
 *
 * @param isPart whether some of the documents alone are folded, and nothing of what all events are needed for.
 * @param marks of the threads that read these tables and keep rows of them; absent for a file that none does.
 */
export function openProjector(
  db: Sqlite,
  all: readonly Tables[],
  upcaster: Upcaster,
  { isPart = false, marks }: { isPart?: boolean; marks?: RowMarks | undefined } = {},
) {
  const writers = new Map(all.map((tables) => [tables.key, tableWriter(db, tables)]));
  const accounts = openAccountFold(db);
  const apiKeys = openApiKeyFold(db);
  const audit = openAuditFold(db);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const selectCheckpoint = db.prepare<[], Checkpoint>('SELECT position, root FROM checkpoint');
  const deleteCheckpoint = db.prepare('DELETE FROM checkpoint');
  const insertCheckpoint = db.prepare('INSERT INTO checkpoint VALUES (?, ?)');
  const countErasures = db.prepare('UPDATE erasures SET count = count + ?');
  const mark = marks ? markRows(marks) : null;
  const updateCount = db.prepare('UPDATE counts SET documents = documents + ? WHERE key = ?');

  /**
   * Applies events that follow the checkpoint, and moves it, in one transaction.
   *
   * @param root the root of the log's tree after the last of them.
   */
  function apply(events: readonly RecordedEvent[], root: Buffer): void {
    const last = events.at(-1);
    if (!last) return;
    // A bulk load has a transaction of its own around all of it.
    const isOurs = !db.inTransaction;
    if (isOurs) begin.run();
    try {
      const touched = new Map<string, Entry>();
      for (const event of events) {
        applyOne(event, touched);
        if (isPart) continue;
        accounts.apply(event);
        apiKeys.apply(event);
        audit.apply(event);
      }
      for (const { writer, id, stored, current } of touched.values()) writer.write(id, stored, current);
      count(touched);
      const erasures = events.filter(({ header }) => header.type === 'document.erased').length;
      if (erasures > 0) countErasures.run(erasures);
      deleteCheckpoint.run();
      insertCheckpoint.run(last.header.position, root);
      if (isOurs) commitMarked(touched, erasures > 0);
    } catch (error) {
      if (isOurs && db.inTransaction) rollback.run();
      audit.forget();
      throw error;
    }
  }

  function commitMarked(touched: ReadonlyMap<string, Entry>, isErasure: boolean): void {
    if (!mark) return void commit.run();
    const changed = Iterator.from(touched.values()).map(({ writer: { key }, id }) => ({ key, id }));
    mark(changed, isErasure, () => commit.run());
  }

  /**
   * How many documents there are is what most lists ask for, and counting them takes longer than all else of a list.
   */
  function count(touched: ReadonlyMap<string, Entry>): void {
    const changes = new Map<string, number>();
    for (const { writer, stored, current } of touched.values()) {
      const change = Number(current !== null) - Number(stored !== null);
      if (change !== 0) changes.set(writer.key, (changes.get(writer.key) ?? 0) + change);
    }
    for (const [key, change] of changes) updateCount.run(change, key);
  }

  function applyOne({ header, data }: RecordedEvent, touched: Map<string, Entry>): void {
    const key = schemaKey(header.stream);
    const writer = writers.get(key);
    // Other streams, and those of collections that the configuration no longer has, concern no documents.
    if (!writer || data === null) return;

    const entry = touched.get(header.stream) ?? load(writer, header, touched);
    const before = entry.current;
    const values = foldDocument(before?.document ?? null, header.type, upcaster.upcast(key, header, data));
    const isErased = header.type === 'document.erased';
    entry.current = isErased ? writer.forget(entry.id, before) : writer.advance(entry.id, header, { before, values });
  }

  /** Before the first event of a stream there is nothing to be read. */
  function load(writer: TableWriter, { stream, version }: Header, touched: Map<string, Entry>): Entry {
    const [, id] = splitStream(stream);
    const stored = version === 1 ? null : writer.load(id);
    const entry: Entry = { writer, id, stored, current: stored };
    touched.set(stream, entry);
    return entry;
  }

  return { checkpoint: (): Checkpoint | null => selectCheckpoint.get() ?? null, apply };
}
