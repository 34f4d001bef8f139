import { type Answer, type Asked, nameOf, readAnswer } from './answers.ts';
import { ApiError } from './errors.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A body, made anew for each attempt, unless it is of something that can be read but once. `BodyInit` is known in
 * browsers only.
 */
export type Content = { make: () => NonNullable<RequestInit['body']>; isStream: boolean; isOnce: boolean };

/** One call, ready to be sent. */
export type Exchange = Asked & {
  headers: Headers;
  content: Content | null;
  /** How often it may be sent again; 0 for what must not be done twice. */
  retries: number;
  /** Milliseconds for all of it; 0 without an end. */
  timeout: number;
  signal: AbortSignal | undefined;
  fetch: Fetch;
};

/** That the service is busy, or that what stands in front of it does not reach it. */
const passing = [429, 502, 503, 504];
const firstPause = 300;
const longestPause = 60_000;
/** Timers take no more milliseconds. */
const longest = 2 ** 31 - 1;

/**
 * Sends a call, and again where that may help: after a failure of the network, and where the service or what stands in
 * front of it is busy. It waits as long as it is told to, unless the time of the call would be over by then.
 *
 * @throws ApiError for whatever else comes than the answer.
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

/** The signal that ends a call early: the caller's signal, or the time that it may take. */
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
    // The signals of React Native keep no reason.
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

/** Node says only "fetch failed", and why in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error as Error & { cause?: Error & { code?: string } };
  const detail = cause?.message || cause?.code;
  return detail ? `${message} (${detail})` : message;
}

/** Milliseconds until another attempt, not the same for all who failed at once; null where none would help. */
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
