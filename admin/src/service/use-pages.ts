import { useState } from 'react';
import type { Page } from '../../../client/index.ts';
import { useRead } from './queries.ts';

const perPage = 20;

/** The query of a page, as the methods of the client take it. */
type PageQuery = { signal: AbortSignal; limit: number; page: number };

/**
 * Reads a list page by page, beginning with the first. If the last page is empty by now, because its last entry is
 * gone, the page before is read.
 *
 * @param key the place in the cache, as for `useRead`.
 */
export function usePages<Entry>(
  key: readonly unknown[],
  read: (query: PageQuery) => Promise<Page<Entry>>,
  { enabled = true }: { enabled?: boolean } = {},
) {
  const [page, setPage] = useState(1);
  const options = { enabled, keep: true };
  const found = useRead([...key, { page }], ({ signal }) => read({ signal, limit: perPage, page }), options);
  const { data } = found;
  if (data !== undefined && !found.isPlaceholderData && data.docs.length === 0 && page > 1)
    setPage(Math.max(1, Math.min(page - 1, data.totalPages)));
  return { ...found, page, setPage };
}
