import { splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { Epoch } from '../../events/facts/lineage.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { eventOf, type LogReader, readLog } from '../../events/log/log-reader.ts';
import { emptyRoot } from '../../events/proof/merkle.ts';
import { openLogToRead } from '../../events/store/log-file.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { accountTables } from '../tables/account-fold.ts';
import { apiKeyTable } from '../tables/api-keys.ts';
import { auditTables } from '../tables/audit.ts';
import { removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector } from '../tables/projector.ts';
import { releaseTables } from '../tables/releases.ts';
import { createIndexes, createTables, quote, type Tables, tablesOf, unquoted } from '../tables/tables.ts';
import type { Beat } from './helpers.ts';

/**
 * A share of the documents of a log: the documents whose streams end in two hexadecimal digits from `from` up to, but
 * without, `to`. `categories` are the collections that are divided; with `isRest`, the share has all other streams too.
 */
type Share = { categories: string[]; from: number; to: number; isRest: boolean };

/** A share to be folded into the file `path`: from the log in `log`, up to a position, by the last of these schemas. */
export type SharePiece = {
  path: string;
  log: string;
  upTo: number;
  epochs: readonly Epoch[];
  share: Share;
  cacheMiB: number;
};

const chunk = 1000;

/** Whether a stream is in a share. */
function isIn({ categories, from, to, isRest }: Share): (stream: string) => boolean {
  const prefixes = new Set(categories);
  return (stream) => {
    const place = 16 * digitAt(stream, stream.length - 2) + digitAt(stream, stream.length - 1);
    // NaN if a character is not a hexadecimal digit.
    if (!(place >= 0 && prefixes.has(splitStream(stream)[0]))) return isRest;
    return place >= from && place < to;
  };
}

/** The hexadecimal digit at an index; NaN for another character. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 102 ? code - 87 : Number.NaN;
}

/**
 * Divides the documents of a log into `count` shares. The first gets `first` of 256 parts of them, and all other
 * streams.
 *
 * A collection whose documents have accounts is not divided, for deleting a document ends its account.
 */
export function sharesOf(
  db: Sqlite,
  tables: readonly Tables[],
  { count, first }: { count: number; first: number },
): Share[] {
  const hasAccounts = db.prepare('SELECT 1 FROM events WHERE stream > ? AND stream < ? LIMIT 1');
  const categories = tables
    .filter(({ key, isGlobal }) => !isGlobal && !hasAccounts.get(`accounts/${key}/`, `accounts/${key}0`))
    .map(({ key }) => key);
  const rest = 256 - first;
  const bounds = Array.from({ length: count }, (_, at) => Math.round(first + (rest * at) / (count - 1)));
  const others = bounds.slice(1).map((to, at) => ({ categories, from: bounds[at] as number, to, isRest: false }));
  return [{ categories, from: 0, to: first, isRest: true }, ...others];
}

/** Folds a share into its file. @returns the number of its events. */
export function foldShare({ path, log: file, upTo, epochs, share, cacheMiB }: SharePiece, beat: Beat): number {
  const log = openLogToRead(file, 16);
  try {
    const includes = isIn(share);
    const texts = readLog(log).part(includes, false);
    let folded = 0;
    const tables = tablesOf((epochs.at(-1) as Epoch).schema);
    writeShare(path, { tables, cacheMiB }, (db) => {
      const projector = openProjector(db, { tables, upcaster: compileUpcaster([...epochs]) }, { isPart: true });
      for (let position = 0; position < upTo; position += chunk) {
        const events = texts(position, Math.min(position + chunk, upTo)).map(eventOf);
        projector.apply(events, emptyRoot);
        const count = events.filter(({ header }) => includes(header.stream)).length;
        folded += count;
        beat(count);
      }
    });
    return folded;
  } finally {
    log.close();
  }
}

/** Makes the file of a share, in one transaction: an unfinished file is thrown away. */
function writeShare(path: string, { tables, cacheMiB }: FileLayout, fold: (db: Sqlite) => void): void {
  removeDatabase(path);
  const db = openDatabase(path, { durability: 'off', cacheMiB });
  try {
    db.exec('BEGIN');
    createTables(db, tables);
    fold(db);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

type FileLayout = { tables: readonly Tables[]; cacheMiB: number };

/** The caller's part: the first share, and the tables that need all events. */
type FirstShare = { path: string; log: LogReader; upTo: number; made: Projection; share: Share; cacheMiB: number };

/** Folds the first share into its file. @returns the number of its events. */
export function foldFirst({ path, log, upTo, made, share, cacheMiB }: FirstShare, told: FoldListeners): number {
  const includes = isIn(share);
  const texts = log.part(includes, true);
  let folded = 0;
  writeShare(path, { tables: made.tables, cacheMiB }, (db) => {
    const projector = openProjector(db, made);
    for (let position = 0; position < upTo; ) {
      const end = Math.min(position + chunk, upTo);
      const events = texts(position, end).map(eventOf);
      projector.apply(events, log.rootAt(end));
      for (const { header } of events) told.look?.(header);
      const count = events.filter(({ header }) => includes(header.stream)).length;
      folded += count;
      position = end;
      told.beat(count);
    }
  });
  return folded;
}

type FoldListeners = { beat: Beat; look?: ((header: Header) => void) | undefined };

/** Merges the files of all shares into one. The first file has the tables that need all events. */
export function mergeShares(path: string, parts: readonly string[], { tables, cacheMiB }: FileLayout): void {
  removeDatabase(path);
  const db = openDatabase(path, { durability: 'off', cacheMiB });
  try {
    parts.forEach((part, at) => {
      db.prepare(`ATTACH ? AS part${at}`).run(part);
    });
    db.exec('BEGIN');
    createTables(db, tables);
    const all = parts.map((_, at) => `part${at}`);
    for (const { documents, texts, versions, pastTexts, linkTable, pastLinks } of tables) {
      mergeTable(db, all, { table: documents, key: 'key' });
      mergeTable(db, all, { table: texts, key: 'key' });
      mergeTable(db, all, { table: versions, key: 'valid_to' });
      mergeTable(db, all, { table: pastTexts, key: 'valid_from' });
      if (!linkTable) continue;
      mergeTable(db, all, { table: linkTable, key: 'field, target, source' });
      mergeTable(db, all, { table: pastLinks, key: 'field, target, source, valid_from' });
    }
    const counts = all.map((part) => `SELECT key, documents FROM ${part}.counts`).join(' UNION ALL ');
    db.exec(`
      DELETE FROM counts;
      INSERT INTO counts SELECT key, sum(documents) FROM (${counts}) GROUP BY key;
      DELETE FROM erasures;
    `);
    const small = [...accountTables, apiKeyTable, ...Object.values(releaseTables)];
    const whole = [...Object.values(auditTables), ...small, 'erasures', 'checkpoint'];
    for (const table of whole) db.exec(`INSERT INTO main.${table} SELECT * FROM part0.${table}`);
    createIndexes(db, tables);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/**
 * Merges a table in the order of its key, as a replay writes it: so pages are full, and the rows of each part are read
 * in their order.
 */
function mergeTable(db: Sqlite, parts: readonly string[], { table, key }: { table: string; key: string }): void {
  // The pragma leaves computed columns out.
  const names = db.prepare<[table: string], string>('SELECT name FROM pragma_table_info(?)').pluck();
  const columns = names.all(unquoted(table)).map(quote).join(', ');
  const rows = parts.map((part) => `SELECT ${columns} FROM ${part}.${table}`).join(' UNION ALL ');
  db.exec(`INSERT INTO main.${table} (${columns}) ${rows} ORDER BY ${key}`);
}
