import type { Counter, Vault } from '../../events/vault.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import type { LockState } from '../ports.ts';

/** When an account is locked: after how many failures in a row, and for how many seconds. */
export type LockRule = { maxLoginAttempts: number; lockTime: number };

export type Lockout = ReturnType<typeof createLockout>;

type Options = {
  counters: Vault['counters'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** The most counters of e-mails without an account. */
  maxUnknown?: number;
};

const dayMilliseconds = 24 * 60 * 60 * 1000;
const failuresBetweenTidying = 256;

/**
 * Counts failed logins and locks accounts. It never looks whether an account exists, so neither its answer nor its time
 * reveals that.
 */
export function createLockout({ counters, now, maxUnknown = 100_000 }: Options) {
  let failuresSinceTidying = 0;
  tidy();

  /** The seconds until the lock of a key ends, at least 1; 0 where it is not locked. */
  function secondsLocked(key: string, { lockTime }: LockRule): number {
    const time = now();
    const counter = counters.get(key);
    if (!counter || counter.lockedUntil === null || counter.lockedUntil <= time) return 0;
    // Where the clock was put back, or the lock time made shorter, the lock would last longer than it may.
    const lockedUntil = Math.min(counter.lockedUntil, time + lockTime * 1000);
    if (lockedUntil !== counter.lockedUntil) counters.change(key, (its) => its && { ...its, lockedUntil });
    return Math.ceil((lockedUntil - time) / 1000);
  }

  /** The failures that still count, and when a lock ends; null without one. */
  function state(key: string, { lockTime }: LockRule): LockState {
    const time = now();
    const counter = counters.get(key);
    const failures = failuresOf(counter, time);
    const until = failures > 0 ? (counter?.lockedUntil ?? null) : null;
    return { failures, lockedUntil: until === null ? null : Math.min(until, time + lockTime * 1000) };
  }

  /** Counts a failure; gives when the lock ends if this one locks, else null. */
  function fail(key: string, isKnown: boolean, { maxLoginAttempts, lockTime }: LockRule): number | null {
    const time = now();
    const counter = counters.change(key, (before) => {
      const failures = failuresOf(before, time) + 1;
      const lockedUntil = failures >= maxLoginAttempts ? time + lockTime * 1000 : null;
      return { failures, lockedUntil, touched: time, isKnown };
    });
    failuresSinceTidying += 1;
    if (failuresSinceTidying >= failuresBetweenTidying) {
      failuresSinceTidying = 0;
      // After the answer: it takes its time.
      setImmediate(tidyLater);
    }
    return counter?.lockedUntil ?? null;
  }

  /** Ends a lock and the count; false when there was neither. */
  function reset(key: string): boolean {
    const counter = counters.get(key);
    if (!counter) return false;
    counters.change(key, () => null);
    return failuresOf(counter, now()) > 0;
  }

  /** A full disk is not reported here: the next run tidies again. */
  function tidyLater(): void {
    try {
      tidy();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
  }

  /** Deletes counters that have expired, and those above the limit. */
  function tidy(): void {
    const time = now();
    counters.tidy(time, time - dayMilliseconds, maxUnknown);
  }

  return { secondsLocked, state, fail, reset, tidy };
}

/** The failures that still count: none after a lock that has passed, none after a day. */
function failuresOf(counter: Counter | null, time: number): number {
  if (!counter) return 0;
  const { failures, lockedUntil, touched } = counter;
  if (lockedUntil !== null) return lockedUntil > time ? failures : 0;
  return time - touched > dayMilliseconds ? 0 : failures;
}
