import type { JsonObject } from '../../config/schema.ts';
import { textIn } from '../../config/text-fields.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { trigramText } from './fold.ts';
import type { ProjectionCheckpoint } from './projector.ts';
import { type SearchTables, searchStateOf, type TextIndex } from './search-tables.ts';
import { foldedWords } from './words.ts';

/** The checkpoint before the first event. */
const start: ProjectionCheckpoint = { position: 0, root: Buffer.alloc(0) };

/** The documents that are indexed in one transaction when the index is built. */
const chunk = 1000;

export type SearchFold = ReturnType<typeof openSearchFold>;

/** A document in the read tables; `doc` is its text. */
type DocumentRow = { key: number; id: string; doc: string };

/**
 * Folds documents from the read tables into the search file: each step proceeds from the position of the last step to
 * the position of the read tables. A row of an index is made from the present document, so it does not matter how often
 * it is made.
 *
 * @param db the search file.
 * @param read the read file.
 */
export function openSearchFold(db: Sqlite, read: Sqlite, all: readonly SearchTables[]) {
  const writers = all.map((tables) => openWriter(db, read, tables));
  const selectCheckpoint = read.prepare<[], ProjectionCheckpoint>('SELECT position, root FROM checkpoint');
  const selectErasures = read.prepare<[], number>('SELECT count FROM erasures').pluck();
  const setState = db.prepare('UPDATE state SET position = ?, root = ?, erasures = ?');
  const setCleaned = db.prepare('UPDATE state SET cleaned = ?');
  const atOneMoment = <T>(run: () => T): T => {
    read.exec('BEGIN');
    try {
      return run();
    } finally {
      read.exec('COMMIT');
    }
  };
  const where = () => ({ ...(selectCheckpoint.get() ?? start), erasures: selectErasures.get() ?? 0 });

  /**
   * Indexes every document. In steps, for the read file cannot shorten its write-ahead log while one state of it is
   * read. The last step follows the changes in between.
   *
   * @yields after each transaction.
   */
  function* build(): Generator<void> {
    const began = where();
    for (const writer of writers) {
      for (let after: number | null = 0; after !== null; ) {
        const from: number = after;
        after = db.transaction(() => atOneMoment(() => writer.indexFrom(from, chunk)))();
        yield;
      }
    }
    // The changes that came while the index was built are applied before it counts as built.
    db.transaction(() => {
      setState.run(began.position, began.root, began.erasures);
      setCleaned.run(began.erasures);
      step();
    })();
  }

  /** Follows the read tables to their position. @returns the position, and whether something was erased. */
  function step(): { position: number; hasErased: boolean } {
    return atOneMoment(() => {
      const state = searchStateOf(db);
      const { position, root, erasures } = where();
      if (position <= state.position) return { position: state.position, hasErased: false };
      const hasErased = erasures !== state.erasures;
      db.transaction(() => {
        for (const writer of writers) {
          writer.follow(state.position);
          if (hasErased) writer.forget();
        }
        setState.run(position, root, erasures);
      })();
      return { position, hasErased };
    });
  }

  /** Removes all terms that no document has: a deleted term stays until the segments of FTS5 are merged. */
  function purge(): void {
    for (const writer of writers) writer.purge();
  }

  return { build, step, purge };
}

function openWriter(db: Sqlite, read: Sqlite, { tables, ids, words, trigrams }: SearchTables) {
  const { documents, texts, versions } = tables;
  const row = `d.key AS key, d.id AS id, t.doc AS doc FROM ${documents} AS d CROSS JOIN ${texts} AS t ON t.key = d.key`;
  const selectFrom = read.prepare<[after: number, limit: number], DocumentRow>(
    `SELECT ${row} WHERE d.key > ? ORDER BY d.key LIMIT ?`,
  );
  const selectById = read.prepare<[id: string], DocumentRow>(`SELECT ${row} WHERE d.id = ?`);
  const selectExists = read.prepare(`SELECT 1 FROM ${documents} WHERE id = ?`);
  const selectEnded = read
    .prepare<[after: number], string>(`SELECT DISTINCT id FROM ${versions} WHERE valid_to > ?`)
    .pluck();
  const selectKey = db.prepare<[id: string], number>(`SELECT key FROM ${ids} WHERE id = ?`).pluck();
  const selectIds = db.prepare<[], string>(`SELECT id FROM ${ids}`).pluck();
  const insertId = db.prepare(`INSERT INTO ${ids} VALUES (?, ?)`);
  const deleteId = db.prepare(`DELETE FROM ${ids} WHERE id = ?`);
  const indexes = [
    ...(words ? [openIndex(db, words, (text) => foldedWords(text).join(' '))] : []),
    ...(trigrams ? [openIndex(db, trigrams, trigramText)] : []),
  ];

  function remove(id: string): void {
    const key = selectKey.get(id);
    if (key === undefined) return;
    for (const index of indexes) index.remove(key);
    deleteId.run(id);
  }

  function put({ id, key, doc }: DocumentRow): void {
    remove(id);
    const document: JsonObject = JSON.parse(doc);
    for (const index of indexes) index.insert(key, document);
    insertId.run(id, key);
  }

  /** Indexes the documents made after a position, at most `limit`. Gives the position of the last, null at the end. */
  function indexFrom(after: number, limit: number): number | null {
    const rows = selectFrom.all(after, limit);
    for (const one of rows) put(one);
    return rows.length < limit ? null : (rows.at(-1)?.key ?? null);
  }

  /** Applies all that happened after a position. */
  function follow(position: number): void {
    for (const id of selectEnded.all(position)) {
      const found = selectById.get(id);
      if (!found) remove(id);
      else if (found.key <= position) put(found);
    }
    for (let after: number | null = position; after !== null; ) after = indexFrom(after, chunk);
  }

  /** Removes documents that are in no read table: nothing else is left of an erased document. */
  function forget(): void {
    for (const id of selectIds.all()) if (selectExists.get(id) === undefined) remove(id);
  }

  function purge(): void {
    for (const index of indexes) index.purge();
  }

  return { indexFrom, follow, forget, purge };
}

function openIndex(db: Sqlite, { name, fields }: TextIndex, made: (text: string) => string) {
  const columns = fields.map((_, index) => `c${index}`);
  const insertRow = db.prepare(
    `INSERT INTO ${name} (rowid, ${columns.join(', ')}) VALUES (?, ${columns.map(() => '?').join(', ')})`,
  );
  const deleteRow = db.prepare(`DELETE FROM ${name} WHERE rowid = ?`);
  const optimize = db.prepare(`INSERT INTO ${name} (${name}) VALUES ('optimize')`);
  return {
    insert: (key: number, document: JsonObject) => {
      insertRow.run(key, ...fields.map((field) => made(textIn(document, field))));
    },
    remove: (key: number) => {
      deleteRow.run(key);
    },
    purge: () => {
      optimize.run();
    },
  };
}
