import { existsSync } from 'node:fs';
import type { Schema } from '../../config/schema.ts';
import { hindranceOf, openCleaner } from '../../storage/scrub.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { lookInto, removeDatabase } from './files.ts';
import { checkpointOf } from './read-file-checks.ts';
import { openSearchFold, type SearchFold } from './search-fold.ts';
import { createSearchTables, type SearchTables, searchStateOf, searchTablesOf } from './search-tables.ts';

/** The files and the schema of a search index. */
export type SearchSource = { readFile: string; searchFile: string; schema: Schema };

/** A search file that is being written. */
export type SearchFile = {
  fold: SearchFold;
  /**
   * The state of the file when it was opened. `unusable`: the file was damaged, unfinished, or of other read tables,
   * and was removed.
   */
  was: 'usable' | 'missing' | 'unusable';
  /** How many documents the file must have. */
  documents: number;
  /** Whether every document has been indexed. */
  isBuilt: () => boolean;
  /** Whether something that was erased is still to be cleaned out of the file. */
  isUnclean: () => boolean;
  /**
   * Cleans the file of what was erased. False while a reader or a full disk hinders it: then it must be called again.
   */
  clean: () => boolean;
  close: () => void;
};

/**
 * Opens the search file for the one thread that writes it. An unfinished or damaged file is made anew: it holds nothing
 * that the read tables do not.
 */
export function openSearchFile(source: SearchSource): SearchFile {
  const tables = searchTablesOf(source.schema);
  const was = !existsSync(source.searchFile) ? 'missing' : isUsable(source) ? 'usable' : 'unusable';
  if (was === 'unusable') removeDatabase(source.searchFile);
  const read = openDatabase(source.readFile, { readonly: true, cacheMiB: 16 });
  const db = openDatabase(source.searchFile, { durability: 'normal', cacheMiB: 32 });
  try {
    if (was !== 'usable') db.transaction(() => createSearchTables(db, tables))();
    const fold = openSearchFold(db, read, tables);
    return {
      ...searchFileOver(db, read, fold),
      fold,
      was,
      documents: countIn(read, tables),
    };
  } catch (error) {
    db.close();
    read.close();
    throw error;
  }
}

function countIn(read: Sqlite, all: readonly SearchTables[]): number {
  const select = read.prepare<[key: string], number>('SELECT documents FROM counts WHERE key = ?').pluck();
  return all.reduce((sum, { tables }) => sum + (select.get(tables.key) ?? 0), 0);
}

function searchFileOver(db: Sqlite, read: Sqlite, fold: SearchFold) {
  const setCleaned = db.prepare('UPDATE state SET cleaned = ?');
  const cleaner = openCleaner(db);
  /** The number of erasures of which the segments of the FTS5 index have no trace. */
  let purged: number | null = null;

  function clean(): boolean {
    const { erasures } = searchStateOf(db);
    try {
      if (purged !== erasures) fold.purge();
      purged = erasures;
      let result = cleaner.step();
      while (result === 'going') result = cleaner.step();
      if (result === 'busy') return false;
    } catch (error) {
      if (hindranceOf(error) === null) throw error;
      return false;
    } finally {
      cleaner.end();
    }
    setCleaned.run(erasures);
    return true;
  }

  return {
    isBuilt: () => searchStateOf(db).root !== null,
    isUnclean: () => {
      const { erasures, cleaned } = searchStateOf(db);
      return erasures !== cleaned;
    },
    clean,
    close() {
      db.close();
      cleaner.close();
      read.close();
    },
  };
}

/**
 * Whether a file can be continued: it is finished, whole, and not ahead of the read tables. If it is ahead, it was made
 * from other read tables.
 */
function isUsable({ readFile, searchFile }: SearchSource): boolean {
  const state = lookInto(searchFile, searchStateOf);
  const read = checkpointOf(readFile);
  return state !== null && state.root !== null && state.position <= (read?.position ?? 0);
}
