import type { JsonObject } from '../config/schema.ts';
import { compileDocument } from '../config/shape.ts';
import { splitStream } from '../events/catalogue.ts';
import { foldDocument } from '../events/documents.ts';
import type { RecordedEvent } from '../events/log.ts';
import { schemaKey, type Upcaster } from '../events/upcasters.ts';
import type { Sqlite, Statement } from '../storage/sqlite.ts';
import { openAccountFold } from './account-fold.ts';
import { openAuditFold } from './audit.ts';
import { intact } from './damage.ts';
import { fold } from './fold.ts';
import { columnValue, type Tables } from './tables.ts';

/** How far a read file has come: the last position it has applied, and the root of the log's tree there. */
export type Checkpoint = { position: number; root: Buffer };

/** One version of a document in memory. `text` is the document as it is sent. */
type Version = {
  key: number;
  validFrom: number;
  version: number;
  document: JsonObject;
  text: string;
};

/** A document that the current batch touches: as the table has it, and as it is now. */
type Entry = { writer: TableWriter; id: string; stored: Version | null; current: Version | null };

type TableWriter = ReturnType<typeof tableWriter>;

export type Projector = ReturnType<typeof openProjector>;

/**
 * Folds events into the read tables. One function serves single writes and bulk loads: within a batch each document is
 * read at most once and its row written once, whatever happened to it in between.
 */
export function openProjector(db: Sqlite, all: readonly Tables[], upcaster: Upcaster) {
  const writers = new Map(all.map((tables) => [tables.key, tableWriter(db, tables)]));
  const accounts = openAccountFold(db);
  const audit = openAuditFold(db);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const selectCheckpoint = db.prepare<[], Checkpoint>('SELECT position, root FROM checkpoint');
  const deleteCheckpoint = db.prepare('DELETE FROM checkpoint');
  const insertCheckpoint = db.prepare('INSERT INTO checkpoint VALUES (?, ?)');
  const countErasures = db.prepare('UPDATE erasures SET count = count + ?');
  const updateCount = db.prepare('UPDATE counts SET documents = documents + ? WHERE key = ?');

  function checkpoint(): Checkpoint | null {
    return selectCheckpoint.get() ?? null;
  }

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
        accounts.apply(event);
        audit.apply(event);
      }
      for (const { writer, id, stored, current } of touched.values()) writer.write(id, stored, current);
      count(touched);
      const erasures = events.filter(({ header }) => header.type === 'document.erased').length;
      if (erasures > 0) countErasures.run(erasures);
      deleteCheckpoint.run();
      insertCheckpoint.run(last.header.position, root);
      if (isOurs) commit.run();
    } catch (error) {
      if (isOurs && db.inTransaction) rollback.run();
      audit.forget();
      throw error;
    }
  }

  /** How many documents there are is what most lists ask for, and counting them takes longer than all else of a list. */
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

    const entry = touched.get(header.stream) ?? load(writer, header.stream, touched);
    const before = entry.current;
    const after = foldDocument(before?.document ?? null, header.type, upcaster.upcast(key, header, data));
    const isErased = header.type === 'document.erased';
    entry.current = isErased ? writer.forget(entry.id, before) : writer.advance(entry.id, header, before, after);
  }

  function load(writer: TableWriter, stream: string, touched: Map<string, Entry>): Entry {
    const [, id] = splitStream(stream);
    const stored = writer.load(id);
    const entry: Entry = { writer, id, stored, current: stored };
    touched.set(stream, entry);
    return entry;
  }

  return { checkpoint, apply };
}

/** The event that makes a version. */
type Made = { position: number; version: number };

type DocumentRow = { key: number; valid_from: number; version: number; doc: string | null };

