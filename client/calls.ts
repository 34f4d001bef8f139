import { encoded, queryOf, shown } from './address.ts';
import { type Answer, isObject, unexpected } from './answers.ts';
import { ApiError } from './errors.ts';
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
    const headers = headersOf(asked, given.own, token);
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

  function headersOf({ method, content, data }: Call, own: WriteOptions, token: string | null): Headers {
    const headers = new Headers();
    const put = (name: string, value: string | null | undefined) => {
      if (value !== undefined && value !== null) setHeader(headers, name, value);
    };
    for (const [name, value] of entriesOf(options.headers)) put(name, value);
    put('accept', 'application/json');
    put('x-api-key', options.apiKey);
    put('x-site-id', options.siteId);
    put('authorization', token === null ? null : bearer(token));
    put('content-type', content?.type ?? (data === undefined ? null : 'application/json'));
    // A node that answers from its own copy first waits until the copy has the writes of this client.
    put('annals-position', isRead({ method }) && written > 0 ? String(written) : null);
    put('if-match', own.ifMatch);
    put('idempotency-key', own.idempotencyKey);
    put('x-change-reason', own.reason === undefined ? null : reasonText(own.reason));
    for (const [name, value] of entriesOf(own.headers)) put(name, value);
    return headers;
  }

  /**
   * Only the greatest position counts, because answers may arrive in another order than the writes were made. Reads are
   * skipped, because a read with `asOf` returns an older position.
   */
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

/**
 * The service accepts an idempotency key only with a credential, which tells callers apart, and not with a password, of
 * which it stores nothing.
 */
function takesKey(headers: Headers, data: unknown): boolean {
  if (headers.has('idempotency-key')) return false;
  const hasCredential = headers.has('authorization') || headers.has('x-api-key');
  return hasCredential && !(isObject(data) && 'password' in data);
}

const callNames = ['signal', 'timeout', 'headers', 'retries', 'reason', 'ifMatch', 'idempotencyKey'];

function split(options: object): { own: CallOptions & WriteOptions; query: object } {
  const entries = Object.entries(options);
  const own = Object.fromEntries(entries.filter(([name, value]) => callNames.includes(name) && value !== undefined));
  return { own, query: Object.fromEntries(entries.filter(([name]) => !callNames.includes(name))) };
}

function entriesOf(headers: Record<string, string> | Headers | undefined): Iterable<[string, string]> {
  return headers instanceof Headers ? headers.entries() : Object.entries(headers ?? {});
}

/** Replaces the error that `Headers` throws for an invalid value, because it shows the value, which may be a key. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new TypeError(
      `the value for the header ${shown(name)} cannot be sent: it holds characters that no header may have`,
    );
  }
}

function bearer(token: string): string {
  return `Bearer ${token}`;
}

/**
 * A header can hold only Latin-1, part of which the service reads as UTF-8. So anything beyond ASCII is sent encoded
 * (RFC 8187).
 */
function reasonText(reason: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(reason) && !/^\s*utf-8'/i.test(reason);
  return isPlain ? reason : `UTF-8''${encoded('reason', reason)}`;
}

/**
 * React Native has no `crypto`, and a page that was not loaded over HTTPS has no `randomUUID`. The key need not be
 * secret: it only tells the writes of one caller apart.
 */
function newKey(): string {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> };
  const random = () => Math.random().toString(36).slice(2);
  return crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${random()}${random()}`;
}
