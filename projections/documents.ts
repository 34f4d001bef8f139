import { DomainError } from '../config/errors.ts';
import type { JsonObject } from '../config/schema.ts';
import type { Current } from '../events/documents.ts';
import { isTooLarge, type Sqlite, type Statement } from '../storage/sqlite.ts';
import { createCache } from './cache.ts';
import { intact } from './damage.ts';
import { fold, quote, type Tables } from './tables.ts';
import { compileSort, compileWhere, type SortKey, type Sql, type Where } from './where.ts';

/** What a list is asked for. `page` is counted from 1. */
export type ListRequest = { where: Where | null; sort: readonly SortKey[]; limit: number; page: number };

/** A page of a list: documents as the JSON text they are stored as, and how many there are in all. */
export type Page = { texts: readonly string[]; total: number };

/** A version of a document: as it is sent, its number in the stream, and the position of the event that made it. */
export type DocumentVersion = { text: string; version: number; position: number };

type VersionRow = { version: number; position: number; doc: string | null };

export type Documents = ReturnType<typeof openDocuments>;

const everything: Sql = { text: '1', values: [] };

/**
 * SQLite has to guess how many documents meet a condition; we have counted them. A walk in the order of an index reaches the
 * end of a page after `end / found` of all rows, and a row through an index costs ten of a scan. So below `few · end` no
 * index gives the order: what is found is sorted. Above `many · end` only the index of the order is used.
 */
const measured = { few: 10, many: 100 };

/**
 * Reads the live documents of one collection or global.
 *
 * @param factors for tests, whose few documents would never be many.
 */
export function openDocuments(db: Sqlite, tables: Tables, { few, many } = measured) {
  const { documents, texts } = tables;
  // Not joined: SQLite plans a join anew for every value that is bound to it, which costs more than the look-up.
  const selectText = db
    .prepare(`SELECT (SELECT doc FROM ${texts} WHERE key = d.key) FROM ${documents} AS d WHERE id = ?`)
    .pluck();
  const selectStored = db
    .prepare(`SELECT version, (SELECT doc FROM ${texts} WHERE key = d.key) FROM ${documents} AS d WHERE id = ?`)
    .raw();
  const selectExists = db.prepare(`SELECT 1 FROM ${documents} WHERE id = ?`);
  const selectCurrent = db.prepare(
    `SELECT version, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc FROM ${documents} AS d WHERE id = ?`,
  );
  const selectLiveAt = db.prepare(
    `SELECT version, valid_from AS position, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc
     FROM ${documents} AS d WHERE id = ? AND valid_from <= ?`,
  );
  // The first that held past a position is the only one that can have held at it.
  const selectPastAt = db.prepare(
    `SELECT version, valid_from AS position, (SELECT doc FROM ${tables.pastTexts} WHERE valid_from = v.valid_from) AS doc
     FROM ${tables.versions} AS v WHERE id = ? AND valid_to > ? ORDER BY valid_to LIMIT 1`,
  );
  const selectNewestChange = db.prepare(`SELECT max(valid_to) FROM ${tables.versions}`).pluck();
  const selectCount = db.prepare('SELECT documents FROM counts WHERE key = ?').pluck();
  const selectChanged = db.prepare('PRAGMA data_version').pluck();
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const statements = createCache<Statement>();
  const totals = createCache<number>();
  let totalsAt: unknown = null;

  /** The document as it is sent, or null. */
  function text(id: string): string | null {
    const found = selectText.get(id) as string | null | undefined;
    return found === undefined ? null : intact(found, texts, id);
  }

  /** The document as it is sent, and the version of its stream; null when there is none. */
  function stored(id: string): { text: string; version: number } | null {
    const found = selectStored.get(id) as [version: number, text: string | null] | undefined;
    return found === undefined ? null : { text: intact(found[1], texts, id), version: found[0] };
  }

  /** The document and the version of its stream, to decide a change on; null when there is none. */
  function current(id: string): Current | null {
    const row = selectCurrent.get(id) as { version: number; doc: string | null } | undefined;
    return row ? { version: row.version, document: JSON.parse(intact(row.doc, texts, id)) as JsonObject } : null;
  }

  /** The document as it was when the log had come to a position; null when it was not there then. */
  function asOf(id: string, position: number): DocumentVersion | null {
    const row = (selectLiveAt.get(id, position) ?? selectPastAt.get(id, position)) as VersionRow | undefined;
    if (!row || row.position > position) return null;
    return { text: intact(row.doc, texts, id), version: row.version, position: row.position };
  }

  function exists(id: string): boolean {
    return selectExists.get(id) !== undefined;
  }

  /** Whether a document is there and meets a condition. */
  function matches(id: string, where: Where): boolean {
    const condition = compileWhere(where, tables, 'd');
    const select = prepare(`SELECT 1 FROM ${documents} AS d WHERE d.id = ? AND ${condition.text}`);
    return select.get(id, ...condition.values) !== undefined;
  }

  /** The id of a document that meets a condition; null when none does. */
  function find(where: Where): string | null {
    const condition = compileWhere(where, tables, 'd');
    const select = prepare(`SELECT d.id FROM ${documents} AS d WHERE ${condition.text} LIMIT 1`);
    return (select.get(...condition.values) as string | undefined) ?? null;
  }

  /** The position of the newest event that changed or deleted a document; 0 when none was. */
  function newestChange(): number {
    return (selectNewestChange.get() as number | null) ?? 0;
  }

  /** Those of the documents that are there and meet a condition, by id: one query, however many. */
  function some(ids: readonly string[], where: Where | null): Map<string, string> {
    const condition = where ? compileWhere(where, tables, 'd') : everything;
    const select = prepare(
      `SELECT t.doc FROM ${documents} AS d CROSS JOIN ${texts} AS t ON t.key = d.key
       WHERE d.id IN (SELECT value FROM json_each(?)) AND ${condition.text}`,
    );
    const found = select.all(JSON.stringify(ids), ...condition.values) as string[];
    return new Map(found.map((one) => [idIn(one), one]));
  }

  /** A page of the documents that meet a condition, and how many do. A limit of -1 gives all of them. */
  function list({ where, sort, limit, page }: ListRequest): Page {
    const condition = where ? compileWhere(where, tables, 'd') : everything;
    const order = compileSort(sort, tables, 'd');
    const skipped = (page - 1) * limit;
    begin.run();
    try {
      const found = total(condition);
      if (found <= skipped) return { texts: [], total: found };
      const end = limit < 0 ? found : skipped + limit;
      const isFew = found < few * end;
      const isMany = found > many * end;
      const filter = where && isMany ? compileWhere(where, tables, 'd', order.index) : condition;
      const select = prepare(pageIn(filter, where && isFew ? order.unindexed : order.text));
      return { texts: select.all(...filter.values, ...order.values, limit, skipped) as string[], total: found };
    } finally {
      commit.run();
    }
  }

  /**
   * The page before its texts: nothing that is sorted or skipped is read whole. Its order is kept, as the outer loop. A
   * bare `LIMIT ?` would be planned anew for every number.
   */
  function pageIn(condition: Sql, order: string): string {
    return `SELECT t.doc FROM (
        SELECT d.key FROM ${documents} AS d WHERE ${condition.text} ORDER BY ${order} LIMIT ? + 0 OFFSET ? + 0
      ) AS page CROSS JOIN ${texts} AS t ON t.key = page.key`;
  }

  /** Counted once for as long as nothing is written: SQLite tells when another connection has committed. */
  function total(condition: Sql): number {
    if (condition.text === everything.text) {
      return intact(selectCount.get(tables.key) as number | undefined, 'counts', tables.key);
    }
    const at = selectChanged.get();
    if (at !== totalsAt) totals.clear();
    totalsAt = at;
    const key = JSON.stringify(condition);
    let found = totals.get(key);
    if (found === undefined) {
      const select = prepare(`SELECT count(*) FROM ${documents} AS d WHERE ${condition.text}`);
      found = select.get(...condition.values) as number;
      totals.set(key, found);
    }
    return found;
  }

  function prepare(sql: string): Statement {
    let statement = statements.get(sql);
    if (!statement) {
      statement = prepareWhole(sql).pluck();
      statements.set(sql, statement);
    }
    return statement;
  }

  /** The conditions of a query are bounded, but each hop repeats those of the access rule that it meets. */
  function prepareWhole(sql: string): Statement {
    try {
      return db.prepare(sql);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      throw new DomainError('invalid', 'where asks for too much at once: use fewer conditions across relationships');
    }
  }

  return { text, stored, current, asOf, exists, matches, find, newestChange, some, list };
}

