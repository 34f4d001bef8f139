import { queryOf } from './address.ts';
import { type Answer, isObject, unexpected } from './answers.ts';
import { ApiError } from './errors.ts';
import { bearer, headersOf, newKey, takesKey } from './headers.ts';
import type { CallOptions, ClientOptions, WriteOptions } from './options.ts';
import { type Exchange, type Fetch, perform } from './sending.ts';
import { openSession } from './session.ts';
import type { FormContent } from './uploading.ts';

/** A call, as the methods of the client describe it. */
export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** The body, to be sent as JSON. */
  data?: unknown;
  /** A body of another form, instead of `data`. */
  content?: FormContent;
  /** The options of the caller. The options that are not common to all calls become the query. */
  options?: object | undefined;
  /** With an `Idempotency-Key`, the route handles a repeated request only once. */
  isKeyed?: boolean;
  /** The call is idempotent, so it may be repeated. Reads always are. */
  isRepeatable?: boolean;
  /** The route ignores the login. */
  isPublic?: boolean;
  /** A 401 must not be treated as the end of the login. */
  isLogin?: boolean;
  /** The default timeout of the call, in milliseconds. */
  timeout?: number;
  /** Whether a body has the form that the route sends, for calls whose answer the client itself reads. */
  gives?: (body: unknown) => boolean;
};

/** The common part of all calls of a client, which also holds the login. */
export type Caller = ReturnType<typeof openCaller>;

const defaultTimeout = 30_000;
const defaultRetries = 2;

/** Makes the functions through which all methods of a client send their calls. */
export function openCaller(baseUrl: string, options: ClientOptions) {
  const session = openSession(options.token || null, options);
  const tags = new WeakMap<object, string>();
  /**
   * The greatest position of the log in an answer to a write; 0 if the service is a single process, which sends no
   * positions.
   */
  let written = 0;
  // `fetch` is looked up at each call, because a program may replace it, and called as a plain function, as browsers
  // require.
  const plainFetch: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));

  async function call(asked: Call): Promise<Answer> {
    const given = split(asked.options ?? {});
    const token = asked.isPublic ? null : session.get();
    const headers = headersOf(options, {
      own: given.own,
      token,
      bodyType: asked.content?.type ?? (asked.data === undefined ? null : 'application/json'),
      // A node that answers reads from what it has waits for what this client has written.
      position: isRead(asked) && written > 0 ? written : null,
    });
    const isOurs = headers.get('authorization') === (token === null ? null : bearer(token));
    try {
      const exchange = exchangeOf(asked, given, headers);
      const answer = await perform(exchange);
      if (!isRead(asked)) notePosition(answer);
      if (asked.gives?.(answer.body) === false) throw unexpected(exchange, answer);
      keepTag(answer);
      return answer;
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 401 && isOurs;
      if (isRefused && !asked.isPublic && !asked.isLogin) session.refuse(token, error);
      throw error;
    }
  }

  function exchangeOf(asked: Call, { own, query }: ReturnType<typeof split>, headers: Headers): Exchange {
    const { method, path, content, data } = asked;
    const json = data === undefined ? null : JSON.stringify(data);
    const sent = content ?? (json === null ? null : { make: () => json, isStream: false, isOnce: false });
    const retries = own.retries ?? options.retries ?? defaultRetries;
    const canRepeat = !content?.isOnce && retries > 0;
    if (canRepeat && asked.isKeyed && takesKey(headers, data)) headers.set('idempotency-key', newKey());
    const isSafe = isRead(asked) || asked.isRepeatable || headers.has('idempotency-key');
    return {
      method,
      url: baseUrl + path + queryOf(query),
      headers,
      content: sent,
      retries: canRepeat && isSafe ? retries : 0,
      timeout: own.timeout ?? asked.timeout ?? options.timeout ?? defaultTimeout,
      signal: own.signal,
      fetch: content?.fetch ?? plainFetch,
    };
  }

  /** Answers may come in another order than the writes; those to reads as of a moment tell the position of that. */
  function notePosition({ headers }: Answer): void {
    const position = headers.get('annals-position');
    if (position !== null && /^\d{1,15}$/.test(position)) written = Math.max(written, Number(position));
  }

  function keepTag({ body, headers }: Answer): void {
    const tag = headers.get('etag');
    if (tag !== null && isObject(body)) tags.set(body, tag);
  }

  return {
    call,
    /** The body of an answer, with the type that the contract gives it. */
    bodyOf: async <T>(asked: Call): Promise<T> => (await call(asked)).body as T,
    session,
    tagOf: (document: object) => tags.get(document),
  };
}

function isRead({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET';
}

const callNames = ['signal', 'timeout', 'headers', 'retries', 'reason', 'ifMatch', 'idempotencyKey'];

function split(options: object): { own: CallOptions & WriteOptions; query: object } {
  const entries = Object.entries(options);
  const own = Object.fromEntries(entries.filter(([name, value]) => callNames.includes(name) && value !== undefined));
  return { own, query: Object.fromEntries(entries.filter(([name]) => !callNames.includes(name))) };
}
