import type { ListRequest } from './lists.ts';
import type { Where } from './where.ts';

/** Longer keys are rare, and seldom asked for twice. */
const longest = 2000;

/** The key of a page among the pages of its collection; null for a page that depends on other documents too. */
export function pageKey(request: ListRequest): string | null {
  const { where, sort, limit, page, after = null, count = 'exact', only = null } = request;
  if (where !== null && !asksAlone(where)) return null;
  if (sort.some(({ steps }) => steps.some(({ kind }) => kind === 'related'))) return null;
  const key = JSON.stringify([where, sort, limit, page, after, count, only && [...only]]);
  return key.length > longest ? null : key;
}

/**
 * Whether a condition asks only the document itself: no other document, and no index of texts, which is in another
 * file.
 */
function asksAlone(where: Where): boolean {
  if ('and' in where) return where.and.every(asksAlone);
  if ('or' in where) return where.or.every(asksAlone);
  if ('today' in where || 'search' in where || where.trigrams !== undefined) return false;
  return where.steps.every(({ kind }) => kind !== 'related');
}
