import type { JsonObject } from '../config/schema.ts';
import type { Current } from '../events/documents.ts';
import type { Sqlite, Statement } from '../storage/sqlite.ts';
import { quote, type Tables } from './tables.ts';

/** One key of a sort: a field of the top level, or `id`, `createdAt`, `updatedAt`. */
export type SortKey = { field: string; isDescending: boolean };

/** A page of a list: documents as the JSON text they are stored as, and how many there are in all. */
export type Page = { texts: string[]; total: number };

export type Documents = ReturnType<typeof openDocuments>;

/** Reads the live documents of one collection or global. */
export function openDocuments(db: Sqlite, tables: Tables) {
  const { documents } = tables;
  const selectText = db.prepare(`SELECT doc FROM ${documents} WHERE id = ?`).pluck();
  const selectExists = db.prepare(`SELECT 1 FROM ${documents} WHERE id = ?`);
  const selectCurrent = db.prepare(`SELECT version, doc FROM ${documents} WHERE id = ?`);
  const selectTotal = db.prepare(`SELECT count(*) FROM ${documents}`).pluck();
  const selectChanged = db.prepare('PRAGMA data_version').pluck();
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const lists = new Map<string, Statement>();
  let counted: { at: unknown; total: number } | null = null;

  /** The document as it is sent, or null. */
  function text(id: string): string | null {
    return (selectText.get(id) as string | undefined) ?? null;
  }

  /** The document and the version of its stream, to decide a change on; null when there is none. */
  function current(id: string): Current | null {
    const row = selectCurrent.get(id) as { version: number; doc: string } | undefined;
    return row ? { version: row.version, document: JSON.parse(row.doc) as JsonObject } : null;
  }

  function exists(id: string): boolean {
    return selectExists.get(id) !== undefined;
  }

  /** Every document, for a caller whose rule has to see each of them. */
  function all(sort: readonly SortKey[]): string[] {
    return listStatement(sort).all(-1, 0) as string[];
  }

  /** @param page counted from 1. */
  function list(sort: readonly SortKey[], limit: number, page: number): Page {
    begin.run();
    try {
      const texts = listStatement(sort).all(limit, (page - 1) * limit) as string[];
      return { texts, total: total() };
    } finally {
      commit.run();
    }
  }

  /** Counted once for as long as nothing is written: SQLite tells when another connection has committed. */
  function total(): number {
    const at = selectChanged.get();
    if (counted === null || counted.at !== at) counted = { at, total: selectTotal.get() as number };
    return counted.total;
  }

  function listStatement(sort: readonly SortKey[]) {
    const order = orderBy(tables, sort);
    let statement = lists.get(order);
    if (!statement) {
      if (lists.size > 200) lists.clear();
      statement = db.prepare(`SELECT doc FROM ${documents} ORDER BY ${order} LIMIT ? OFFSET ?`).pluck();
      lists.set(order, statement);
    }
    return statement;
  }

  return { text, current, exists, all, list };
}

/** The fields a list can be sorted by. */
export function sortableFields({ columns }: Tables): string[] {
  return ['id', 'createdAt', 'updatedAt', ...columns.filter(isTopLevel).map(({ path }) => path[0] as string)];
}

function isTopLevel({ path }: Tables['columns'][number]): boolean {
  return path.length === 1;
}

/** Nulls last, text without regard to case, ties by `id` in the direction of the first key. */
function orderBy({ columns }: Tables, sort: readonly SortKey[]): string {
  const terms = sort.map(({ field, isDescending }) => {
    const direction = isDescending ? 'DESC' : 'ASC';
    // An id begins with the millisecond of its `createdAt`, and ids only go up: one order, one index.
    if (field === 'id' || field === 'createdAt') return `id ${direction}`;
    if (field === 'updatedAt') return `updated_at ${direction}`;
    const column = columns.find(({ path }) => path.length === 1 && path[0] === field);
    const name = column?.name ?? quote(`f.${field}`);
    return `${column?.affinity === 'TEXT' ? `fold(${name})` : name} ${direction} NULLS LAST`;
  });
  const first = sort[0];
  if (!sort.some(({ field }) => field === 'id' || field === 'createdAt'))
    terms.push(`id ${first?.isDescending === false ? 'ASC' : 'DESC'}`);
  return terms.join(', ');
}

/** Registers what the queries call in SQL: `fold`, text as it is compared without regard to case. */
export function registerFunctions(db: Sqlite): void {
  db.function('fold', { deterministic: true }, (value) => (typeof value === 'string' ? value.toLowerCase() : value));
}

/**
 * Prepares a `join`: the ids of the documents of `tables` that point at a document through their field `field`, in the
 * order in which they were created.
 */
export function openJoin(db: Sqlite, tables: Tables, field: string): (id: string) => string[] {
  if (tables.links.some(({ name }) => name === field)) {
    const select = db.prepare(`SELECT source FROM ${tables.linkTable} WHERE field = ? AND target = ? ORDER BY source`);
    return (id) => select.pluck().all(field, id) as string[];
  }
  const select = db.prepare(`SELECT id FROM ${tables.documents} WHERE ${quote(`f.${field}`)} = ? ORDER BY id`);
  return (id) => select.pluck().all(id) as string[];
}
