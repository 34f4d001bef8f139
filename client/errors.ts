import type { ErrorCode } from '../config/error-codes.ts';
import type { ErrorPlace, FieldErrorCode } from '../config/field-error-codes.ts';

export type { ErrorCode, ErrorPlace, FieldErrorCode };

/** A problem with one field, parameter or header. */
export type FieldProblem = {
  /** Of a nested field its dotted path, `links.0.url`; empty if the body as a whole is wrong. */
  field: string;
  /** The part of the request that it is in. */
  in: ErrorPlace;
  /** The kind of the problem, by which a program decides. */
  code: FieldErrorCode;
  message: string;
  /** The bound that was passed, for a message in another language. */
  limit?: number;
  /** The values that are allowed, if there are few. */
  allowed?: readonly string[];
};

/** The members of an `ApiError`, without its message. */
type Facts = Pick<ApiError, 'status' | 'error'> & Partial<Omit<ApiError, 'name' | 'message' | 'stack'>>;

/**
 * A failed call: the service refused it, or there was no valid answer. It is the only error with which calls to the
 * service reject.
 */
export class ApiError extends Error {
  override name = 'ApiError';
  /** The HTTP status of the answer; 0 without an answer. */
  readonly status: number;
  /**
   * The short name of the error, for example `Validation Error`. Without an answer it is `Network Error`, `Timeout` or
   * `Aborted`. `Invalid Answer` means that the answer did not come from the service.
   */
  readonly error: string;
  /**
   * The kind of the error, by which a program decides. Null without an answer of the service, for example from a proxy.
   * A newer service may send a code that is not in this list.
   */
  readonly code: ErrorCode | null;
  /** The problems of single fields or parameters; empty if there are none. */
  readonly errors: readonly FieldProblem[];
  /** The number of seconds after which the service asks you to try again; null if it names none. */
  readonly retryAfter: number | null;
  /** The id of the request in the service's own log; null if the answer has none. */
  readonly requestId: string | null;
  /**
   * The body of the answer: parsed JSON, or the text if it is not JSON; null if it is empty. The body of a 412 names
   * the differences.
   */
  readonly body: unknown;

  constructor(message: string, facts: Facts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.error = facts.error;
    this.code = facts.code ?? null;
    this.errors = facts.errors ?? [];
    this.retryAfter = facts.retryAfter ?? null;
    this.requestId = facts.requestId ?? null;
    this.body = facts.body ?? null;
  }
}
