import { DomainError } from '../../config/errors.ts';
import { isMovedAway, movedAway } from '../store/moved.ts';
import type { Vault } from './vault.ts';

type Functions = { [name: string]: (...values: never[]) => unknown };

/** The same functions, each of which gives a promise. */
export type Asynchronous<T> = {
  [Name in keyof T]: T[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Promise<Awaited<Result>>
    : never;
};

/**
 * The part of a vault that a service asks while it runs. It says nothing of where that is: a file here, or a place that
 * several nodes reach. Each call is one transaction; a function that is given to one is pure, for it may be called
 * again.
 */
export type VaultPort = {
  [Name in 'passwords' | 'counters' | 'logKeys' | 'apiKeys' | 'drafts' | 'ownDrafts' | 'preferences']: Asynchronous<
    // A running service never asks this.
    Omit<Vault[Name], 'canSign'>
  >;
};

/** The port to a vault that is a file of this process. */
export function portOf(vault: Vault): VaultPort {
  const { passwords, counters, logKeys, apiKeys, drafts, ownDrafts, preferences } = vault;
  return {
    passwords: asynchronous(passwords),
    counters: asynchronous(counters),
    logKeys: asynchronous(logKeys),
    apiKeys: asynchronous(apiKeys),
    drafts: asynchronous(drafts),
    ownDrafts: asynchronous(ownDrafts),
    preferences: asynchronous(preferences),
  };
}

/**
 * The same functions, whose calls run in the order in which they are made, and at once: only their results come later.
 */
export function asynchronous<T extends Functions>(port: T): Asynchronous<T> {
  const all = Object.entries(port).map(([name, run]) => [
    name,
    async (...values: never[]) => refusing(() => run(...values)),
  ]);
  return Object.fromEntries(all);
}

/** @throws DomainError `unavailable` for a change of what has moved to PostgreSQL with the log. */
function refusing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isMovedAway(error) ? new DomainError('unavailable', movedAway) : error;
  }
}
