import type { ApiError } from './errors.ts';
import type { ClientOptions } from './options.ts';

type Listeners = Pick<ClientOptions, 'onToken' | 'onUnauthorized'>;

/** The token of the user who is logged in; null without one. */
export function openSession(initial: string | null, { onToken, onUnauthorized }: Listeners) {
  let token = initial;
  /** Whether it is known that this token, or to have none, is not enough. */
  let isRefused = false;

  function set(next: string | null): void {
    if (next === token) return;
    token = next;
    isRefused = false;
    onToken?.(next);
  }

  return {
    get: () => token,
    set,
    /** Sets what an answer brought, unless there has been another one since the call was sent. */
    replace(sent: string | null, next: string | null): void {
      if (sent === token) set(next);
    },
    /** Takes a 401 for a call that had this token: many calls may have had it, and by now there may be another one. */
    refuse(sent: string | null, error: ApiError): void {
      if (sent !== token || isRefused) return;
      set(null);
      isRefused = true;
      onUnauthorized?.(error);
    },
  };
}
