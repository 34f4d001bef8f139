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
 * The part of a vault that a running service calls. The vault may be a file, or tables that several nodes share. Each
 * call is one transaction; a function that is given to a call is pure, for it may run again.
 */
export type VaultPort = {
  [Name in
    | 'passwords'
    | 'counters'
    | 'logKeys'
    | 'apiKeys'
    | 'previews'
    | 'previewTokens'
    | 'unsavedChanges'
    | 'preferences'
    | 'replays']: Asynchronous<
    // A running service never calls it.
    Omit<Vault[Name], 'canSign'>
  >;
};

/** The port to a vault that is a file of this process. */
export function portOf(vault: Vault): VaultPort {
  const { passwords, counters, logKeys, apiKeys, previews, previewTokens, unsavedChanges, preferences, replays } =
    vault;
  return {
    passwords: asynchronous(passwords),
    counters: asynchronous(counters),
    logKeys: asynchronous(logKeys),
    apiKeys: asynchronous(apiKeys),
    previews: asynchronous(previews),
    previewTokens: asynchronous(previewTokens),
    unsavedChanges: asynchronous(unsavedChanges),
    preferences: asynchronous(preferences),
    replays: asynchronous(replays),
  };
}

/** Makes functions asynchronous. A call still runs at once, before the next one: only its result comes later. */
export function asynchronous<T extends Functions>(port: T): Asynchronous<T> {
  const all = Object.entries(port).map(([name, run]) => [
    name,
    async (...values: never[]) => refusing(() => run(...values)),
  ]);
  return Object.fromEntries(all);
}

/** @throws DomainError `unavailable` for a change to rows that have moved to PostgreSQL with the log. */
function refusing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isMovedAway(error) ? new DomainError('unavailable', movedAway) : error;
  }
}
