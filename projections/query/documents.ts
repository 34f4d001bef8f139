import type { Current } from '../../events/facts/documents.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { intact } from '../tables/damage.ts';
import { fold } from '../tables/fold.ts';
import { registerInterruption } from '../tables/interruption.ts';
import type { Tables } from '../tables/tables.ts';
import { pageFound, type SearchRequest } from './found.ts';
import { type GroupRequest, groupsOf, registerGroups } from './groups.ts';
import { type CollectionCaches, type KeptRow, keepsNothing, type ValueCache } from './kept-rows.ts';
import { lineFactsIn } from './line-facts.ts';
import {
  docOf,
  everything,
  idIn,
  type ListRequest,
  type Members,
  measured,
  type Page,
  type Prepare,
  pageOf,
  preparer,
} from './lists.ts';
import { pageKey } from './page-key.ts';
import { registerSearch } from './search.ts';
import { openTotals } from './totals.ts';
import { compileWhere, type Sql, type Where } from './where.ts';

/**
 * A version of a document: its text as it is sent, its version in the stream, and the position of the event that made
 * it.
 */
type DocumentVersion = { text: string; version: number; position: number };

/** The row of a document whose text was read. */
type StoredRow = { text: string; version: number };

function isStored(row: KeptRow | undefined): row is StoredRow {
  return row !== undefined && row.text !== null;
}

type GoneQuery = { positions: string; upTo: number };

type VersionRow = { version: number; position: number; doc: string | null };

export type Documents = ReturnType<typeof openDocuments>;

/** `factors`: for tests, whose few documents would never be many. `kept`: by default nothing is kept. */
type Options = { factors?: typeof measured; kept?: CollectionCaches };

/** Reads the live documents of one collection or global. */
export function openDocuments(db: Sqlite, tables: Tables, { factors = measured, kept = keepsNothing }: Options = {}) {
  const prepare = preparer(db);
  return {
    ...openById(db, tables, kept.rows),
    ...openByCondition(tables, prepare, kept.rows),
    ...openVersions(db, tables),
    ...openLists(db, tables, { prepare, factors, pages: kept.pages }),
    groups: (request: GroupRequest) => groupsOf(tables, request, prepare),
    /** How documents with drafts are published, by id. */
    facts: (ids: readonly string[]) => lineFactsIn(tables, ids, prepare),
  };
}

function openById(db: Sqlite, { documents, texts }: Tables, rows: ValueCache<KeptRow>) {
  // No join: SQLite plans a join anew for every value that is bound to it, which costs more than the look-up.
  const selectStored = db
    .prepare<[id: string], [version: number, text: string | null]>(
      `SELECT version, (SELECT doc FROM ${texts} WHERE key = d.key) FROM ${documents} AS d WHERE id = ?`,
    )
    .raw();
  const selectVersion = db.prepare<[id: string], number>(`SELECT version FROM ${documents} WHERE id = ?`).pluck();

  /** The document as it is sent, and the version of its stream; null if it does not exist. */
  function stored(id: string): StoredRow | null {
    const kept = rows.get(id);
    return isStored(kept) ? kept : rows.read(id, () => select(id));
  }

  function select(id: string): StoredRow | null {
    const found = selectStored.get(id);
    return found === undefined ? null : { text: intact(found[1], texts, id), version: found[0] };
  }

  function exists(id: string): boolean {
    return rows.get(id) !== undefined || rows.read(id, () => versionOf(id)) !== null;
  }

  function versionOf(id: string): KeptRow | null {
    const version = selectVersion.get(id);
    return version === undefined ? null : { text: null, version };
  }

  /** The document and the version of its stream, to decide a change on; null if it does not exist. */
  function current(id: string): Current | null {
    const found = stored(id);
    return found && { version: found.version, document: JSON.parse(found.text) };
  }

  return {
    stored,
    /** The document as it is sent; null if it does not exist. */
    text: (id: string): string | null => stored(id)?.text ?? null,
    current,
    exists,
  };
}

function openByCondition(tables: Tables, prepare: Prepare, rows: ValueCache<KeptRow>) {
  const { documents, texts } = tables;

  /** Whether a document exists and meets a condition. */
  function matches(id: string, where: Where): boolean {
    const condition = compileWhere(where, { tables, alias: 'd' });
    const select = prepare(`SELECT 1 FROM ${documents} AS d WHERE d.id = ? AND ${condition.text}`);
    return select.get(id, ...condition.values) !== undefined;
  }

  /** The id of a document that meets a condition; null if no document does. */
  function find(where: Where): string | null {
    const condition = compileWhere(where, { tables, alias: 'd' });
    const select = prepare<string>(`SELECT d.id FROM ${documents} AS d WHERE ${condition.text} LIMIT 1`);
    return select.get(...condition.values) ?? null;
  }

  /**
   * The documents with these ids that exist and meet a condition, by id, whole or some members. One query, however
   * many.
   */
  function some(ids: readonly string[], where: Where | null, only: Members = null): Map<string, string> {
    if (where !== null || only !== null) return select(ids, where, only);
    const kept = new Map<string, string>();
    for (const id of ids) {
      const row = rows.get(id);
      if (isStored(row)) kept.set(id, row.text);
    }
    if (kept.size === ids.length) return kept;
    const others = ids.filter((id) => !kept.has(id));
    for (const [id, text] of select(others, null, null)) kept.set(id, text);
    return kept;
  }

  function select(ids: readonly string[], where: Where | null, only: Members): Map<string, string> {
    const condition = where ? compileWhere(where, { tables, alias: 'd' }) : everything;
    const select = prepare<string>(
      `SELECT ${docOf(tables, only)} FROM ${documents} AS d CROSS JOIN ${texts} AS t ON t.key = d.key
       WHERE d.id IN (SELECT value FROM json_each(?)) AND ${condition.text}`,
    );
    const found = select.all(JSON.stringify(ids), ...condition.values);
    return new Map(found.map((one) => [idIn(one), one]));
  }

  return { matches, find, some };
}

