import { keepPreviousData, QueryCache, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../client/index.ts';
import { useAsOf } from './as-of.ts';
import { accountNow, nameOf, onAccountLeft, useAccount } from './session.ts';

/** Statuses that say that the user may no longer read the data, or that it is gone. */
const takingAway = [401, 403, 404];

/** The cache of reads. It does not retry: the client repeats the calls that may be repeated. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
  queryCache: new QueryCache({
    onError(error, query) {
      if (!(error instanceof ApiError) || !takingAway.includes(error.status)) return;
      if (error.status === 401 && query.meta?.staysBehindLogin === true) return;
      if (query.state.data !== undefined) query.setState({ data: undefined, dataUpdatedAt: 0 });
    },
  }),
});

onAccountLeft(() => queries.clear());

/** Options of a read: `asOf` is the moment that the application shows, absent for now. */
export type Reading = { signal: AbortSignal; asOf?: string };

type Options = {
  /** False: nothing is read. */
  enabled?: boolean;
  /** True: the previous answer is shown until the next one comes. */
  keep?: boolean;
  staleTime?: number;
  /** How long the answer is kept when nothing shows it. */
  gcTime?: number;
  /**
   * True for the data of a form: the form stays behind the login dialog after the session has expired, so that the
   * text being typed is not lost. Otherwise a 401 removes the data from the cache.
   */
  staysBehindLogin?: boolean;
};

/** A key of the cache. The account comes first: the next user of this browser must not see what this one has read. */
function placeOf(account: string | null, key: readonly unknown[]): readonly unknown[] {
  return [account, ...key];
}

function placeNow(key: readonly unknown[]): readonly unknown[] {
  const account = accountNow();
  return placeOf(account === null ? null : nameOf(account), key);
}

/** Reads data of now for the account that is logged in, whatever moment the application shows. */
export function useOwnRead<Answer>(
  key: readonly unknown[],
  read: (reading: Pick<Reading, 'signal'>) => Promise<Answer>,
  { enabled = true, keep = false, staysBehindLogin = false, staleTime, gcTime }: Options = {},
): UseQueryResult<Answer, ApiError> {
  return useQuery<Answer, ApiError>({
    queryKey: placeOf(nameOf(useAccount()), key),
    queryFn: ({ signal }) => read({ signal }),
    enabled,
    meta: { staysBehindLogin },
    ...(staleTime === undefined ? {} : { staleTime }),
    ...(gcTime === undefined ? {} : { gcTime }),
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  });
}

/**
 * Reads data as of the moment that the application shows. `key` is the place in the cache: the kind of the read, then
 * the slug of the collection or global, so that a write can invalidate all reads of it.
 */
export function useRead<Answer>(
  key: readonly unknown[],
  read: (reading: Reading) => Promise<Answer>,
  options: Options = {},
): UseQueryResult<Answer, ApiError> {
  const asOf = useAsOf();
  return useOwnRead([...key, { asOf }], (reading) => read(asOf === null ? reading : { ...reading, asOf }), options);
}

/** Reads again everything whose key begins with `key`. */
export async function invalidate(key: readonly unknown[]): Promise<void> {
  await queries.invalidateQueries({ queryKey: placeNow(key) });
}

/** Puts the answer of a write into the cache, unless another user has logged in meanwhile. */
export async function replaceRead(key: readonly unknown[], write: () => Promise<unknown>): Promise<void> {
  const place = placeNow(key);
  const answer = await write();
  if (place[0] === placeNow(key)[0]) queries.setQueryData(place, answer);
}

/** Repeats the reads that have failed, after the user has logged in again. */
export async function readFailedAgain(): Promise<void> {
  await queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
}

/** Reads a collection or global again, and the data made of all of them: counts, drafts, searches, trash. */
export async function forget(slug: string): Promise<void> {
  const derived = ['counts', 'titles', 'trash', 'drafts', 'search', 'changes', 'references'];
  await queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[2] === slug || derived.includes(String(queryKey[1])),
  });
}

/** Keys of reads: the kind of the read, then the slug, then the id or query. */
export const keys = {
  schemas: ['schemas'] as const,
  counts: ['counts'] as const,
  list: (slug: string, query: unknown) => ['list', slug, query] as const,
  document: (slug: string, id: string) => ['document', slug, id] as const,
  global: (slug: string) => ['global', slug] as const,
};

/** The message of an error for the user: the service's own message names what is wrong and what is allowed. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError || error instanceof Error ? error.message : String(error);
}
