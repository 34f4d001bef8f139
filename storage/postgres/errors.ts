import { codeOf } from '../errors.ts';

/** Thrown if no server was reached in time, or a server cannot work now. `cause` is the reason, for the operator. */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

/** Thrown for a server that can lose acknowledged data, or that gives this program too many rights. */
export class UnfitServerError extends Error {
  override name = 'UnfitServerError';
}

/** Whether the server refused a statement. It was not executed then, and the session continues. */
export function isRefusal(error: unknown): boolean {
  return isFromServer(error) && error.severity !== 'FATAL' && error.severity !== 'PANIC' && !isEndOfSession(error);
}

/** Whether the server refused a row because its key exists already. */
export function isDuplicate(error: unknown): boolean {
  return isFromServer(error) && codeOf(error) === '23505';
}

/** Whether a table or schema could not be made because another session has made it in the meantime. */
export function isAlreadyThere(error: unknown): boolean {
  return isFromServer(error) && ['23505', '42P06', '42P07', '42710', '40001', 'XX000'].includes(codeOf(error) ?? '');
}

/**
 * Whether a server refused because of missing disk space, memory or a lock. Nothing was done, and a later try may
 * succeed.
 */
export function isBusy(error: unknown): boolean {
  // 40: try again; 53: no disk space or memory; 55P03: lock_timeout; 57014: cancelled.
  return isRefusal(error) && /^(?:40|53|55P03|57014)/.test(codeOf(error) ?? '');
}

/** Errors 57P… and 25P03 end a session, even if the language of the server hides their severity. */
function isEndOfSession(error: Error): boolean {
  return /^(?:57P|25P03)/.test(codeOf(error) ?? '');
}

/** Whether an error came from a server, not from the connection to it. */
function isFromServer(error: unknown): error is Error & { severity: string } {
  return (
    error instanceof Error && 'severity' in error && typeof error.severity === 'string' && codeOf(error)?.length === 5
  );
}
