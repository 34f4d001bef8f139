import { keepPreviousData, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../client/index.ts';
import { useAsOf } from './as-of.ts';

/** The cache of what was read. The client itself sends again what may be sent again. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});

/** Options of a read: `asOf` is that of the application, absent for now. */
export type Reading = { signal: AbortSignal; asOf?: string };

type Options = {
  /** False: nothing is read. */
  enabled?: boolean;
  /** The answer to the read before stands until the next one comes. */
  keep?: boolean;
  staleTime?: number;
};

/**
 * Reads something as of the moment that the application shows. The key is the place in the cache: the collection or global
 * first, so that a write can forget all that was read of it.
 */
export function useRead<Answer>(
  key: readonly unknown[],
  read: (reading: Reading) => Promise<Answer>,
  { enabled = true, keep = false, staleTime }: Options = {},
): UseQueryResult<Answer, ApiError> {
  const asOf = useAsOf();
  return useQuery<Answer, ApiError>({
    queryKey: [...key, { asOf }],
    queryFn: ({ signal }) => read(asOf === null ? { signal } : { signal, asOf }),
    enabled,
    ...(staleTime === undefined ? {} : { staleTime }),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  });
}

/** Forgets what was read of a collection or global, and what is made of all: counts, drafts, searches, trash. */
export async function forget(slug: string): Promise<void> {
  const derived = ['counts', 'titles', 'trash', 'drafts', 'search', 'changes', 'references'];
  await queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[1] === slug || derived.includes(String(queryKey[0])),
  });
}

/** Keys of the cache: the kind of the read, then the slug, then what it was asked for. */
export const keys = {
  schemas: ['schemas'] as const,
  counts: ['counts'] as const,
  list: (slug: string, query: unknown) => ['list', slug, query] as const,
  document: (slug: string, id: string) => ['document', slug, id] as const,
  global: (slug: string) => ['global', slug] as const,
};

/** The words of an error for people: the service's own, which name what is wrong and what is allowed. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError || error instanceof Error ? error.message : String(error);
}
