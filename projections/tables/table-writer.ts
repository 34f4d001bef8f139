import type { JsonObject } from '../../config/schema.ts';
import { compileDocument } from '../../config/shape.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { intact } from './damage.ts';
import { fold } from './fold.ts';
import { columnValue, type Tables } from './tables.ts';

/** A version of a document in memory. `text` is the document as it is sent. */
export type TableVersion = {
  key: number;
  validFrom: number;
  version: number;
  document: JsonObject;
  text: string;
};

type ColumnValue = string | number | null;

export type TableWriter = ReturnType<typeof tableWriter>;

/** Writes the tables of one collection or global; every call inside a transaction of the caller's. */
export function tableWriter(db: Sqlite, tables: Tables) {
  const { documents, texts } = tables;
  const documentOf = compileDocument(tables.fields, tables.isUpload ? tables.name : null);
  const select = db.prepare<[id: string], { key: number; valid_from: number; version: number; doc: string | null }>(
    `SELECT key, valid_from, version, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc FROM ${documents} AS d WHERE id = ?`,
  );
  const rows = rowWriter(db, tables);
  const past = pastWriter(db, tables);
  const links = tables.linkTable ? linkWriter(db, { ...tables, linkTable: tables.linkTable }) : null;

  function load(id: string): TableVersion | null {
    const row = select.get(id);
    if (!row) return null;
    const text = intact(row.doc, texts, id);
    const document: JsonObject = JSON.parse(text);
    return { key: row.key, validFrom: row.valid_from, version: row.version, document, text };
  }

  /**
   * The version that an event makes of another; null if the event ends the document. It writes past versions and links,
   * which cannot wait for the end of the batch.
   *
   * @param before the version before the event; `values` are the fields after it.
   */
  function advance(
    id: string,
    { position, version }: Pick<Header, 'position' | 'version'>,
    { before, values }: { before: TableVersion | null; values: JsonObject | null },
  ): TableVersion | null {
    let after: TableVersion | null = null;
    if (values) {
      const document = documentOf(id, values);
      // Its key is the position that created the document.
      const key = before ? before.key : position;
      after = { key, validFrom: position, version, document, text: JSON.stringify(document) };
    }
    if (before) past.keep(id, before, position);
    links?.move(id, { before, after }, position);
    return after;
  }

  /** Removes all past versions of a document. Its live rows are removed at the end of the batch. */
  function forget(id: string, current: TableVersion | null): null {
    links?.remove(id, current);
    past.forget(id);
    return null;
  }

  return { key: tables.key, load, advance, forget, write: rows.write };
}

