import { uptime } from 'node:os';
import { DomainError } from '../../config/errors.ts';

/** Where time comes from; all in milliseconds. */
export type TimeSources = {
  /** Since the epoch. Somebody may set it. */
  wall: () => number;
  /** Since any moment, the same one for all threads. It cannot be set. */
  steady: () => number;
  /** For how long the machine has slept since then, which `steady` leaves out. */
  slept: () => number;
};

/** The clocks of this machine. */
export const machineTime: TimeSources = {
  wall: () => Date.now(),
  steady,
  // Elsewhere the steady clock goes on while the machine sleeps.
  slept: process.platform === 'linux' ? () => uptime() * 1000 - steady() : () => 0,
};

/**
 * The wall clock, held against a clock that cannot be set. Recorded times never go back in time, so a wall clock that
 * is years ahead for a moment would have to be lived with for years.
 */
export type Clock = {
  /**
   * Milliseconds since the epoch, for what is recorded.
   *
   * @throws DomainError `unavailable` while the wall clock is ahead of what is believed.
   */
  now: () => number;
  /** The same for what is only looked at: what is believed while the wall clock is ahead of that. */
  believed: () => number;
  /** How far the wall clock is ahead of what is believed; below 0 where it is behind. */
  lead: () => number;
  /**
   * From now on the wall clock is believed. It is never believed to be behind: that would forget what was there before.
   */
  believe: () => void;
};

/** So far the wall clock may jump ahead unasked: time services set it by seconds, and leap seconds are one. */
export const jumpMilliseconds = 60_000;

/**
 * A clock as one thread has it.
 *
 * @param cell from {@link newClockCell}, shared between all threads: how far the believed time is ahead of the steady
 * clock.
 */
export function createClock(cell: BigInt64Array<SharedArrayBuffer>, sources = machineTime): Clock {
  const { wall, steady } = sources;
  let slept = sources.slept();

  function expected(): number {
    return Number(Atomics.load(cell, 0)) + steady() + slept;
  }

  function lead(): number {
    const ahead = wall() - expected();
    if (ahead <= jumpMilliseconds) return ahead;
    // Only now: to ask how long it has slept takes a hundred times as long as all the rest.
    slept = sources.slept();
    return wall() - expected();
  }

  return {
    lead,
    now() {
      if (lead() > jumpMilliseconds) throw clockJumped();
      return wall();
    },
    believed: () => (lead() > jumpMilliseconds ? Math.round(expected()) : wall()),
    believe() {
      const ahead = Math.round(lead());
      if (ahead > 0) Atomics.add(cell, 0, BigInt(ahead));
    },
  };
}

/** Shared by the threads of one service: the wall clock of this moment is believed. */
export function newClockCell({ wall, steady, slept } = machineTime): BigInt64Array<SharedArrayBuffer> {
  const cell = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  cell[0] = BigInt(Math.round(wall() - steady() - slept()));
  return cell;
}

const retrySeconds = 10;

/** The refusal of what would be recorded at a time that is not believed. */
export function clockJumped(): DomainError {
  const message = 'the clock of the service has jumped ahead: nothing was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}

function steady(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
