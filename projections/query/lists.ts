import { inQuery, invalidFields } from '../../config/errors.ts';
import { isTooLarge, type Sqlite, type Statement } from '../../storage/sqlite.ts';
import { createCache } from '../tables/cache.ts';
import { intact } from '../tables/damage.ts';
import { interruptibleScan } from '../tables/interruption.ts';
import { jsonPath, type Tables } from '../tables/tables.ts';
import { inTexts } from '../tables/value-locations.ts';
import { type Keyset, rangesAfter } from './keyset.ts';
import { compileSort, type SortOrder, type SortTerm } from './sort.ts';
import { type Bound, compileWhere, type SortKey, type Sql, type Where } from './where.ts';

/** The members of documents that are read; null for whole documents. */
export type Members = ReadonlySet<string> | null;

/**
 * The point behind which a page begins, null before the first document; and whether the point behind each document is
 * wanted, or only behind the last.
 */
export type KeysetStart = { mark: Keyset | null; isEach: boolean };

/** A request for a list. */
export type ListRequest = {
  where: Where | null;
  sort: readonly SortKey[];
  /** -1: all documents. */
  limit: number;
  /** The number of the page, from 1. */
  page: number;
  /** The documents behind a point in the order, in place of `page`; null for a page by its number. */
  after?: KeysetStart | null;
  /** With `none` the documents are counted only as far as the plan of the query needs. */
  count?: 'exact' | 'none';
  /** The members that are read of each document. */
  only?: Members;
};

/**
 * A page of a list: the stored JSON texts of documents. `total` is the number of all documents; with `count: 'none'`
 * there may be more. `marks` are the points behind the documents of a page that begins behind a point.
 */
export type Page = { texts: readonly string[]; total: number; hasNext: boolean; marks?: readonly Keyset[] };

/** The condition that every document meets. */
export const everything: Sql = { text: '1', values: [] };

/**
 * SQLite has to guess how many documents meet a condition; we have counted them. A walk in the order of an index
 * reaches the end of a page after `end / found` of all rows, and a row through an index costs ten rows of a scan. So
 * below `few · end` found documents no index gives the order: the found documents are sorted. Above `many · end` only
 * the index of the order is used.
 */
export const measured = { few: 10, many: 100 };

/** Gives the statement of an SQL text; the caller says what its rows are. */
export type Prepare = <Row>(sql: string) => Statement<Row>;

type ListTools = {
  prepare: Prepare;
  /** How many documents meet a condition; counted no further than to `most`, if that is given. */
  total: (condition: Sql, most?: number) => number;
  factors: typeof measured;
};

/** Counts the rows that meet a condition, no further than to `most`. */
export function countIn(tables: Tables, { text, values }: Sql, { prepare, most }: { prepare: Prepare; most?: number }) {
  const rows = `FROM ${tables.documents} AS d WHERE ${interruptibleScan(tables, 'd')}${text}`;
  if (most === undefined) return prepare<number>(`SELECT count(*) ${rows}`).get(...values) ?? 0;
  return prepare<number>(`SELECT count(*) FROM (SELECT 1 ${rows} LIMIT ? + 0)`).get(...values, most) ?? 0;
}

/** A page of the documents that meet a condition, and how many do. */
export function pageOf(tables: Tables, request: ListRequest, reading: ListTools): Page {
  const { where, sort, limit, page, after = null, count = 'exact' } = request;
  const { prepare, total, factors } = reading;
  const condition = where ? compileWhere(where, { tables, alias: 'd' }) : everything;
  const order = compileSort(sort, tables, 'd');
  const skipped = after ? 0 : (page - 1) * limit;
  const end = skipped + limit;
  const found = total(condition, count === 'none' ? boundOf(end, factors) : undefined);
  if (found <= skipped) return { texts: [], total: found, hasNext: false };
  const isFew = found < factors.few * (limit < 0 ? found : end);
  const isMany = found > factors.many * (limit < 0 ? found : end);
  const filter = where && isMany ? compileWhere(where, { tables, alias: 'd', onlyIndex: order.index }) : condition;
  const isIndexed = !(where && isFew);
  const { only = null } = request;
  if (after) return pageAfter(tables, { filter, order, isIndexed, only, limit, found, from: after }, prepare);
  // One document more shows whether there is a next page.
  const most = count === 'none' && limit >= 0 ? limit + 1 : limit;
  const texts = textsOf(tables, { filter, order, isIndexed, only, limit: most, skipped }, prepare);
  const isMore = most > limit && texts.length > limit;
  return { texts: isMore ? texts.slice(0, limit) : texts, total: found, hasNext: isMore || found > end };
}

