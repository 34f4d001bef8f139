import type { JsonObject } from '../../../config/schema.ts';
import type { Keyset } from '../../../projections/query/keyset.ts';
import type { KeysetStart, ListRequest, Page } from '../../../projections/query/lists.ts';
import type { Where } from '../../../projections/query/where.ts';
import type { ListScope } from '../../access/list-scope.ts';
import type { Call } from '../../app.ts';
import { asOfFor } from '../../http/requests.ts';
import type { CountQuery, ListQuery } from '../../queries/query.ts';
import type { CallerQuery } from '../../reads/missing-index.ts';
import { newestFirst, rankedPage } from '../../reads/ranking.ts';
import { passed, passing, searchedBy, withSearch } from '../search/searching.ts';
import { advise, paceOf, readMany } from './reading.ts';

type PageQuery = Omit<ListQuery, 'view'> & Pick<ListRequest, 'only'>;

/** How many documents are read at a time if a rule is asked about each. */
const atOnce = 100;

/** A page of the documents that the caller may see, today or at the position that the request looks back to. */
export async function pageOf(call: Call, query: PageQuery, { where, row }: ListScope): Promise<Page> {
  const { sort, limit, page, count, search, only = null } = query;
  const condition = both(where, query.where && (await servedBy(call, query.where)));
  const after = query.after && { mark: query.after.mark, isEach: row !== null };
  const asked: Plain = { where: condition, sort, limit, page, count, after, only };
  const written: CallerQuery = { where: query.where, sort, hasWords: search !== null };
  if (!search) return row ? passingPage(call, asked, { row, written }) : list(call, asked, written);
  const { terms, isRanked } = search;
  const fields = await searchedBy(call);
  const found = { ...asked, where: await withSearch(call, asked.where, { terms, fields }) };
  if (!isRanked) return row ? passingPage(call, found, { row, written }) : list(call, found, written);
  const ranked: ListRequest = { ...found, after: null };
  if (!row) return readMany(call, { kind: 'ranked', request: { ...ranked, words: { terms, fields } } }, written);
  const every = passing((one) => list(call, one, written), { row, call });
  return rankedPage(ranked, { terms, fields, newest: (one) => every({ ...ranked, ...one, sort: newestFirst }) });
}

type Plain = Required<ListRequest>;

/** A condition of the caller, with the index of texts if that serves it. */
async function servedBy({ app, request, target }: Call, where: Where): Promise<Where | null> {
  return asOfFor(request) ? where : app.search.served(where, target.tables);
}

/** A page of the documents that pass a rule. */
async function passingPage(call: Call, asked: Plain, by: By): Promise<Page> {
  const { after } = asked;
  advise(call, { kind: 'list', request: asked });
  const counted = asked.count === 'exact' ? await allPassing(call, asked, by) : null;
  const start = after ? 0 : (asked.page - 1) * asked.limit;
  if (counted && !after) {
    const texts = counted.slice(start, start + asked.limit);
    return { texts, total: counted.length, hasNext: counted.length > start + asked.limit };
  }
  const page = await walk(call, { ...asked, after: after ?? { mark: null, isEach: true } }, { ...by, start });
  return counted ? { ...page, total: counted.length } : page;
}

/** The number of documents that the caller may see, that meet a condition and contain the words. */
export async function countOf(
  call: Call,
  { where: asked, terms }: CountQuery,
  { where, row }: ListScope,
): Promise<number> {
  const allowed = both(where, asked && (await servedBy(call, asked)));
  const condition = terms ? await withSearch(call, allowed, { terms, fields: await searchedBy(call) }) : allowed;
  const written: CallerQuery = { where: asked, hasWords: terms !== null };
  if (row) return (await allPassing(call, { where: condition, sort: [] }, { row, written })).length;
  return readMany(call, { kind: 'count', request: { where: condition } }, written);
}

function both(one: Where | null, other: Where | null): Where | null {
  return one && other ? { and: [one, other] } : (one ?? other);
}

/** A page of the documents that meet a condition, today or at the position that the request looks back to. */
export function list(call: Call, request: ListRequest, written?: CallerQuery): Promise<Page> {
  return readMany(call, { kind: 'list', request }, written);
}

/** Decides about one document. */
export type RowFilter = (document: JsonObject) => Promise<boolean>;

/** The rule to ask about each document of a list, and the query as the caller has written it. */
type By = { row: RowFilter; written?: CallerQuery };

/** The documents that meet a condition and pass. */
export async function allPassing(
  call: Call,
  { where, sort }: Pick<ListRequest, 'where' | 'sort'>,
  { row, written }: By,
): Promise<string[]> {
  const { texts } = await list(call, { where, sort, limit: -1, page: 1 }, written);
  return passed(texts, { row, call });
}

/**
 * A page of the documents that pass a rule; it reads no more of them than it needs. @param start how many documents the
 * page comes after.
 */
async function walk(
  call: Call,
  asked: ListRequest & { after: KeysetStart },
  { row, written, start }: By & { start: number },
): Promise<Page> {
  const shown: { text: string; mark: Keyset }[] = [];
  let left = start;
  let { mark } = asked.after;
  const pace = paceOf(call);
  for (;;) {
    const {
      texts,
      marks = [],
      hasNext,
    } = await list(call, { ...asked, limit: atOnce, after: { mark, isEach: true }, count: 'none' }, written);
    for (const [index, text] of texts.entries()) {
      await pace();
      mark = marks[index] as Keyset;
      if (!(await row(JSON.parse(text)))) continue;
      if (left > 0) left -= 1;
      else if (shown.length === asked.limit) return pageWith(shown, { hasNext: true, passedOver: start });
      else shown.push({ text, mark });
    }
    if (!hasNext) return pageWith(shown, { hasNext: false, passedOver: start - left });
  }
}

function pageWith(
  shown: readonly { text: string; mark: Keyset }[],
  { hasNext, passedOver }: { hasNext: boolean; passedOver: number },
): Page {
  return {
    texts: shown.map(({ text }) => text),
    total: passedOver + shown.length + (hasNext ? 1 : 0),
    hasNext,
    marks: shown.map(({ mark }) => mark),
  };
}
