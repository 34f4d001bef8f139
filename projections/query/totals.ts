import { hash } from 'node:crypto';
import type { Sqlite } from '../../storage/sqlite.ts';
import { createCache } from '../tables/cache.ts';
import { intact } from '../tables/damage.ts';
import { replacedSince } from '../tables/past-tables.ts';
import { isInTextIndex, type Tables } from '../tables/tables.ts';
import { countFound, indexedSearchIn } from './found.ts';
import { countIn, everything, type Prepare } from './lists.ts';
import { compile, type Sql, spotIn, type Where } from './where.ts';

/** A condition whose documents are counted, null for all documents; and the condition compiled for the rows `d`. */
type CountedCondition = { where: Where | null; condition: Sql };

/** The state of the read tables: their position, and the number of their erasures. */
type TableState = { position: number; erasures: number };

/** How many documents met a condition at a position. */
type KeptTotal = { position: number; found: number };

/** The characters of the keys of all totals that a thread keeps for a collection: some thousand totals. */
const mostCharacters = 256 * 1024;
/** Longer keys are replaced by their hash. */
const longestKey = 500;

/**
 * A total is counted anew after more events than this share of the documents, or, in a small collection, more than
 * `events`. Looking at a changed document takes as long as counting some twenty documents.
 */
const tooMany = { share: 1 / 20, events: 100 };

/**
 * Counts the documents of a collection that meet conditions. Totals are kept with their position, and brought forward
 * by the documents that have changed since: changed documents that met the condition before are subtracted, those that
 * meet it now are added. If the condition asks more than the document itself, and after an erasure, which removes past
 * versions, totals are counted anew.
 *
 * A total is kept for the compiled condition with its values, which includes the access rule: callers who share a total
 * may see the same documents.
 */
export function openTotals(db: Sqlite, tables: Tables, prepare: Prepare) {
  const selectState = db.prepare<[], TableState>(
    'SELECT position, (SELECT count FROM erasures) AS erasures FROM checkpoint',
  );
  const selectCount = db.prepare<[key: string], number>('SELECT documents FROM counts WHERE key = ?').pluck();
  const totals = createCache<KeptTotal>(mostCharacters);
  let erasures = 0;

  /**
   * The number of documents that meet a condition, in the state that the caller's transaction sees.
   *
   * @param most the number up to which documents are counted: then there are at least as many.
   */
  function total(counted: CountedCondition, most = Number.POSITIVE_INFINITY): number {
    const { where, condition } = counted;
    if (where === null || condition.text === everything.text) return documents();
    const served = isInTextIndex(tables) ? indexedSearchIn(where) : null;
    // Not kept: the index may be behind the position of the tables.
    if (served) return countFound(tables, served, prepare);
    const position = positionNow();
    const key = keyOf(condition);
    const kept = totals.get(key);
    if (kept) {
      const found = broughtForward(kept, where, position);
      if (found !== null) {
        kept.position = position;
        kept.found = found;
        return found;
      }
    }
    const bounded = most === Number.POSITIVE_INFINITY ? null : `${most} ${key}`;
    const atLeast = bounded === null ? undefined : totals.get(bounded);
    if (atLeast?.position === position) return atLeast.found;
    const found = countIn(tables, condition, { prepare, ...(bounded === null ? {} : { most }) });
    totals.set(bounded !== null && found >= most ? bounded : key, { position, found });
    return found;
  }

  /** The number of all documents. */
  function documents(): number {
    return intact(selectCount.get(tables.key), 'counts', tables.key);
  }

  function positionNow(): number {
    const state = selectState.get();
    if (state && state.erasures !== erasures) {
      totals.clear();
      erasures = state.erasures;
    }
    return state?.position ?? 0;
  }

  /** A total at a later position; null if it must be counted anew. */
  function broughtForward({ position, found }: KeptTotal, where: Where, now: number): number | null {
    if (position === now) return found;
    const events = now - position;
    if (events < 0 || !asksAlone(where)) return null;
    if (events > tooMany.events && events > documents() * tooMany.share) return null;
    const { text, values } = changeSince(tables, where);
    return found + (prepare<number>(text).get(...values, { since: position }) ?? 0);
  }

  return { total, documents };
}

/** The change in the number of documents that meet a condition since the position bound as `since`. */
function changeSince(tables: Tables, where: Where): Sql {
  const { documents, versions } = tables;
  const before = replacedSince(tables);
  const nowMet = forFew(where, tables);
  const wasMet = forFew(where, before);
  const since = '(SELECT @since)';
  const changed = `SELECT key FROM ${documents} WHERE key > ${since} UNION ALL
    SELECT c.key FROM ${versions} AS v CROSS JOIN ${documents} AS c ON c.id = v.id WHERE v.valid_to > ${since}`;
  return {
    text: `SELECT (SELECT count(*) FROM ${documents} AS d WHERE d.key IN (${changed}) AND ${nowMet.text})
      - (SELECT count(*) FROM ${before.documents} AS d WHERE ${wasMet.text})`,
    values: [...nowMet.values, ...wasMet.values],
  };
}

/**
 * Compiles a condition for rows that are found by their keys: no other index serves it, and links are looked up in each
 * document.
 */
export function forFew(where: Where, tables: Tables): Sql {
  return compile(where, spotIn({ tables, alias: 'd', onlyIndex: '' }, { lastAlias: 0, isForOne: true }));
}

/**
 * Whether a condition asks only the document itself: no other document, and no index of words, which is in another
 * file.
 */
function asksAlone(where: Where): boolean {
  if ('and' in where) return where.and.every(asksAlone);
  if ('or' in where) return where.or.every(asksAlone);
  if ('today' in where || 'search' in where) return false;
  return where.steps.every(({ kind }) => kind !== 'related');
}

function keyOf({ text, values }: Sql): string {
  const key = JSON.stringify([text, values]);
  return key.length > longestKey ? hash('sha256', key, 'base64') : key;
}