/** The number up to which documents are counted if their total is not requested: enough to choose a plan. */
export function boundOf(end: number, { few, many }: typeof measured): number {
  return Math.min(Math.max(few * end, Math.min(many * end, 10_000)) + 1, Number.MAX_SAFE_INTEGER);
}

/** How a page is found: by a condition, in an order that an index may give. */
type Plan = { filter: Sql; order: SortOrder; isIndexed: boolean; only: Members };

function textsOf(
  tables: Tables,
  { filter, order, isIndexed, only, limit, skipped }: Plan & { limit: number; skipped: number },
  prepare: Prepare,
): string[] {
  const parts = { condition: filter, order: isIndexed ? order.text : order.unindexed, only };
  const select = prepare<string | null>(pageIn(tables, parts));
  const texts = select.all(...filter.values, ...order.values, limit, skipped);
  return texts.map((text) => intact(text, tables.texts, 'a page'));
}

/** A page of the documents behind a point in the order. */
function pageAfter(
  tables: Tables,
  { from, limit, found, ...plan }: Plan & { from: KeysetStart; limit: number; found: number },
  prepare: Prepare,
): Page {
  const { filter, order, isIndexed } = plan;
  const texts: string[] = [];
  const terms = isIndexed ? order.terms : order.terms.map(withoutIndex);
  for (const range of rangesAfter(terms, from.mark)) {
    if (texts.length > limit) break;
    const condition = {
      text: `${filter.text} AND ${range.text}`,
      values: [...filter.values, ...range.values],
    };
    texts.push(
      ...textsOf(tables, { ...plan, filter: condition, limit: limit + 1 - texts.length, skipped: 0 }, prepare),
    );
  }
  const shown = texts.slice(0, limit);
  const markOf = (id: string) =>
    order.terms.map(({ value: { text, values } }) => {
      const select = prepare<Bound>(`SELECT ${text} FROM ${tables.documents} AS d WHERE d.id = ?`);
      return select.get(...values, id) ?? null;
    });
  const marks = (from.isEach ? shown : shown.slice(-1)).map((text) => markOf(idIn(text)));
  return { texts: shown, total: found, hasNext: texts.length > limit, marks };
}

export function withoutIndex({ value, isDescending }: SortTerm): SortTerm {
  return { value: { text: `+${value.text}`, values: value.values }, isDescending };
}

/**
 * Selects the page before its texts, so nothing that is sorted or skipped is read whole. The page is the outer loop,
 * which keeps its order. A bare `LIMIT ?` would be planned anew for every number.
 */
function pageIn(tables: Tables, { condition, order, only }: { condition: Sql; order: string; only: Members }): string {
  const { documents, texts, isPast, overlay } = tables;
  const doc = docOf(tables, only);
  const met = `${interruptibleScan(tables, 'd')}${condition.text}`;
  const page = (columns: string) =>
    `(SELECT ${columns} FROM ${documents} AS d WHERE ${met} ORDER BY ${order} LIMIT ? + 0 OFFSET ? + 0)`;
  const ofOverlay = overlay ? ', d.is_over' : '';
  if (isPast || overlay)
    return `SELECT ${inTexts(tables, 'page', doc)} FROM ${page(`d.key, d.valid_from${ofOverlay}`)} AS page`;
  return `SELECT ${doc} FROM ${page('d.key')} AS page CROSS JOIN ${texts} AS t ON t.key = page.key`;
}

/**
 * The column with the text of a document, or an expression that makes a text of some of its members, in their order.
 * SQLite takes a third to a quarter of the time of parsing and writing the text in JavaScript.
 */
export function docOf({ fields }: Pick<Tables, 'fields'>, only: Members): string {
  if (only === null) return 'doc';
  const names = ['createdAt', 'updatedAt', ...fields.filter(({ type }) => type !== 'join').map(({ name }) => name)];
  const members = ['id', ...names.filter((name) => only.has(name))];
  return `json_object(${members.map((name) => `'${name}', doc -> '${jsonPath([name])}'`).join(', ')})`;
}

/** Prepares each SQL text once. Rows are the values of the single column, or what `rows` makes of them. */
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

/**
 * Prepares a statement. The conditions of a query are bounded, but each relationship repeats the conditions of its
 * access rule.
 */
function prepareWhole(db: Sqlite, sql: string): Statement {
  try {
    return db.prepare(sql);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    const message = 'where asks for too much at once: use fewer conditions across relationships';
    throw invalidFields([{ ...inQuery('where', 'too_expensive'), message }]);
  }
}

/** The id of a stored document, without parsing it: it is always its first member. */
export function idIn(text: string): string {
  const start = '{"id":"'.length;
  return text.slice(start, text.indexOf('"', start));
}
