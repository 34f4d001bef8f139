/** A problem of one field or parameter; a nested field by its dotted path, `links.0.url`. */
export type FieldProblem = { field: string; message: string };

/** The parts of an `ApiError` beside its message. */
type Facts = Pick<ApiError, 'status' | 'error'> & Partial<Omit<ApiError, 'name' | 'message' | 'stack'>>;

/** A call that did not succeed: the service refused it, or no answer came. The only error that calls reject with. */
export class ApiError extends Error {
  override name = 'ApiError';
  /** The status of the answer; 0 where there was none. */
  readonly status: number;
  /**
   * The short name that the service gives, for example `Validation Error`. Without an answer `Network Error`, `Timeout`
   * or `Aborted`; `Invalid Answer` where what came is not from the service.
   */
  readonly error: string;
  /** The fields or parameters that are to blame; empty where no field is to blame. */
  readonly errors: readonly FieldProblem[];
  /** After how many seconds the service asks to try again; null where it does not say. */
  readonly retryAfter: number | null;
  /** The id of the request in the log of the service; null where the answer has none. */
  readonly requestId: string | null;
  /** The body as it came: parsed JSON, else the text, null where it was empty. A 412 tells there what differs. */
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
