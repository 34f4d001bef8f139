import { codeOf } from '../errors.ts';

/**
 * Thrown where no server was reached in time, or a server cannot do it now. `cause` says why; it is for the operator.
 */
export class UnreachableError extends Error {
  override name = 'UnreachableError';
}

/** Thrown for a server on which acknowledged data can be lost, or that this program may do too much on. */
export class UnfitServerError extends Error {
  override name = 'UnfitServerError';
}

/**
 * Whether a server itself refused a statement, and so has not done it: the session goes on. Others may have been done.
 */
export function isRefusal(error: unknown): boolean {
  return isFromServer(error) && error.severity !== 'FATAL' && error.severity !== 'PANIC' && !isEndOfSession(error);
}

/** Whether the server refused a row, since its key is there already. */
export function isDuplicate(error: unknown): boolean {
  return isFromServer(error) && codeOf(error) === '23505';
}

/** Whether what is to be made was made by another session meanwhile. */
export function isAlreadyThere(error: unknown): boolean {
  return isFromServer(error) && ['23505', '42P06', '42P07', '42710', '40001', 'XX000'].includes(codeOf(error) ?? '');
}

/** Whether a server refused for want of room, of a lock or of a turn: it may work later, and nothing was done. */
export function isBusy(error: unknown): boolean {
  // 40: to be tried again; 53: no room or memory; 55P03: lock_timeout; 57014: cancelled.
  return isRefusal(error) && /^(?:40|53|55P03|57014)/.test(codeOf(error) ?? '');
}

/** Errors of the class 57P and 25P03 end a session, also where the language of the server hides their severity. */
function isEndOfSession(error: Error): boolean {
  return /^(?:57P|25P03)/.test(codeOf(error) ?? '');
}

/** An error that came from a server, and not from the connection to it. */
function isFromServer(error: unknown): error is Error & { severity: string } {
  return (
    error instanceof Error && 'severity' in error && typeof error.severity === 'string' && codeOf(error)?.length === 5
  );
}
