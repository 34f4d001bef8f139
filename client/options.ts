import type { ApiError } from './errors.ts';
import type { Fetch } from './sending.ts';

/** The options of a client. */
export type ClientOptions = {
  /**
   * The address of the service, with the path that it is mounted at. In a browser `/` or `/cms` is one of the page's
   * origin.
   */
  baseUrl: string | URL;
  /** For trusted code on servers: never part of a page. */
  apiKey?: string | undefined;
  /** The site, where one service serves many. */
  siteId?: string | undefined;
  /** The token of who is logged in already, from where `onToken` kept it. */
  token?: string | null | undefined;
  /** Called with every change of the token, also with one by `client.token = …`. */
  onToken?: ((token: string | null) => void) | undefined;
  /** Called when a login is over, once: the token is gone by then. */
  onUnauthorized?: ((error: ApiError) => void) | undefined;
  /** In the place of the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Sent with every call. */
  headers?: Record<string, string> | undefined;
  /** Milliseconds that a call may take in all; 30,000, of uploads without an end. 0 is without an end. */
  timeout?: number | undefined;
  /** How often a call is sent again, where that is safe; 2. */
  retries?: number | undefined;
};

/** The options of every call. */
export type CallOptions = {
  signal?: AbortSignal | undefined;
  timeout?: number | undefined;
  headers?: Record<string, string> | undefined;
  retries?: number | undefined;
};

/** The options of calls that say why they change something. */
export type ReasonOptions = CallOptions & {
  /** Why: one line of at most 500 characters, for auditors. */
  reason?: string | undefined;
};

/** The options of writes that are done once however often they are sent. */
export type KeyedOptions = ReasonOptions & {
  /** The name of this attempt; the client makes one up. */
  idempotencyKey?: string | undefined;
};

/** The options of changes of a document. */
export type WriteOptions = KeyedOptions & {
  /** The version that the change is meant for, as `client.etagOf(document)` gives it; another one is a 412. */
  ifMatch?: string | undefined;
};

/** A moment to look back to: a position of the log, or a time, as a `Date` or in a form that `asOf` takes. */
export type Moment = Date | string | number;
