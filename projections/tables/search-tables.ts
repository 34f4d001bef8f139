import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fieldsOfObject } from '../../config/nesting.ts';
import { categoryOf, type DataField, dataFields, type FieldSchema, type Schema } from '../../config/schema.ts';
import { searchedFields, type TextField } from '../../config/text-fields.ts';
import { fileSchemas } from '../../config/uploads.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { removeDatabase } from './files.ts';
import { quote, type Tables, tablesOf } from './tables.ts';

/** Part of the name of the search file: raise it when its tables or what is written to them change. */
const searchVersion = 1;
/** Also part of the name: the version of Unicode decides what a word is. */
const { unicode } = process.versions;

/** An index of SQLite's FTS5: its name, and the fields whose texts are its columns, `c0`, `c1`, …. */
export type TextIndex = { name: string; fields: readonly TextField[] };

/**
 * The search tables of one collection. `ids` has the documents in the indexes, with the keys of their rows; `words`
 * serves `q`, `trigrams` serves `like`; null if there is no such index.
 */
export type SearchTables = {
  tables: Tables;
  ids: string;
  words: TextIndex | null;
  trigrams: TextIndex | null;
};

/** The search tables of a schema: for collections that name search fields, or have a text with `index: true`. */
export function searchTablesOf(schema: Schema): SearchTables[] {
  const described = new Map(tablesOf(schema).map((tables) => [tables.key, tables]));
  return schema.collections.flatMap((collection): SearchTables[] => {
    const { admin, upload } = collection;
    const category = categoryOf(collection);
    const tables = described.get(category);
    const words = admin?.searchFields ? searchedFields(collection) : [];
    const made = upload ? new Set<string>(fileSchemas.map(({ name }) => name)) : new Set<string>();
    const parts = textsWithIndex(
      dataFields(collection.fields).filter(({ name }) => !made.has(name)),
      [],
    );
    if (!tables || words.length + parts.length === 0) return [];
    return [
      {
        tables,
        ids: quote(`ids ${category}`),
        words: words.length > 0 ? { name: quote(`words ${category}`), fields: words } : null,
        trigrams: parts.length > 0 ? { name: quote(`trigrams ${category}`), fields: parts } : null,
      },
    ];
  });
}

const textTypes = ['text', 'textarea', 'email', 'url'];

function textsWithIndex(fields: readonly DataField[], before: readonly string[]): TextField[] {
  return fields.flatMap((field) => {
    const path = [...before, field.name];
    const inside = fieldsOfObject<FieldSchema>(field);
    if (inside) return textsWithIndex(dataFields(inside), path);
    return field.index && textTypes.includes(field.type) ? [{ path, isRich: false }] : [];
  });
}

/** The path of the search file that goes with a read file; null if nothing is indexed. */
export function searchFileOf(readFile: string, schema: Schema): string | null {
  const all = searchTablesOf(schema);
  if (all.length === 0) return null;
  const content = all.map(({ tables, words, trigrams }) => ({ key: tables.key, words, trigrams }));
  const named = JSON.stringify({ searchVersion, unicode, read: basename(readFile), content });
  return join(dirname(readFile), `search-${hash('sha256', named, 'hex').slice(0, 16)}.db`);
}

/** Removes all search files of a directory except one. */
export function removeOtherSearchFiles(directory: string, keep: string | null): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (/^search-[0-9a-f]+\.db$/.test(name) && path !== keep) removeDatabase(path);
  }
}

/**
 * Makes the tables in an empty file. Words are folded before, so the tokenizer only cuts at spaces; trigrams are made
 * from folded texts. The texts themselves are not kept.
 */
export function createSearchTables(db: Sqlite, all: readonly SearchTables[]): void {
  // `erasures`: the number that the tables know of; `cleaned`: the number of which the file has no trace.
  db.exec(`
    CREATE TABLE state (position INTEGER NOT NULL, root BLOB, erasures INTEGER NOT NULL, cleaned INTEGER NOT NULL) STRICT;
    INSERT INTO state VALUES (0, NULL, 0, 0);
  `);
  for (const { ids, words, trigrams } of all) {
    db.exec(`CREATE TABLE ${ids} (id TEXT PRIMARY KEY, key INTEGER NOT NULL) STRICT, WITHOUT ROWID`);
    if (words)
      db.exec(`CREATE VIRTUAL TABLE ${words.name} USING fts5(${columnsOf(words)}, ${unkept}, tokenize='ascii')`);
    if (trigrams) {
      const form = `${unkept}, detail=column, tokenize='trigram case_sensitive 1'`;
      db.exec(`CREATE VIRTUAL TABLE ${trigrams.name} USING fts5(${columnsOf(trigrams)}, ${form})`);
    }
  }
}

const unkept = "content='', contentless_delete=1";

function columnsOf({ fields }: TextIndex): string {
  return fields.map((_, index) => `c${index}`).join(', ');
}

/** The state of a search file. */
type SearchState = { position: number; root: Buffer | null; erasures: number; cleaned: number };

/** Reads the state of a search file. */
export function searchStateOf(db: Sqlite): SearchState {
  const state = db.prepare<[], SearchState>('SELECT position, root, erasures, cleaned FROM state').get();
  if (!state) throw new SyntaxError('the search file has no state');
  return state;
}
