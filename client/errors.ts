/** A problem with one field or parameter. `field` of a nested field is its dotted path, `links.0.url`. */
export type FieldProblem = { field: string; message: string };

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
    this.errors = facts.errors ?? [];
    this.retryAfter = facts.retryAfter ?? null;
    this.requestId = facts.requestId ?? null;
    this.body = facts.body ?? null;
  }
}
