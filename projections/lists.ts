import { DomainError } from '../config/errors.ts';
import { isTooLarge, type Sqlite, type Statement } from '../storage/sqlite.ts';
import { createCache } from './cache.ts';
import { intact } from './damage.ts';
import { inTexts } from './places.ts';
import { compileSort } from './sort.ts';
import { jsonPath, type Tables } from './tables.ts';
import { compileWhere, type SortKey, type Sql, type Where } from './where.ts';

/** The members of documents that are read; null for whole documents. */
export type Members = ReadonlySet<string> | null;

/** A request for a list. `page` is counted from 1; of the documents only the members `only` are read. */
export type ListRequest = {
  where: Where | null;
  sort: readonly SortKey[];
  limit: number;
  page: number;
  only?: Members;
};

/** A page of a list: documents as the JSON text they are stored as, and how many there are in all. */
export type Page = { texts: readonly string[]; total: number };

/** The condition that every document meets. */
export const everything: Sql = { text: '1', values: [] };

/**
 * SQLite has to guess how many documents meet a condition; we have counted them. A walk in the order of an index reaches the
 * end of a page after `end / found` of all rows, and a row through an index costs ten of a scan. So below `few · end` no
 * index gives the order: what is found is sorted. Above `many · end` only the index of the order is used.
 */
export const measured = { few: 10, many: 100 };

/** Gives the statement of a text; the caller says what its rows are. */
export type Prepare = <Row>(sql: string) => Statement<Row>;

type Reading = {
  prepare: Prepare;
  /** How many documents meet a condition. */
  total: (condition: Sql) => number;
  factors: typeof measured;
};

/** A page of the documents that meet a condition, and how many do. A limit of -1 gives all of them. */
export function pageOf(tables: Tables, request: ListRequest, { prepare, total, factors }: Reading): Page {
  const { where, sort, limit, page } = request;
  const condition = where ? compileWhere(where, { tables, alias: 'd' }) : everything;
  const order = compileSort(sort, tables, 'd');
  const skipped = (page - 1) * limit;
  const found = total(condition);
  if (found <= skipped) return { texts: [], total: found };
  const end = limit < 0 ? found : skipped + limit;
  const isFew = found < factors.few * end;
  const isMany = found > factors.many * end;
  const filter = where && isMany ? compileWhere(where, { tables, alias: 'd', onlyIndex: order.index }) : condition;
  const parts = { condition: filter, order: where && isFew ? order.unindexed : order.text, only: request.only ?? null };
  const select = prepare<string | null>(pageIn(tables, parts));
  const texts = select.all(...filter.values, ...order.values, limit, skipped);
  return { texts: texts.map((text) => intact(text, tables.texts, 'a page')), total: found };
}

/**
 * The page before its texts: nothing that is sorted or skipped is read whole. Its order is kept, as the outer loop. A
 * bare `LIMIT ?` would be planned anew for every number.
 */
function pageIn(tables: Tables, { condition, order, only }: { condition: Sql; order: string; only: Members }): string {
  const { documents, texts, isPast } = tables;
  const doc = docOf(tables, only);
  const page = (columns: string) =>
    `(SELECT ${columns} FROM ${documents} AS d WHERE ${condition.text} ORDER BY ${order} LIMIT ? + 0 OFFSET ? + 0)`;
  if (isPast) return `SELECT ${inTexts(tables, 'page', doc)} FROM ${page('d.key, d.valid_from')} AS page`;
  return `SELECT ${doc} FROM ${page('d.key')} AS page CROSS JOIN ${texts} AS t ON t.key = page.key`;
}

/**
 * The column of the text of a document, or the text that is made of some of its members, in their order. SQLite takes a third to a
 * quarter of the time that parsing the text and writing it again takes.
 */
export function docOf({ fields }: Tables, only: Members): string {
  if (only === null) return 'doc';
  const names = ['createdAt', 'updatedAt', ...fields.filter(({ type }) => type !== 'join').map(({ name }) => name)];
  const members = ['id', ...names.filter((name) => only.has(name))];
  return `json_object(${members.map((name) => `'${name}', doc -> '${jsonPath([name])}'`).join(', ')})`;
}

/** Prepares statements, each text once. Their rows are the one column that they have, or what `rows` makes of them. */
export function preparer(
  db: Sqlite,
  rows: (statement: Statement) => Statement = (statement) => statement.pluck(),
): Prepare {
  const statements = createCache<Statement>();
  return <Row>(sql: string) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = rows(prepareWhole(db, sql));
      statements.set(sql, statement);
    }
    return statement as Statement<Row>;
  };
}

/** The conditions of a query are bounded, but each hop repeats those of the access rule that it meets. */
function prepareWhole(db: Sqlite, sql: string): Statement {
  try {
    return db.prepare(sql);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    throw new DomainError('invalid', 'where asks for too much at once: use fewer conditions across relationships');
  }
}

/** The id of a stored document, without parsing it: it is always its first member. */
export function idIn(text: string): string {
  const start = '{"id":"'.length;
  return text.slice(start, text.indexOf('"', start));
}
