import { keepPreviousData, QueryCache, QueryClient, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../client/index.ts';
import { useAsOf } from './as-of.ts';
import { accountNow, nameOf, onAccountLeft, useAccount } from './session.ts';

/** Answers that say: what was read before is not for this user any more, or is not there. */
const takingAway = [401, 403, 404];

/** The cache of what was read. The client itself sends again what may be sent again. */
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

/** Options of a read: `asOf` is that of the application, absent for now. */
export type Reading = { signal: AbortSignal; asOf?: string };

type Options = {
  /** False: nothing is read. */
  enabled?: boolean;
  /** The answer to the read before stands until the next one comes. */
  keep?: boolean;
  staleTime?: number;
  /** How long the answer is kept when nothing shows it. */
  gcTime?: number;
  /**
   * True for what carries a form: it stands while the login has run out, behind the one that is asked for, so that the
   * text that is being typed stays. Else a 401 takes away what was read before.
   */
  staysBehindLogin?: boolean;
};

/** A place in the cache: the account first, for what one user has read is not for the next one of this browser. */
function placeOf(account: string | null, key: readonly unknown[]): readonly unknown[] {
  return [account, ...key];
}

function placeNow(key: readonly unknown[]): readonly unknown[] {
  const account = accountNow();
  return placeOf(account === null ? null : nameOf(account), key);
}

/** Reads something for the account that is logged in, the same whatever moment the application shows. */
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
 * Reads something as of the moment that the application shows. The key is the place in the cache: the collection or
 * global first, so that a write can forget all that was read of it.
 */
export function useRead<Answer>(
  key: readonly unknown[],
  read: (reading: Reading) => Promise<Answer>,
  options: Options = {},
): UseQueryResult<Answer, ApiError> {
  const asOf = useAsOf();
  return useOwnRead([...key, { asOf }], (reading) => read(asOf === null ? reading : { ...reading, asOf }), options);
}

/** Has everything with a key that begins so read again. */
export async function invalidate(key: readonly unknown[]): Promise<void> {
  await queries.invalidateQueries({ queryKey: placeNow(key) });
}

/** Puts the answer of a write where what it changed was read; not for another user who has logged in since. */
export async function replaceRead(key: readonly unknown[], write: () => Promise<unknown>): Promise<void> {
  const place = placeNow(key);
  const answer = await write();
  if (place[0] === placeNow(key)[0]) queries.setQueryData(place, answer);
}

/** Reads again what has failed: the user has logged in again. */
export async function readFailedAgain(): Promise<void> {
  await queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
}

/** Forgets what was read of a collection or global, and what is made of all: counts, drafts, searches, trash. */
export async function forget(slug: string): Promise<void> {
  const derived = ['counts', 'titles', 'trash', 'drafts', 'search', 'changes', 'references'];
  await queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[2] === slug || derived.includes(String(queryKey[1])),
  });
}

/** Keys of reads: the kind of the read, then the slug, then what it was asked for. */
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
