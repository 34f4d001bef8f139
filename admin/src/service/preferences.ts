import { client } from './client.ts';
import { replaceRead, useOwnRead } from './queries.ts';

/** The preferences of the user that the application knows. Other members belong to others. */
export type Preferences = {
  /** Saved views of lists, by collection. */
  views?: Record<string, { default?: string; named?: Record<string, string> }>;
  /** False: no shortcut of the keyboard does anything. */
  shortcuts?: boolean;
  /** True: the cards for people who are here for the first time are put away. */
  hidesFirstSteps?: boolean;
  [name: string]: unknown;
};

const key = ['preferences'];

/** The preferences of the user; they are those of today, whatever moment is shown. */
export function usePreferences() {
  return useOwnRead(key, async (reading) => (await client.preferences.get(reading)) as Preferences, {
    staleTime: 60_000,
  });
}

/**
 * Changes preferences by a merge patch: null takes a member away.
 *
 * @throws ApiError of the service: 413 where there are too many.
 */
export async function changePreferences(patch: Record<string, unknown>): Promise<void> {
  await replaceRead(key, () => client.preferences.update(patch));
}
