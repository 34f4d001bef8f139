import type { JsonObject } from './schema.ts';

/** The kinds of errors, in words that mean nothing of HTTP; `server/http/errors.ts` alone turns them into a status. */
export type ErrorCode =
  | 'invalid'
  /** The request cannot be read at all, so no field is to blame. */
  | 'malformed'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'precondition-failed'
  | 'unprocessable'
  | 'too-large'
  | 'too-slow'
  | 'unsupported-type'
  | 'out-of-range'
  | 'too-many'
  | 'unavailable';

/** One wrong field: `field` is its dotted path, for example `links.0.url`, as `cutField` leaves it. */
export type FieldError = { field: string; message: string };

/** A path or name that came in a request as errors tell it: its first characters, for it may be a megabyte long. */
export function cutField(path: string, most = 200): string {
  return path.length > most ? `${path.slice(0, most)}…` : path;
}

/** A refusal that the caller is told about. Its message names what is wrong and holds no secret. */
export class DomainError extends Error {
  override name = 'DomainError';
  readonly code: ErrorCode;
  /** Of `invalid` never empty (contract, section 7): where no single field is to blame, its field is the empty text. */
  readonly errors: readonly FieldError[];
  /** After how many seconds it may work; null where waiting does not help, or the time is not known. */
  readonly retryAfter: number | null;
  /** Further members of the answer, beside the contract's. */
  readonly details: JsonObject | null;

  constructor(
    code: ErrorCode,
    message: string,
    errors: readonly FieldError[] = [],
    retryAfter: number | null = null,
    details: JsonObject | null = null,
  ) {
    super(message);
    this.code = code;
    this.errors = code === 'invalid' && errors.length === 0 ? [{ field: '', message }] : errors;
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

/** A refusal over one field, parameter or header: `problem` goes on with the sentence that its name begins. */
export function invalidField(field: string, problem: string): DomainError {
  return invalidFields([{ field, message: `${field} ${problem}` }]);
}

/** A refusal over several fields, at least one. */
export function invalidFields(errors: readonly FieldError[]): DomainError {
  return new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}
