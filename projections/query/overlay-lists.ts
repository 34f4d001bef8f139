import type { createCache } from '../tables/cache.ts';
import { intact } from '../tables/damage.ts';
import { interruptibleScan } from '../tables/interruption.ts';
import type { Tables } from '../tables/tables.ts';
import type { Documents } from './documents.ts';
import { type Keyset, rangesAfter } from './keyset.ts';
import {
  boundOf,
  docOf,
  everything,
  idIn,
  type ListRequest,
  type measured,
  type Page,
  type Prepare,
  withoutIndex,
} from './lists.ts';
import { isNotReplaced, type OverlayTables, overMet } from './overlay.ts';
import { compileSort, type SortOrder, type SortTerm } from './sort.ts';
import { forFew } from './totals.ts';
import { type Bound, compileWhere, type Sql, type Where } from './where.ts';

/** How many rows of `under` are replaced that meet a condition, at a position. */
type KeptNumber = { position: number; found: number };

/** An overlay, and the means to read lists of it. */
export type OverlayParts = {
  tables: OverlayTables;
  prepare: Prepare;
  documents: { under: Documents; over: Documents };
  replaced: ReturnType<typeof createCache<KeptNumber>>;
  factors: typeof measured;
};

/**
 * How many documents of an overlay meet a condition: those of `under` without the replaced ones, and those of `over`.
 * Both totals are kept and brought forward, and the few rows between them are looked up.
 *
 * @param most the number up to which they are counted: then there are at least as many.
 */
export function overlayTotal(parts: OverlayParts, where: Where | null, most?: number): number {
  return countsOf(parts, where, most).total;
}

type Counts = { under: number; over: number; total: number };

function countsOf(parts: OverlayParts, where: Where | null, most?: number): Counts {
  const { under, over, shown } = parts.tables.overlay;
  const ofOver = totalIn(over, parts.documents.over, both(shown.over, where), most);
  // Some of the counted rows may be replaced.
  const enough = most === undefined ? undefined : most + parts.documents.over.size();
  const ofUnder = totalIn(under, parts.documents.under, both(shown.under, where), enough);
  const total = ofUnder + ofOver - replacedIn(parts, where);
  return { under: ofUnder, over: ofOver, total };
}

function totalIn(tables: Tables, documents: Documents, where: Where | null, most?: number): number {
  const condition = where ? compileWhere(where, { tables, alias: 'd' }) : everything;
  return documents.total({ where, condition }, most);
}

/** How many rows of `under` meet a condition, and are replaced. */
function replacedIn({ tables, prepare, replaced }: OverlayParts, where: Where | null): number {
  const { under, over, shown } = tables.overlay;
  const condition = both(shown.under, where);
  const met = condition ? forFew(condition, under) : everything;
  const text = `SELECT count(*) FROM ${over.documents} AS o CROSS JOIN ${under.documents} AS d ON d.id = o.id
    WHERE ${overMet({ over, shown }, 'o')} AND ${interruptibleScan(under, 'd')}${met.text}`;
  const position = prepare<number>('SELECT position FROM checkpoint').get() ?? 0;
  const key = JSON.stringify([text, met.values]);
  const kept = replaced.get(key);
  if (kept?.position === position) return kept.found;
  const found = prepare<number>(text).get(...met.values) ?? 0;
  // The index of texts may be behind the position of the tables.
  if (!met.text.includes('MATCH')) replaced.set(key, { position, found });
  return found;
}

/** Both conditions; the one of the caller first, because an index of words serves a search that is the first. */
function both(shown: Where | null, asked: Where | null): Where | null {
  if (!shown || !asked) return shown ?? asked;
  return { and: 'and' in asked ? [...asked.and, shown] : [asked, shown] };
}

/**
 * A page of the documents of an overlay. Each table is read in its own plan, ordered, and cut at the end of the page;
 * then the two are merged. A query over both together would read and sort them from end to end.
 */
export function overlayPage(parts: OverlayParts, request: ListRequest): Page {
  const { where, sort, limit, page, after = null, count = 'exact', only = null } = request;
  const { tables, factors, prepare } = parts;
  const skipped = after ? 0 : (page - 1) * limit;
  const end = skipped + limit;
  const counts = countsOf(parts, where, count === 'none' ? boundOf(end, factors) : undefined);
  const { total } = counts;
  if (total <= skipped) return { texts: [], total, hasNext: false };
  const arms = armsOf(parts, request, { counts, end });
  const most = limit < 0 ? limit : limit + 1;
  const texts: string[] = [];
  const ranges = after ? rangesOf(arms, after.mark) : [null];
  for (const [index] of ranges.entries()) {
    if (texts.length > limit && limit >= 0) break;
    const left = most < 0 ? most : most - texts.length;
    const ranged = arms.map((arm) => ({ ...arm, range: ranges[index]?.[arm.number] ?? null }));
    const { text, values } = mergedIn(ranged, docOf(tables, only), { limit: left, skipped });
    const found = prepare<string | null>(text).all(...values);
    texts.push(...found.map((text) => intact(text, tables.texts, 'a page')));
  }
  const shown = limit < 0 ? texts : texts.slice(0, limit);
  const hasNext = limit >= 0 && texts.length > limit;
  if (!after) return { texts: shown, total, hasNext };
  const marks = (after.isEach ? shown : shown.slice(-1)).map((text) => markOf(parts, sort, idIn(text)));
  return { texts: shown, total, hasNext, marks };
}