function openVersions(db: Sqlite, { documents, texts, versions, pastTexts }: Tables) {
  const selectLiveAt = db.prepare<[id: string, position: number], VersionRow>(
    `SELECT version, valid_from AS position, (SELECT doc FROM ${texts} WHERE key = d.key) AS doc
     FROM ${documents} AS d WHERE id = ? AND valid_from <= ?`,
  );
  // The first version that ended after a position is the only one that can have held at it. Bare values would be
  // planned anew, in 11 µs.
  const selectPastAt = db.prepare<[id: string, position: number], VersionRow>(
    `SELECT version, valid_from AS position, (SELECT doc FROM ${pastTexts} WHERE valid_from = v.valid_from) AS doc
     FROM ${versions} AS v WHERE id = (SELECT ?) AND valid_to > (SELECT ?) ORDER BY valid_to LIMIT 1`,
  );
  const selectLastWrite = db
    .prepare<[], number | null>(
      `SELECT max(coalesce((SELECT max(key) FROM ${documents}), 0), coalesce((SELECT max(valid_to) FROM ${versions}), 0))`,
    )
    .pluck();
  const selectNewestChange = db.prepare<[], number | null>(`SELECT max(valid_to) FROM ${versions}`).pluck();

  const selectGone = db.prepare<[GoneQuery], { id: string; until: number; version: number }>(
    `SELECT id, valid_to AS until, version FROM ${versions} AS v WHERE valid_to IN (SELECT value FROM json_each(@positions))
     AND NOT EXISTS (SELECT 1 FROM ${documents} WHERE id = v.id AND valid_from <= @upTo)
     AND NOT EXISTS (SELECT 1 FROM ${versions} AS later WHERE later.id = v.id AND later.valid_to > v.valid_to
                     AND later.valid_from <= @upTo)
     ORDER BY valid_to`,
  );

  /** The document as it was at a position of the log; null if it did not exist then. */
  function asOf(id: string, position: number): DocumentVersion | null {
    const row = selectLiveAt.get(id, position) ?? selectPastAt.get(id, position);
    if (!row || row.position > position) return null;
    return { text: intact(row.doc, texts, id), version: row.version, position: row.position };
  }

  return {
    asOf,
    /**
     * The documents that ended at one of these positions and did not come back up to `upTo`, with their last versions
     * until then, in the order of their ends.
     */
    goneAt: (positions: readonly number[], upTo: number) =>
      selectGone.all({ positions: JSON.stringify(positions), upTo }),
    /** The position of the newest event that changed or deleted a document; 0 before the first. */
    newestChange: (): number => selectNewestChange.get() ?? 0,
    /**
     * The position of the newest event that made, changed or deleted a document, without erased documents; 0 before the
     * first.
     */
    lastWrite: (): number => selectLastWrite.get() ?? 0,
  };
}

/** The means by which pages of documents are read and kept. */
type ListParts = { prepare: Prepare; factors: typeof measured; pages: ValueCache<Page> };

function openLists(db: Sqlite, tables: Tables, { prepare, factors, pages }: ListParts) {
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const totals = openTotals(db, tables, prepare);

  /** Runs queries that see one state of the tables. */
  function together<T>(queries: () => T): T {
    begin.run();
    try {
      return queries();
    } finally {
      commit.run();
    }
  }

  function page(request: ListRequest): Page {
    const total = (condition: Sql, most?: number) => totals.total({ where: request.where, condition }, most);
    return together(() => pageOf(tables, request, { prepare, total, factors }));
  }

  return {
    /** How many documents there are. */
    size: totals.documents,
    /** How many documents meet a condition, in the transaction of the caller; see `openTotals`. */
    total: totals.total,
    /** A page of the documents that meet a condition, and how many do. */
    list(request: ListRequest): Page {
      const key = pageKey(request);
      if (key === null) return page(request);
      return pages.get(key) ?? (pages.read(key, () => page(request)) as Page);
    },
    /** A page of the documents that a search finds by the index of words, the newest first. */
    found: (request: SearchRequest): Page => together(() => pageFound(tables, request, prepare)),
    /** How many documents meet a condition. */
    count: (where: Where | null): number =>
      together(() =>
        totals.total({ where, condition: where ? compileWhere(where, { tables, alias: 'd' }) : everything }),
      ),
  };
}

/**
 * Registers the functions that queries call in SQL: `fold`, which gives a text as it is compared without regard to
 * case, and the functions of searches and groups.
 */
export function registerFunctions(db: Sqlite): void {
  registerSearch(db);
  registerGroups(db);
  registerInterruption(db);
  db.function('fold', { deterministic: true }, (value) => (typeof value === 'string' ? fold(value) : value));
}
