import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ApiError } from '../../../client/index.ts';
import { client } from './client.ts';
import { queries } from './queries.ts';

/** The preferences of the user that the application knows. Other members belong to others. */
export type Preferences = {
  /** Saved views of lists, by collection. */
  views?: Record<string, { default?: string; named?: Record<string, string> }>;
  /** False: no shortcut of the keyboard does anything. */
  shortcuts?: boolean;
  [name: string]: unknown;
};

const key = ['preferences'];

/** The preferences of the user; they are those of today, whatever moment is shown. */
export function usePreferences(): UseQueryResult<Preferences, ApiError> {
  return useQuery<Preferences, ApiError>({
    queryKey: key,
    queryFn: async ({ signal }) => (await client.preferences.get({ signal })) as Preferences,
    staleTime: 60_000,
  });
}

/**
 * Changes preferences by a merge patch: null takes a member away.
 *
 * @throws ApiError of the service: 413 where there are too many.
 */
export async function changePreferences(patch: Record<string, unknown>): Promise<void> {
  const changed = await client.preferences.update(patch);
  queries.setQueryData(key, changed);
}