/** The id of a stored document, without parsing it: it is always its first member. */
function idIn(text: string): string {
  const start = '{"id":"'.length;
  return text.slice(start, text.indexOf('"', start));
}

/** Registers what the queries call in SQL: `fold`, text as it is compared without regard to case. */
export function registerFunctions(db: Sqlite): void {
  db.function('fold', { deterministic: true }, (value) => (typeof value === 'string' ? fold(value) : value));
}

/**
 * Prepares a `join`: for some documents, the ids of those of `tables` that point at each through their field `field`, in
 * the order in which they were created. One query, however many.
 */
export function openJoin(db: Sqlite, tables: Tables, field: string): (ids: readonly string[]) => Map<string, string[]> {
  const column = quote(`f.${field}`);
  const isMany = tables.links.some(({ name }) => name === field);
  const select = isMany
    ? db.prepare(
        `SELECT target, source FROM ${tables.linkTable}
         WHERE field = ? AND target IN (SELECT value FROM json_each(?)) ORDER BY source`,
      )
    : db.prepare(
        `SELECT ${column} AS target, id AS source FROM ${tables.documents}
         WHERE ${column} IN (SELECT value FROM json_each(?)) ORDER BY id`,
      );
  const bound = isMany ? [field] : [];
  return (ids) => {
    const result = new Map<string, string[]>();
    for (const { target, source } of select.all(...bound, JSON.stringify(ids)) as {
      target: string;
      source: string;
    }[]) {
      const sources = result.get(target);
      if (sources) sources.push(source);
      else result.set(target, [source]);
    }
    return result;
  };
}
