import type { ErrorCode } from './error-codes.ts';
import type { ErrorParameters, ErrorPlace, FieldErrorCode } from './field-error-codes.ts';
import type { JsonObject } from './schema.ts';

/** The codes that the service's own refusals have. Only `server/http/errors.ts` turns them into a status. */
export type RefusalCode = Exclude<ErrorCode, 'hook_refused'>;

/** The place and the kind of a problem. `field` is a dotted path, for example `links.0.url`, cut by `cutField`. */
export type Fault = { field: string; in: ErrorPlace; code: FieldErrorCode } & ErrorParameters;

/** A wrong field, parameter or header: an entry of `errors`. */
export type FieldError = Fault & { message: string };

/** The kind and the text of a problem with a value that may come from any place. */
export type Problem = { code: FieldErrorCode; problem: string } & ErrorParameters;

/** The fault of a field of the body; of the body as a whole if `field` is the empty text. */
export function inBody(field: string, code: FieldErrorCode, parameters: ErrorParameters = {}): Fault {
  return { field, in: 'body', code, ...parameters };
}

/** The fault of a query parameter. */
export function inQuery(field: string, code: FieldErrorCode, parameters: ErrorParameters = {}): Fault {
  return { field, in: 'query', code, ...parameters };
}

/** The fault of a header. */
export function inHeader(field: string, code: FieldErrorCode, parameters: ErrorParameters = {}): Fault {
  return { field, in: 'header', code, ...parameters };
}

/**
 * The form in which errors show a path or name from a request: its first characters, because it may be a megabyte long.
 */
export function cutField(path: string, most = 200): string {
  return path.length > most ? `${path.slice(0, most)}…` : path;
}

/** An error for the caller. Its message names the problem and contains no secret. */
export class DomainError extends Error {
  override name = 'DomainError';
  readonly code: RefusalCode;
  /**
   * Never empty for `validation_failed` (contract, section 7): if no single field is at fault, `field` is the empty
   * text.
   */
  readonly errors: readonly FieldError[];
  /** The number of seconds after which a retry may succeed; null if waiting does not help, or the time is not known. */
  readonly retryAfter: number | null;
  /** More members of the answer, beside those of the contract. */
  readonly details: JsonObject | null;

  constructor(
    code: RefusalCode,
    message: string,
    errors: readonly FieldError[] = [],
    retryAfter: number | null = null,
    details: JsonObject | null = null,
  ) {
    super(message);
    this.code = code;
    this.errors =
      code === 'validation_failed' && errors.length === 0 ? [{ ...inBody('', 'invalid'), message }] : errors;
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

const codesForNow: readonly RefusalCode[] = ['unavailable', 'disk_full', 'not_shown_yet', 'outcome_unknown'];

/** Whether an error is about the state of the service, so the same request may succeed later. */
export function isForNow(error: unknown): boolean {
  return error instanceof DomainError && codesForNow.includes(error.code);
}

/** The error for one wrong field, parameter or header. The message is the name followed by `problem`. */
export function invalidField(fault: Fault, problem: string): DomainError {
  return invalidFields([{ ...fault, message: `${fault.field} ${problem}` }]);
}

/** The error for one or more wrong fields. */
export function invalidFields(errors: readonly FieldError[]): DomainError {
  return new DomainError('validation_failed', errors.map(({ message }) => message).join('; '), errors);
}

/** The error for a body that is wrong as a whole. */
export function invalidBody(code: FieldErrorCode, message: string, parameters: ErrorParameters = {}): DomainError {
  return invalidFields([{ ...inBody('', code, parameters), message }]);
}
