import { useState } from 'react';
import { ApiError } from '../../../../../client/index.ts';
import { messageOf } from '../../../service/queries.ts';

type Problems = { problem: string | null; problems: Record<string, string> };

const none: Problems = { problem: null, problems: {} };

/**
 * Runs one write at a time, and keeps the errors of the service: those about fields by the name of the field, else one
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

/** The messages of an error about fields; if it has none, its own message. */
export function problemsOf(error: unknown): Problems {
  const errors = error instanceof ApiError ? error.errors : [];
  const problems = Object.fromEntries(errors.map(({ field, message }) => [field, message]));
  return { problem: errors.length === 0 ? messageOf(error) : null, problems };
}
