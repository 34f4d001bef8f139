import { type Answer, type CallName, nameOf, readAnswer } from './answers.ts';
import { ApiError } from './errors.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A body. `make` makes it anew for each attempt; with `isOnce` its source can be read only once. The type `BodyInit`
 * exists only in browsers.
 */
export type Content = { make: () => NonNullable<RequestInit['body']>; isStream: boolean; isOnce: boolean };

/** A call that is ready to be sent. */
export type Exchange = CallName & {
  headers: Headers;
  content: Content | null;
  /** The maximum number of retries; 0 for a call that must not be repeated. */
  retries: number;
  /** The time for all attempts together, in milliseconds; 0 is no limit. */
  timeout: number;
  signal: AbortSignal | undefined;
  fetch: Fetch;
};

/** The statuses that are worth a retry: the service is busy, or a proxy in front of it cannot reach it. */
const passing = [429, 502, 503, 504];
const firstPause = 300;
const longestPause = 60_000;
/** The maximum of timers, in milliseconds. */
const longest = 2 ** 31 - 1;

/**
 * Sends a call, and repeats it if that may help: after a failure of the network, and if the service or a proxy in front
 * of it is busy. It waits as long as the answer demands, unless the call would time out before.
 *
 * @throws ApiError if no attempt succeeds.
 */
export async function perform(exchange: Exchange): Promise<Answer> {
  const clock = startClock(exchange);
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce(exchange, clock.signal);
      } catch (error) {
        const failure = failureOf(exchange, error, clock.signal);
        const pause = attempt > exchange.retries ? null : pauseAfter(failure, attempt);
        if (pause === null || pause >= Math.min(clock.left(), longestPause)) throw failure;
        await wait(pause, clock.signal);
      }
    }
  } catch (error) {
    throw failureOf(exchange, error, clock.signal);
  } finally {
    clock.stop();
  }
}

async function attemptOnce(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) throw signal.reason;
  const { fetch, url, method, headers, content } = exchange;
  const init: RequestInit & { duplex?: 'half' } = { method, headers, signal, redirect: 'manual' };
  if (content) init.body = content.make();
  if (content?.isStream) init.duplex = 'half';
  return readAnswer(exchange, await fetch(url, init));
}

/** Makes the signal that ends a call early: when the signal of the caller aborts, or after the timeout. */
function startClock({ signal, timeout }: Exchange) {
  const controller = new AbortController();
  const isBound = timeout > 0 && timeout <= longest;
  const end = isBound ? Date.now() + timeout : Number.POSITIVE_INFINITY;
  const abort = () => controller.abort(signal?.reason);
  const expire = () => controller.abort(timeoutError(timeout));
  const timer = isBound ? setTimeout(expire, timeout) : undefined;
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const stop = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, left: () => end - Date.now(), stop };
}

function failureOf(exchange: Exchange, error: unknown, signal: AbortSignal): ApiError {
  if (error instanceof ApiError) return error;
  const name = nameOf(exchange);
  if (signal.aborted) {
    const { signal: own, timeout } = exchange;
    if (own?.aborted) return new ApiError(`${name} was aborted`, failed('Aborted', own.reason));
    // Signals of React Native have no `reason`.
    const cause = timeoutError(timeout);
    return new ApiError(`${name}: ${cause.message}`, failed('Timeout', cause));
  }
  return new ApiError(`${name} failed: ${reasonOf(error)}`, failed('Network Error', error));
}

/** React Native has no `DOMException`. */
function timeoutError(timeout: number): Error {
  return Object.assign(new Error(`no answer within ${timeout} ms`), { name: 'TimeoutError' });
}

function failed(error: string, cause: unknown) {
  return { status: 0, error, cause };
}

/** The message of Node is only "fetch failed"; the reason is in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error as Error & { cause?: Error & { code?: string } };
  const detail = cause?.message || cause?.code;
  return detail ? `${message} (${detail})` : message;
}

/**
 * The pause before the next attempt, in milliseconds; null if no attempt would help. It is random, so that clients that
 * failed together do not retry together.
 */
function pauseAfter({ status, error, retryAfter }: ApiError, attempt: number): number | null {
  if (error !== 'Network Error' && !passing.includes(status)) return null;
  if (retryAfter !== null) return retryAfter * 1000 + Math.random() * firstPause;
  return firstPause * 2 ** (attempt - 1) * (0.5 + Math.random());
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', end, { once: true });
  });
}