/** Writes the rows and texts of live documents. */
function rowWriter(db: Sqlite, tables: Tables) {
  const { documents, texts } = tables;
  const { names, valuesOf } = columnsOf(tables);
  const keyed = tables.columns.filter(({ isStored, key }) => isStored && key);
  const withKeys = [...names, ...keyed.map(({ key }) => key)];
  const insert = db.prepare(
    `INSERT INTO ${documents} (id, key, valid_from, ${withKeys.join(', ')}) VALUES (?, ?, ?, ${holes(withKeys)})`,
  );
  const insertText = db.prepare(`INSERT INTO ${texts} (key, doc) VALUES (?, ?)`);
  const updateText = db.prepare(`UPDATE ${texts} SET doc = ? WHERE key = ?`);
  const remove = db.prepare(`DELETE FROM ${documents} WHERE key = ?`);
  const removeText = db.prepare(`DELETE FROM ${texts} WHERE key = ?`);
  const updates = new Map<string, Statement>();

  function valuesWithKeys(version: TableVersion): ColumnValue[] {
    const keys = keyed.map((column) => {
      const value = columnValue(column, version.document);
      return typeof value === 'string' ? fold(value) : null;
    });
    return [...valuesOf(version), ...keys];
  }

  /** Brings the stored rows of a document to its present version. */
  function write(id: string, stored: TableVersion | null, current: TableVersion | null): void {
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

  /** Sets only the columns that differ: SQLite rewrites the index of every named column, changed or not. */
  function change(stored: TableVersion, current: TableVersion): void {
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

  return { write };
}

/** Writes the versions that documents had. */
function pastWriter(db: Sqlite, tables: Tables) {
  const { versions, pastTexts } = tables;
  const { names, valuesOf } = columnsOf(tables);
  const insertVersion = db.prepare(
    `INSERT INTO ${versions} (id, valid_from, valid_to, ${names.join(', ')}) VALUES (?, ?, ?, ${holes(names)})`,
  );
  const insertText = db.prepare(`INSERT INTO ${pastTexts} (valid_from, doc) VALUES (?, ?)`);
  const deleteTexts = db.prepare(
    `DELETE FROM ${pastTexts} WHERE valid_from IN (SELECT valid_from FROM ${versions} WHERE id = ?)`,
  );
  const deleteVersions = db.prepare(`DELETE FROM ${versions} WHERE id = ?`);
  const deleteLinks = tables.linkTable ? db.prepare(`DELETE FROM ${tables.pastLinks} WHERE source = ?`) : null;
  const hasIndexes = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(`versions ${tables.key} id`);

  /** Keeps a version that held until a position. */
  function keep(id: string, version: TableVersion, until: number): void {
    insertVersion.run(id, version.validFrom, until, ...valuesOf(version));
    insertText.run(version.validFrom, version.text);
  }

  function forget(id: string): void {
    // A file that is being built has no indexes yet, and no past versions of an erased document: their payloads are
    // gone from the log.
    if (!hasIndexes) return;
    deleteTexts.run(id);
    deleteVersions.run(id);
    deleteLinks?.run(id);
  }

  return { keep, forget };
}

/** Writes the links of live documents, and keeps ended links. */
function linkWriter(db: Sqlite, { links, linkTable, pastLinks }: Tables & { linkTable: string }) {
  const insert = db.prepare(`INSERT OR IGNORE INTO ${linkTable} VALUES (?, ?, ?, ?)`);
  const keep = db.prepare(
    `INSERT INTO ${pastLinks} SELECT *, ? FROM ${linkTable} WHERE field = ? AND target = ? AND source = ?`,
  );
  const end = db.prepare(`DELETE FROM ${linkTable} WHERE field = ? AND target = ? AND source = ?`);

  /** Replaces the links of one version by the links of the next, which the event at a position made. */
  function move(
    id: string,
    versions: { before: TableVersion | null; after: TableVersion | null },
    position: number,
  ): void {
    for (const { name } of links) {
      const before = new Set(idsOf(versions.before, name));
      const after = new Set(idsOf(versions.after, name));
      for (const target of before.difference(after)) {
        keep.run(position, name, target, id);
        end.run(name, target, id);
      }
      for (const target of after.difference(before)) insert.run(name, target, id, position);
    }
  }

  function remove(id: string, current: TableVersion | null): void {
    for (const { name } of links) for (const target of idsOf(current, name)) end.run(name, target, id);
  }

  return { move, remove };
}

/** The columns that living and past rows share, and their values in a version. */
function columnsOf(tables: Tables) {
  const columns = tables.columns.filter(({ isStored }) => isStored);
  const names = ['version', 'created_at', 'updated_at', ...columns.map(({ name }) => name)];
  const valuesOf = ({ version, document }: TableVersion): ColumnValue[] => {
    const common = [version, millisecondsOf(document.createdAt), millisecondsOf(document.updatedAt)];
    return [...common, ...columns.map((column) => columnValue(column, document))];
  };
  return { names, valuesOf };
}

function holes(names: readonly unknown[]): string {
  return names.map(() => '?').join(', ');
}

function idsOf(version: TableVersion | null, name: string): string[] {
  const value = version?.document[name];
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string') : [];
}

function millisecondsOf(time: unknown): number {
  return typeof time === 'string' ? Date.parse(time) : 0;
}
