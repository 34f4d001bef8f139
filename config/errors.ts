import type { JsonObject } from './schema.ts';

/** The kinds of errors, independent of HTTP. Only `server/http/errors.ts` turns them into a status. */
export type ErrorCode =
  | 'invalid'
  /** The request cannot be parsed, so no field is at fault. */
  | 'malformed'
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'wrong-method'
  | 'conflict'
  | 'precondition-failed'
  | 'unprocessable'
  | 'too-large'
  | 'too-slow'
  | 'unsupported-type'
  | 'out-of-range'
  | 'too-many'
  | 'unavailable';

/** A wrong field. `field` is its dotted path, for example `links.0.url`, cut by `cutField`. */
export type FieldError = { field: string; message: string };

/**
 * The form in which errors show a path or name from a request: its first characters, because it may be a megabyte long.
 */
export function cutField(path: string, most = 200): string {
  return path.length > most ? `${path.slice(0, most)}…` : path;
}

/** An error for the caller. Its message names the problem and contains no secret. */
export class DomainError extends Error {
  override name = 'DomainError';
  readonly code: ErrorCode;
  /** Never empty for `invalid` (contract, section 7): if no single field is at fault, `field` is the empty text. */
  readonly errors: readonly FieldError[];
  /** The number of seconds after which a retry may succeed; null if waiting does not help, or the time is not known. */
  readonly retryAfter: number | null;
  /** More members of the answer, beside those of the contract. */
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

/** The error for one wrong field, parameter or header. The message is the name followed by `problem`. */
export function invalidField(field: string, problem: string): DomainError {
  return invalidFields([{ field, message: `${field} ${problem}` }]);
}

/** The error for one or more wrong fields. */
export function invalidFields(errors: readonly FieldError[]): DomainError {
  return new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}