function tableWriter(db: Sqlite, tables: Tables) {
  const { documents, texts, versions, pastTexts, links, linkTable, pastLinks } = tables;
  const columns = tables.columns.filter(({ isStored }) => isStored);
  const keyed = columns.filter(({ key }) => key);
  const documentOf = compileDocument(tables.fields, tables.isUpload ? tables.key : null);
  const names = ['version', 'created_at', 'updated_at', ...columns.map(({ name }) => name)];
  const withKeys = [...names, ...keyed.map(({ key }) => key)];
  const select = db.prepare<[id: string], DocumentRow>(
    `SELECT key, valid_from, version, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc FROM ${documents} AS d WHERE id = ?`,
  );
  const insert = db.prepare(
    `INSERT INTO ${documents} (id, key, valid_from, ${withKeys.join(', ')}) VALUES (?, ?, ?, ${holes(withKeys)})`,
  );
  const insertText = db.prepare(`INSERT INTO ${texts} (key, doc) VALUES (?, ?)`);
  const updateText = db.prepare(`UPDATE ${texts} SET doc = ? WHERE key = ?`);
  const remove = db.prepare(`DELETE FROM ${documents} WHERE key = ?`);
  const removeText = db.prepare(`DELETE FROM ${texts} WHERE key = ?`);
  const insertPastText = db.prepare(`INSERT INTO ${pastTexts} (valid_from, doc) VALUES (?, ?)`);
  const insertVersion = db.prepare(
    `INSERT INTO ${versions} (id, valid_from, valid_to, ${names.join(', ')}) VALUES (?, ?, ?, ${holes(names)})`,
  );
  const insertLink = linkTable ? db.prepare(`INSERT OR IGNORE INTO ${linkTable} VALUES (?, ?, ?, ?)`) : null;
  const keepLink = linkTable
    ? db.prepare(`INSERT INTO ${pastLinks} SELECT *, ? FROM ${linkTable} WHERE field = ? AND target = ? AND source = ?`)
    : null;
  const deleteLink = linkTable
    ? db.prepare(`DELETE FROM ${linkTable} WHERE field = ? AND target = ? AND source = ?`)
    : null;
  const deletePastTexts = db.prepare(
    `DELETE FROM ${pastTexts} WHERE valid_from IN (SELECT valid_from FROM ${versions} WHERE id = ?)`,
  );
  const deletePastLinks = linkTable ? db.prepare(`DELETE FROM ${pastLinks} WHERE source = ?`) : null;
  const deleteVersions = db.prepare(`DELETE FROM ${versions} WHERE id = ?`);
  const hasIndexes = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(`versions ${tables.key} id`);
  const updates = new Map<string, Statement>();

  function load(id: string): Version | null {
    const row = select.get(id);
    if (!row) return null;
    const text = intact(row.doc, texts, id);
    const document: JsonObject = JSON.parse(text);
    return { key: row.key, validFrom: row.valid_from, version: row.version, document, text };
  }

  /** Goes from a version to the one that an event makes of it, and keeps what must not wait for the end of the batch. */
  function advance(id: string, header: Made, before: Version | null, values: JsonObject | null): Version | null {
    const after = values && version(id, header, before, values);
    if (before) {
      insertVersion.run(id, before.validFrom, header.position, ...valuesOf(before));
      insertPastText.run(before.validFrom, before.text);
    }
    if (linkTable) writeLinks(id, before, after, header.position);
    return after;
  }

  /** The version that an event makes; its key is the position that created the document. */
  function version(id: string, header: Made, before: Version | null, values: JsonObject): Version {
    const document = documentOf(id, values);
    return {
      key: before ? before.key : header.position,
      validFrom: header.position,
      version: header.version,
      document,
      text: JSON.stringify(document),
    };
  }

  function valuesOf({ version, document }: Version): (string | number | null)[] {
    const common = [version, millisecondsOf(document.createdAt), millisecondsOf(document.updatedAt)];
    return [...common, ...columns.map((column) => columnValue(column, document))];
  }

  function valuesWithKeys(version: Version): (string | number | null)[] {
    const keys = keyed.map((column) => {
      const value = columnValue(column, version.document);
      return typeof value === 'string' ? fold(value) : null;
    });
    return [...valuesOf(version), ...keys];
  }

  /** Takes all that a document ever was, and leaves none. Its living rows go with the end of the batch. */
  function forget(id: string, current: Version | null): null {
    for (const { name } of links) for (const target of idsOf(current, name)) deleteLink?.run(name, target, id);
    // A file that is built anew, and has no indexes yet, never had any: their payloads are gone from the log.
    if (!hasIndexes) return null;
    deletePastTexts.run(id);
    deleteVersions.run(id);
    deletePastLinks?.run(id);
    return null;
  }

  /** Brings the rows of a document from what is stored to what it is now. */
  function write(id: string, stored: Version | null, current: Version | null): void {
    if (stored === current) return;
    if (stored && current && stored.key === current.key) {
      change(stored, current);
      return;
    }
    if (stored) {
      remove.run(stored.key);
      removeText.run(stored.key);
    }
    if (current) {
      insert.run(id, current.key, current.validFrom, ...valuesWithKeys(current));
      insertText.run(current.key, current.text);
    }
  }

  /** Sets only what differs: SQLite rewrites the index of every column that is named, changed or not. */
  function change(stored: Version, current: Version): void {
    const before = valuesWithKeys(stored);
    const after = valuesWithKeys(current);
    const changed = withKeys.flatMap((_, index) => (before[index] === after[index] ? [] : [index]));
    const sets = changed.map((index) => `${withKeys[index]} = ?`).join(', ');
    let update = updates.get(sets);
    if (!update) {
      if (updates.size > 200) updates.clear();
      update = db.prepare(`UPDATE ${documents} SET ${sets}, valid_from = ? WHERE key = ?`);
      updates.set(sets, update);
    }
    update.run(...changed.map((index) => after[index]), current.validFrom, current.key);
    if (stored.text !== current.text) updateText.run(current.text, current.key);
  }

  function writeLinks(id: string, old: Version | null, current: Version | null, position: number): void {
    for (const { name } of links) {
      const before = new Set(idsOf(old, name));
      const after = new Set(idsOf(current, name));
      for (const target of before.difference(after)) {
        keepLink?.run(position, name, target, id);
        deleteLink?.run(name, target, id);
      }
      for (const target of after.difference(before)) insertLink?.run(name, target, id, position);
    }
  }

  return { key: tables.key, load, advance, forget, write };
}

function holes(names: readonly unknown[]): string {
  return names.map(() => '?').join(', ');
}

function idsOf(version: Version | null, name: string): string[] {
  const value = version?.document[name];
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string') : [];
}

function millisecondsOf(time: unknown): number {
  return typeof time === 'string' ? Date.parse(time) : 0;
}
