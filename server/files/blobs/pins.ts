import { DomainError } from '../../../config/errors.ts';
import { BlobsUnavailableError } from '../../../storage/blobs.ts';
import type { Pins } from '../../ports.ts';

/** The pins that one thread holds. `release`: it has ended, and its commands are recorded or never will be. */
export type PinHolder = Pick<Pins, 'pin' | 'unpin'> & { release: () => Promise<void> };

/** The pins of all threads. */
export type PinBoard = {
  hold: () => PinHolder;
  /** Runs the removal of a file, whose pins wait for that; null, and it is not run, when it is pinned. */
  withhold: <T>(sha256: string, remove: () => Promise<T>) => Promise<T | null>;
};

/** For how long a removal that was cut off may still be carried out: the store's answer to it never came. */
export const doubtSeconds = 60;

/** Makes a board without pins, kept in the main thread: for a service that has its files to itself. */
export function createPins(): PinBoard {
  const counts = new Map<string, number>();
  const removals = new Map<string, Promise<void>>();
  const doubtful = new Set<string>();

  function hold(): PinHolder {
    const held = new Map<string, number>();
    let isGone = false;

    async function pin(sha256: string): Promise<void> {
      // One removal may follow on another.
      for (let removal = removals.get(sha256); removal; removal = removals.get(sha256)) await removal;
      if (doubtful.has(sha256)) throw beingRemoved();
      if (isGone) return;
      for (const pinned of [held, counts]) add(pinned, sha256, 1);
    }

    async function unpin(sha256: string): Promise<void> {
      if (!held.has(sha256)) return;
      for (const pinned of [held, counts]) add(pinned, sha256, -1);
    }

    async function release(): Promise<void> {
      isGone = true;
      for (const [sha256, count] of held) add(counts, sha256, -count);
      held.clear();
    }

    return { pin, unpin, release };
  }

  async function withhold<T>(sha256: string, remove: () => Promise<T>): Promise<T | null> {
    if (counts.has(sha256)) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    removals.set(sha256, promise);
    try {
      return await remove();
    } catch (error) {
      if (error instanceof BlobsUnavailableError) doubt(sha256);
      throw error;
    } finally {
      removals.delete(sha256);
      resolve();
    }
  }

  function doubt(sha256: string): void {
    doubtful.add(sha256);
    setTimeout(() => doubtful.delete(sha256), doubtSeconds * 1000).unref();
  }

  return { hold, withhold };
}

/** The refusal of an upload whose bytes may be gone in a moment. */
export function beingRemoved(): DomainError {
  const message = 'these bytes are just being removed from the store: nothing was kept, try again later';
  return new DomainError('unavailable', message, [], doubtSeconds);
}

function add(counts: Map<string, number>, sha256: string, count: number): void {
  const sum = (counts.get(sha256) ?? 0) + count;
  if (sum > 0) counts.set(sha256, sum);
  else counts.delete(sha256);
}
