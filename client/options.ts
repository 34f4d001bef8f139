import type { ApiError } from './errors.ts';
import type { Fetch } from './sending.ts';

/** The options of a client. */
export type ClientOptions = {
  /**
   * The address of the service, including the path at which it is mounted. In a browser, a path such as `/` or `/cms`
   * is relative to the origin of the page.
   */
  baseUrl: string | URL;
  /** An API key, for trusted code on servers. Never put it into a page. */
  apiKey?: string | undefined;
  /** The id of the site, if the service serves several. */
  siteId?: string | undefined;
  /** The token of a user who is already logged in, as your `onToken` stored it. */
  token?: string | null | undefined;
  /** Called at every change of the token, including `client.token = …`, so that you can store it. */
  onToken?: ((token: string | null) => void) | undefined;
  /** Called once when the service refuses the login, after the token was removed. */
  onUnauthorized?: ((error: ApiError) => void) | undefined;
  /** A function to use instead of the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Headers to send with every call. */
  headers?: Record<string, string> | undefined;
  /**
   * The time that a call may take, with all retries, in milliseconds; 0 is no limit. Default 30,000, for uploads no
   * limit.
   */
  timeout?: number | undefined;
  /** The maximum number of retries of a call that is safe to repeat; default 2. */
  retries?: number | undefined;
};

/** The options of every call. They override the options of the client. */
export type CallOptions = {
  /** A signal that cancels the call. */
  signal?: AbortSignal | undefined;
  /** The time that the call may take, with all retries, in milliseconds; 0 is no limit. */
  timeout?: number | undefined;
  /** Headers to send with the call. */
  headers?: Record<string, string> | undefined;
  /** The maximum number of retries, if the call is safe to repeat. */
  retries?: number | undefined;
};

/** The options of calls that record a reason. */
export type ReasonOptions = CallOptions & {
  /** The reason for the change, for auditors: one line of at most 500 characters. */
  reason?: string | undefined;
};

/** The options of calls that take effect once, even if they are sent several times. */
export type OnceOptions = CallOptions & {
  /** The idempotency key of the call; default: a new one that the client makes. */
  idempotencyKey?: string | undefined;
};

/** The options of such calls that record a reason. */
export type KeyedOptions = ReasonOptions & OnceOptions;

/** The options of changes to a document or global. */
export type WriteOptions = KeyedOptions & {
  /**
   * The version to change, from `client.etagOf(document)`. If the document has another version by now, the call fails
   * with 412.
   */
  ifMatch?: string | undefined;
};

/** A moment in the past: a position of the log, or a time as a `Date` or in another form that `asOf` accepts. */
export type Moment = Date | string | number;
