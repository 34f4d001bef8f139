import type { ApiError } from './errors.ts';
import type { ClientOptions } from './options.ts';

type Listeners = Pick<ClientOptions, 'onToken' | 'onUnauthorized'>;

/** Holds the token of the logged-in user; null without a login. */
export function openSession(initial: string | null, { onToken, onUnauthorized }: Listeners) {
  let token = initial;
  /** Whether the service has refused this token, or a call without a token. */
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
    /** Sets the token of an answer, unless the token has changed since the call was sent. */
    replace(sent: string | null, next: string | null): void {
      if (sent === token) set(next);
    },
    /**
     * Handles a 401 for a call that sent this token. Many calls may have sent it, and the token may have changed since.
     */
    refuse(sent: string | null, error: ApiError): void {
      if (sent !== token || isRefused) return;
      set(null);
      isRefused = true;
      onUnauthorized?.(error);
    },
  };
}
