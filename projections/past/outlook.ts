import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { tableWriter } from '../tables/table-writer.ts';
import { createDocumentTables, quote, type Tables, unquoted } from '../tables/tables.ts';
import { keepWithin, type SnapshotBudget } from './snapshot-budget.ts';
import { end, erasuresIn, openStore, release, type Store } from './snapshot-store.ts';

/**
 * A document as an outlook shows it: null if it is not public in it. `publishedAt` in milliseconds since the epoch;
 * `head` is the version of the stream.
 */
export type OutlookDocument = {
  id: string;
  document: JsonObject | null;
  version: number;
  head: number;
  publishedAt: number;
};

/** The documents of a collection or global that an outlook shows in another state than the public one. */
export type OutlookPart = { tables: Tables; documents: readonly OutlookDocument[] };

/** The tables of the states that an outlook shows of a collection or global, and the ids of the documents it hides. */
type OutlookLayer = { over: Tables; hidden: readonly string[] };

/**
 * The public state of all documents with other states of some of them: those are in tables in memory, which only the
 * queries on `db` see. `release` gives it back.
 */
export type Outlook = { db: Sqlite; layers: ReadonlyMap<string, OutlookLayer>; release: () => void };

type KeptOutlook = { store: Store; layers: Map<string, OutlookLayer>; usedAt: number };

type OutlookOptions = { path: string; budget: SnapshotBudget; limits: { maxBytes: number; idleMilliseconds: number } };

/** How many outlooks a thread keeps that no request reads. */
const mostKept = 4;

/**
 * Keeps outlooks, each on its own connection, so that nothing of it is left when it is given up: after a while, and
 * after an erasure. Their memory counts as that of the copies of tables.
 *
 * @param path of the read file.
 */
export function openOutlooks({ path, budget, limits }: OutlookOptions) {
  const kept = new Map<string, KeptOutlook>();
  let idle: NodeJS.Timeout | undefined;

  function giveUp(key: string): void {
    const found = kept.get(key);
    kept.delete(key);
    if (found) end(found.store);
  }

  function giveUpIdle(): void {
    const before = performance.now() - limits.idleMilliseconds;
    for (const [key, { usedAt }] of kept) if (usedAt < before) giveUp(key);
    keepWithin(budget, limits.maxBytes);
  }

  /**
   * Holds the outlook with a key, which is made if it is not kept.
   *
   * @throws DomainError `unavailable` if there is no memory for it.
   */
  function hold(key: string, parts: () => readonly OutlookPart[]): Outlook {
    idle ??= setInterval(giveUpIdle, limits.idleMilliseconds).unref();
    const known = kept.get(key);
    if (known && erasuresIn(known.store.prepare) !== known.store.erasures) giveUp(key);
    const found = kept.get(key) ?? make({ path, budget, limits }, parts());
    found.usedAt = performance.now();
    // The last used one is the last in the order.
    kept.delete(key);
    kept.set(key, found);
    for (const other of [...kept.keys()].slice(0, -mostKept)) giveUp(other);
    const { store, layers } = found;
    store.users += 1;
    let isHeld = true;
    return {
      db: store.db,
      layers,
      release() {
        if (isHeld) release(store, new Map());
        isHeld = false;
      },
    };
  }

  return {
    hold,
    close(): void {
      clearInterval(idle);
      for (const key of [...kept.keys()]) giveUp(key);
    },
  };
}

function make({ path, budget, limits }: OutlookOptions, parts: readonly OutlookPart[]): KeptOutlook {
  const store = openStore(path);
  budget.stores.add(store);
  try {
    // Queries name no schema, so they find this in the place of the table of the file.
    store.db.exec(`
      CREATE TEMP TABLE outlook_counts (key TEXT PRIMARY KEY, documents INTEGER NOT NULL) STRICT;
      CREATE TEMP VIEW counts AS
        SELECT key, documents FROM main.counts UNION ALL SELECT key, documents FROM temp.outlook_counts;
    `);
    const fillAll = store.db.transaction(() => parts.map((part) => [part.tables.key, fill(store.db, part)] as const));
    const layers = new Map(fillAll());
    if (!keepWithin(budget, limits.maxBytes)) {
      const message = 'there is no memory for a preview of so much: try again later';
      throw new DomainError('unavailable', message, [], 5);
    }
    return { store, layers, usedAt: 0 };
  } catch (error) {
    end(store);
    throw error;
  }
}

function fill(db: Sqlite, { tables, documents }: OutlookPart): OutlookLayer {
  const over = outlookTables(tables);
  createDocumentTables(db, over, 'TEMP TABLE');
  const { shape, advance, write } = tableWriter(db, over);
  const hidden: string[] = [];
  let position = 0;
  for (const { id, document, version, head, publishedAt } of documents) {
    if (!document) {
      hidden.push(id);
      continue;
    }
    position += 1;
    const line = { head, published_at: publishedAt, is_public: 1, editors: '{}', review: null, review_version: null };
    const made = { before: null, document: shape(id, document), line };
    write(id, null, advance(id, { position, version }, made));
  }
  db.prepare('INSERT INTO outlook_counts VALUES (?, ?)').run(over.key, position);
  return { over, hidden };
}

/** The names of the tables of an outlook, which no table of the file has. */
function outlookTables(tables: Tables): Tables {
  const own = (name: string) => name && quote(`outlook ${unquoted(name)}`);
  return {
    ...tables,
    key: `${tables.key}#outlook`,
    drafts: null,
    documents: own(tables.documents),
    texts: own(tables.texts),
    versions: own(tables.versions),
    pastTexts: own(tables.pastTexts),
    linkTable: own(tables.linkTable),
    pastLinks: own(tables.pastLinks),
  };
}
