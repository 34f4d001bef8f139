import { pageLimits } from './limits.ts';
import { count } from './parameters.ts';
import { listParameters } from './query.ts';

/** The query of a list by pages whose entries are not documents, or deleted ones. */
export const pageParameters = { limit: count(pageLimits, 'Entries per page'), page: listParameters.page };

/** The page that a caller wants: its number, from 1, and the number of entries on a page. */
export type PageRequest = { limit: number; page: number };

/** The entries of a page, of entries that are all there. */
export function entriesOf<T>(all: readonly T[], { limit, page }: PageRequest): T[] {
  return all.slice((page - 1) * limit, page * limit);
}
