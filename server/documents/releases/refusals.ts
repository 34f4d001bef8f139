import Boom from '@hapi/boom';
import { DomainError, type FieldError, inBody } from '../../../config/errors.ts';
import type { Change, Claim } from '../../../events/facts/log.ts';
import type { App } from '../../app.ts';
import { gatherErrors } from '../bulk/refusals.ts';
import { fieldOf, keptByOthers } from '../write/writes.ts';

/** How many items a 403 names at most. */
const mostRefused = 20;

/** Whether a check refuses the caller. @throws other errors of the check. */
export async function isForbidden(check: Promise<void>): Promise<boolean> {
  try {
    await check;
    return false;
  } catch (error) {
    if (error instanceof DomainError && (error.code === 'forbidden' || error.code === 'unauthorized')) return true;
    throw error;
  }
}

/** @throws DomainError `forbidden` if there are items that the caller may not publish. */
export function refuseItems(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const told = errors.slice(0, mostRefused);
  const more = errors.length > told.length ? `; and ${errors.length - told.length} more` : '';
  throw new DomainError('forbidden', told.map(({ message }) => message).join('; ') + more, told);
}

/** The items at which errors were thrown, by their indexes. */
const items = new WeakMap<object, number>();

/** Notes the item of an error, and names it in the refusal of a hook. @returns the error. */
export function refusalOfItem(error: unknown, index: number): unknown {
  if (typeof error === 'object' && error !== null) items.set(error, index);
  if (!Boom.isBoom(error)) return error;
  const { payload } = error.output;
  payload.message = `items.${index}: ${payload.message}`;
  return error;
}

/** The index of the item at which an error was thrown; undefined if it is not known. */
export function itemOfError(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null ? items.get(error) : undefined;
}

/** The change of an item, and the name of the item in errors. */
export type ItemChange = { at: string; change: Change };

/**
 * Errors over unique values that two items of the release would have, and those that documents outside of it have.
 *
 * @param known one that the log found, which this thread may not know yet.
 */
export function takenIn(app: App, changes: readonly ItemChange[], known: Claim | null): FieldError[] {
  const first = new Map<string, string>();
  const errors = gatherErrors();
  const isKept = keptByOthers(
    app,
    changes.map(({ change }) => change),
    known,
  );
  for (const { at, change } of changes) {
    for (const claim of change.claims) {
      const key = `${claim.scope}\n${claim.value}`;
      const other = first.get(key);
      first.set(key, other ?? at);
      if (other !== undefined) errors.add([clashOf(at, claim, `is taken by ${other} in this release`)]);
      else if (isKept(claim)) errors.add([clashOf(at, claim, 'is taken by another document')]);
    }
  }
  return errors.all();
}

/** @throws DomainError `unique` if there are errors over unique values. */
export function refuseTaken(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new DomainError('unique', errors.map(({ message }) => message).join('; '), errors);
}

function clashOf(at: string, { scope }: Claim, problem: string): FieldError {
  const field = `${at}.${fieldOf(scope)}`;
  return { ...inBody(field, 'unique'), message: `${field} ${problem}` };
}
