import type { JsonObject } from '../../config/schema.ts';
import { compileDocument } from '../../config/shape.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { Review } from '../../events/facts/lines.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { intact } from './damage.ts';
import { fold } from './fold.ts';
import { columnValue, lineColumns, type Tables } from './tables.ts';

/**
 * The columns of `lineColumns`, and `head`. `published_at` is in milliseconds since the epoch; `editors` is the JSON of
 * `Lines.editors`.
 */
export type LineValues = {
  head: number;
  published_at: number | null;
  is_public: number;
  editors: string;
  review: Review['state'] | null;
  review_version: number | null;
};

/** A version of a document in memory. `text` is the document as it is sent; `line` is null without drafts. */
export type TableVersion = {
  key: number;
  validFrom: number;
  version: number;
  document: JsonObject;
  text: string;
  line: LineValues | null;
};

type ColumnValue = string | number | null;

export type TableWriter = ReturnType<typeof tableWriter>;

/** Writes the tables of one collection or global; every call inside a transaction of the caller's. */
export function tableWriter(db: Sqlite, tables: Tables) {
  const { documents, texts } = tables;
  const shape = compileDocument(tables.fields, tables.isUpload ? tables.name : null);
  const own = tables.line ? [...lineNames(tables), 'head'].map((name) => `, ${name}`).join('') : '';
  const select = db.prepare<[id: string], DocumentRow>(
    `SELECT key, valid_from, version, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc${own}
     FROM ${documents} AS d WHERE id = ?`,
  );
  const rows = rowWriter(db, tables);
  const past = pastWriter(db, tables);
  const links = tables.linkTable ? linkWriter(db, { ...tables, linkTable: tables.linkTable }) : null;

  function load(id: string): TableVersion | null {
    const row = select.get(id);
    if (!row) return null;
    const text = intact(row.doc, texts, id);
    const document: JsonObject = JSON.parse(text);
    const { key, valid_from: validFrom, version, doc: _doc, ...line } = row;
    return { key, validFrom, version, document, text, line: tables.line ? { ...noLineValues, ...line } : null };
  }

  /**
   * The version that an event makes of another; null if the event ends the document. It writes past versions and links,
   * which cannot wait for the end of the batch.
   *
   * @param before the version before the event; `document` is the document after it, in today's shape.
   */
  function advance(
    id: string,
    { position, version }: Pick<Header, 'position' | 'version'>,
    { before, document, line = null }: Advance,
  ): TableVersion | null {
    let after: TableVersion | null = null;
    if (document) {
      // Its key is the position that created the document, or made it public.
      const key = before ? before.key : position;
      const text = document === before?.document ? before.text : JSON.stringify(document);
      after = { key, validFrom: position, version, document, text, line };
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

  return { key: tables.key, isDraft: tables.line === 'draft', shape, load, advance, forget, write: rows.write };
}

type DocumentRow = { key: number; valid_from: number; version: number; doc: string | null } & Partial<LineValues>;

type Advance = { before: TableVersion | null; document: JsonObject | null; line?: LineValues | null };

/** The values of columns that a table does not have. */
const noLineValues: LineValues = {
  head: 0,
  published_at: null,
  is_public: 1,
  editors: '{}',
  review: null,
  review_version: null,
};

/** The columns about both lines that living and past rows have. */
function lineNames({ line }: Tables): (keyof LineValues)[] {
  return line ? (Object.keys(lineColumns[line]) as (keyof LineValues)[]) : [];
}

/** Writes the rows and texts of live documents. */
function rowWriter(db: Sqlite, tables: Tables) {
  const { documents, texts } = tables;
  const { names, valuesOf } = columnsOf(tables);
  const keyed = tables.columns.filter(({ isStored, key }) => isStored && key);
  const heads = tables.line ? ['head'] : [];
  const withKeys = [...names, ...heads, ...keyed.map(({ key }) => key)];
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
    return [...valuesOf(version), ...(version.line ? [version.line.head] : []), ...keys];
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
  const own = lineNames(tables);
  const names = ['version', 'created_at', 'updated_at', ...own, ...columns.map(({ name }) => name)];
  const valuesOf = ({ version, document, line }: TableVersion): ColumnValue[] => {
    const common: ColumnValue[] = [version, millisecondsOf(document.createdAt), millisecondsOf(document.updatedAt)];
    for (const name of own) common.push(line?.[name] ?? null);
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
