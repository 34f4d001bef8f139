import type { Counter } from '../../events/vault/counters.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import type { LockState } from '../ports.ts';
import { canWait } from '../writer/disk-full.ts';

/** When an account is locked: after how many failures in a row, and for how many seconds. */
export type LockRule = { maxLoginAttempts: number; lockTime: number };

export type Lockout = ReturnType<typeof createLockout>;

type Options = {
  counters: VaultPort['counters'];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** The most counters of e-mails without an account. */
  maxUnknown?: number;
};

/** The result of counting an attempt. */
export type CountResult =
  /** The attempt was not counted: the account is locked for this number of seconds. */
  | { kind: 'locked'; seconds: number }
  /** It was counted; `lockedUntil` is the end of the lock, if it locks the account, else null. */
  | { kind: 'counted'; lockedUntil: number | null };

const dayMilliseconds = 24 * 60 * 60 * 1000;
const countedBetweenTidying = 256;

/**
 * Counts failed logins and locks accounts. It never looks whether an account exists, so neither its answer nor its time
 * reveals that. An attempt counts as failed before its password is compared, and no longer if the password was right:
 * so no more passwords can be tried than are allowed, however many processes count.
 */
export function createLockout({ counters, now, maxUnknown = 100_000 }: Options) {
  let countedSinceTidying = 0;

  /** The seconds until the lock of a key ends, at least 1; 0 if the key is not locked. */
  async function secondsLocked(key: string, rule: LockRule): Promise<number> {
    const time = now();
    const counter = await counters.get(key);
    const lockedUntil = lockOf(counter, time, rule);
    if (lockedUntil === null) return 0;
    if (lockedUntil !== counter?.lockedUntil) {
      await counters.change(key, (its) => its && { ...its, lockedUntil: lockOf(its, time, rule) ?? its.lockedUntil });
    }
    return secondsUntil(lockedUntil, time);
  }

  /** The failures that still count, and the end of the lock; null without a lock. */
  async function state(key: string, { lockTime }: LockRule): Promise<LockState> {
    const time = now();
    const counter = await counters.get(key);
    const failures = failuresOf(counter, time);
    const until = failures > 0 ? (counter?.lockedUntil ?? null) : null;
    return { failures, lockedUntil: until === null ? null : Math.min(until, time + lockTime * 1000) };
  }

  /** Counts an attempt as failed, unless the account is locked. If it was right, {@link reset} has to follow. */
  async function count(key: string, isKnown: boolean, rule: LockRule): Promise<CountResult> {
    const time = now();
    const counting: { result: CountResult } = { result: { kind: 'counted', lockedUntil: null } };
    await counters.change(key, (before) => {
      const until = lockOf(before, time, rule);
      if (before && until !== null) {
        counting.result = { kind: 'locked', seconds: secondsUntil(until, time) };
        return { ...before, lockedUntil: until };
      }
      const failures = failuresOf(before, time) + 1;
      const lockedUntil = failures >= rule.maxLoginAttempts ? time + rule.lockTime * 1000 : null;
      counting.result = { kind: 'counted', lockedUntil };
      return { failures, lockedUntil, touched: time, isKnown };
    });
    countedSinceTidying += 1;
    if (countedSinceTidying >= countedBetweenTidying) {
      countedSinceTidying = 0;
      // After the answer, since it takes long.
      setImmediate(tidyLater);
    }
    return counting.result;
  }

  /** Ends a lock and the count of failures; false without either. */
  async function reset(key: string): Promise<boolean> {
    const counter = await counters.get(key);
    if (!counter) return false;
    await counters.change(key, () => null);
    return failuresOf(counter, now()) > 0;
  }

  /** Tidies, unless the disk is full or the vault does not answer: then the next run does. */
  async function tidyLater(): Promise<void> {
    try {
      await tidy();
    } catch (error) {
      if (!canWait(error)) throw error;
    }
  }

  /** Deletes counters that have expired, and those above the limit. */
  async function tidy(): Promise<void> {
    const time = now();
    await counters.tidy(time, time - dayMilliseconds, maxUnknown);
  }

  return { secondsLocked, state, count, reset, tidy };
}

/** The end of the lock of a counter; null without a lock. */
function lockOf(counter: Counter | null, time: number, { lockTime }: LockRule): number | null {
  if (!counter || counter.lockedUntil === null || counter.lockedUntil <= time) return null;
  // If the clock was put back, or the lock time was shortened, the lock would last too long.
  return Math.min(counter.lockedUntil, time + lockTime * 1000);
}

function secondsUntil(lockedUntil: number, time: number): number {
  return Math.ceil((lockedUntil - time) / 1000);
}

/** The failures that still count: none after a lock that has passed, none after a day. */
function failuresOf(counter: Counter | null, time: number): number {
  if (!counter) return 0;
  const { failures, lockedUntil, touched } = counter;
  if (lockedUntil !== null) return lockedUntil > time ? failures : 0;
  return time - touched > dayMilliseconds ? 0 : failures;
}