/** How the rows of one table are found: the table, its place in the merge, its condition and its order. */
type Arm = { number: 0 | 1; tables: Tables; filter: Sql; order: SortOrder; isIndexed: boolean };

function armsOf(
  { tables, factors }: OverlayParts,
  { where, sort, limit }: ListRequest,
  { counts, end }: { counts: Counts; end: number },
): Arm[] {
  const { under, over, shown } = tables.overlay;
  const notReplaced = isNotReplaced({ over, shown }, 'd.id');

  function armOf(number: 0 | 1, own: Tables, condition: Where | null): Arm {
    const found = number === 0 ? counts.under : counts.over;
    const order = compileSort(sort, own, 'd');
    const isFew = found < factors.few * (limit < 0 ? found : end);
    const isMany = found > factors.many * (limit < 0 ? found : end);
    const onlyIndex = isMany ? { onlyIndex: order.index } : {};
    const met = condition ? compileWhere(condition, { tables: own, alias: 'd', ...onlyIndex }) : everything;
    const filter = number === 0 ? { text: `${met.text} AND ${notReplaced}`, values: met.values } : met;
    return { number, tables: own, filter, order, isIndexed: !(condition && isFew) };
  }

  return [armOf(0, under, both(shown.under, where)), armOf(1, over, both(shown.over, where))];
}

/** For each range behind a mark, its condition in each arm. */
function rangesOf(arms: readonly Arm[], mark: Keyset | null): Sql[][] {
  const ofArms = arms.map(({ order, isIndexed }) => {
    return rangesAfter(isIndexed ? order.terms : order.terms.map(withoutIndex), mark);
  });
  const [first = []] = ofArms;
  return first.map((_, index) => ofArms.map((ranges) => ranges[index] ?? everything));
}

type RangedArm = Arm & { range: Sql | null };

/** The query that merges the first rows of both arms. @param doc the expression for the text of a document. */
function mergedIn(
  arms: readonly RangedArm[],
  doc: string,
  { limit, skipped }: { limit: number; skipped: number },
): Sql {
  const upTo = limit < 0 ? limit : skipped + limit;
  const parts = arms.map((arm) => firstOf(arm, upTo));
  const order = orderOf(arms[0]?.order.terms ?? [], '');
  const docs = arms.map(
    ({ number, tables }) => `WHEN ${number} THEN (SELECT ${doc} FROM ${tables.texts} WHERE key = page.key)`,
  );
  return {
    text: `SELECT CASE page.is_over ${docs.join(' ')} END FROM
      (SELECT is_over, key FROM (${parts.map(({ text }) => text).join(' UNION ALL ')})
       ORDER BY ${order} LIMIT ? + 0 OFFSET ? + 0) AS page`,
    values: [...parts.flatMap(({ values }) => values), limit, skipped],
  };
}

/** The first rows of an arm, with the values that order them. */
function firstOf({ number, tables, filter, order: { terms }, isIndexed, range }: RangedArm, upTo: number): Sql {
  const columns = terms.map(({ value }, index) => `${value.text} AS t${index}`);
  const met = `${interruptibleScan(tables, 'd')}${filter.text}${range ? ` AND ${range.text}` : ''}`;
  return {
    text: `SELECT * FROM (SELECT ${number} AS is_over, d.key, ${columns.join(', ')} FROM ${tables.documents} AS d
      WHERE ${met} ORDER BY ${orderOf(terms, isIndexed ? '' : '+')} LIMIT ? + 0)`,
    values: [...terms.flatMap(({ value }) => value.values), ...filter.values, ...(range?.values ?? []), upTo],
  };
}

/** The order by the columns `t0`, `t1` and so on; with a plus sign no index serves it. */
function orderOf(terms: readonly SortTerm[], sign: string): string {
  return terms
    .map(({ isDescending }, index) => {
      const nulls = index === terms.length - 1 ? '' : ' NULLS LAST';
      return `${sign}t${index} ${isDescending ? 'DESC' : 'ASC'}${nulls}`;
    })
    .join(', ');
}

/** The values of a document in an order. */
function markOf({ tables, prepare }: OverlayParts, sort: ListRequest['sort'], id: string): Bound[] {
  return compileSort(sort, tables, 'd').terms.map(({ value: { text, values } }) => {
    const select = prepare<Bound>(`SELECT ${text} FROM ${tables.documents} AS d WHERE d.id = ?`);
    return select.get(...values, id) ?? null;
  });
}
