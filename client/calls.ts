import { encoded, queryOf, shown } from './address.ts';
import { type Answer, isObject, unexpected } from './answers.ts';
import { ApiError } from './errors.ts';
import type { CallOptions, ClientOptions, WriteOptions } from './options.ts';
import { type Exchange, type Fetch, perform } from './sending.ts';
import { openSession } from './session.ts';
import type { FormContent } from './uploading.ts';

/** A call as a method of the client makes it. */
export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** A body to be sent as JSON. */
  data?: unknown;
  /** A body of another form. */
  content?: FormContent;
  /** The caller's options: those that do not belong to every call are the query. */
  options?: object | undefined;
  /** The route does with an `Idempotency-Key` once what is sent twice. */
  isKeyed?: boolean;
  /** To do it twice is to do it once. Reads are so anyway. */
  isRepeatable?: boolean;
  /** The route looks at no login. */
  isPublic?: boolean;
  /** A 401 is about the data that was sent, not about the caller. */
  isLogin?: boolean;
  /** Milliseconds, where the caller says none. */
  timeout?: number;
  /** Whether a body is what the route gives, where the client itself looks into it. */
  gives?: (body: unknown) => boolean;
};

/** The way of all calls of a client, with the login that it holds. */
export type Caller = ReturnType<typeof openCaller>;

const defaultTimeout = 30_000;
const defaultRetries = 2;

/** Opens the way that every method of a client goes. */
export function openCaller(baseUrl: string, options: ClientOptions) {
  const session = openSession(options.token || null, options);
  const tags = new WeakMap<object, string>();
  /**
   * The furthest position of the log that an answer to a write has told; 0 where the service is one process, which
   * tells none.
   */
  let written = 0;
  // Looked up with each call, for it may be replaced; called as a plain function, as browsers demand.
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
    // A node that answers reads from what it has waits for what this client has written.
    put('annals-position', isRead({ method }) && written > 0 ? String(written) : null);
    put('if-match', own.ifMatch);
    put('idempotency-key', own.idempotencyKey);
    put('x-change-reason', own.reason === undefined ? null : reasonText(own.reason));
    for (const [name, value] of entriesOf(own.headers)) put(name, value);
    return headers;
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
    /** The body of an answer, as what the contract says it is. */
    bodyOf: async <T>(asked: Call): Promise<T> => (await call(asked)).body as T,
    session,
    tagOf: (document: object) => tags.get(document),
  };
}

function isRead({ method }: Pick<Call, 'method'>): boolean {
  return method === 'GET';
}

/**
 * The service takes no key without a credential, which tells callers apart, and with a password, of which nothing is
 * kept.
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

/** The error of `Headers` for a value that it does not take shows the value, which may be a key. */
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

/** A header holds latin1 at most, and the service reads some of that as UTF-8; what is more goes encoded (RFC 8187). */
function reasonText(reason: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(reason) && !/^\s*utf-8'/i.test(reason);
  return isPlain ? reason : `UTF-8''${encoded('reason', reason)}`;
}

/**
 * React Native has no `crypto`, and a page that did not come over HTTPS no `randomUUID`. The key need not be secret: it
 * only tells the writes of one caller apart.
 */
function newKey(): string {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> };
  const random = () => Math.random().toString(36).slice(2);
  return crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${random()}${random()}`;
}
