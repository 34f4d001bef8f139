import { useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { messageOf } from '../../../service/queries.ts';

type Problems = { problem: string | null; problems: Record<string, string> };

const none: Problems = { problem: null, problems: {} };

/**
 * Runs a write, one at a time, and keeps what the service said against it: of fields by their names, else in one
 * sentence.
 */
export function useSaving() {
  const [state, setState] = useState<Problems & { isBusy: boolean }>({ ...none, isBusy: false });
  const save = async (write: () => Promise<unknown>): Promise<void> => {
    if (state.isBusy) return;
    setState({ ...none, isBusy: true });
    try {
      await write();
      setState({ ...none, isBusy: false });
    } catch (error) {
      setState({ ...problemsOf(error), isBusy: false });
    }
  };
  return { ...state, save };
}

/** Sentences of an error about fields, and where it says nothing of them, its sentence. */
export function problemsOf(error: unknown): Problems {
  const errors = error instanceof ApiError ? error.errors : [];
  const problems = Object.fromEntries(errors.map(({ field, message }) => [field, message]));
  return { problem: errors.length === 0 ? messageOf(error) : null, problems };
}
