import { client } from './client.ts';
import { replaceRead, useOwnRead } from './queries.ts';

/** The preferences of the user that this application knows. Other members belong to other programs. */
export type Preferences = {
  /** Saved views of lists, by collection. */
  views?: Record<string, { default?: string; named?: Record<string, string> }>;
  /** False: no shortcut of the keyboard does anything. */
  shortcuts?: boolean;
  /** True: the cards for first-time users are hidden. */
  hidesFirstSteps?: boolean;
  [name: string]: unknown;
};

const key = ['preferences'];

/** The preferences of the user as they are now, whatever moment is shown. */
export function usePreferences() {
  return useOwnRead(key, async (reading) => (await client.preferences.get(reading)) as Preferences, {
    staleTime: 60_000,
  });
}

/**
 * Changes preferences by a merge patch: null removes a member.
 *
 * @throws ApiError of the service: 413 if there are too many.
 */
export async function changePreferences(patch: Record<string, unknown>): Promise<void> {
  await replaceRead(key, () => client.preferences.update(patch));
}
