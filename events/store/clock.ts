import { uptime } from 'node:os';
import { DomainError } from '../../config/errors.ts';

/** The clocks that time is read from; all in milliseconds. */
export type TimeSources = {
  /** The time since the epoch. It can be set. */
  wall: () => number;
  /** The time since some moment, the same for all threads. It cannot be set. */
  steady: () => number;
  /** How long the machine has slept since that moment, which `steady` leaves out. */
  slept: () => number;
};

/** The clocks of this machine. */
const machineTime: TimeSources = {
  wall: () => Date.now(),
  steady,
  // On other systems the steady clock runs while the machine sleeps.
  slept: process.platform === 'linux' ? () => uptime() * 1000 - steady() : () => 0,
};

/**
 * The wall clock, checked by a clock that cannot be set. Recorded times never go back, so if the wall clock were years
 * ahead for a moment, the log would stay years ahead.
 */
export type Clock = {
  /**
   * Milliseconds since the epoch, for what is recorded.
   *
   * @throws DomainError `unavailable` while the wall clock is too far ahead of the believed time.
   */
  now: () => number;
  /** The time for reads, which never fails: the believed time while the wall clock is ahead of it. */
  believed: () => number;
  /** How far the wall clock is ahead of the believed time; negative if it is behind. */
  lead: () => number;
  /**
   * Believes a lead from now on, unless it is negative: time that was recorded must not be forgotten.
   *
   * @param lead the one that was judged: the wall clock may have jumped since.
   */
  believe: (lead: number) => void;
};

/**
 * How far the wall clock may jump ahead and is still believed: time services set it by seconds, and a leap second is
 * one.
 */
export const jumpMilliseconds = 60_000;

/**
 * A clock as one thread has it.
 *
 * @param cell from {@link newClockCell}, shared by all threads: how far the believed time is ahead of the steady clock.
 */
export function createClock(cell: BigInt64Array<SharedArrayBuffer>, sources = machineTime): Clock {
  const { wall, steady } = sources;
  let slept = sources.slept();

  function expected(): number {
    return Number(Atomics.load(cell, 0)) + steady() + slept;
  }

  /** The lead of a time of the wall clock. The clock may jump at any moment, so it is read once for each decision. */
  function leadOf(time: number): number {
    const ahead = time - expected();
    if (ahead <= jumpMilliseconds) return ahead;
    // Asked only now: asking how long the machine has slept takes a hundred times as long as all the rest.
    slept = sources.slept();
    return time - expected();
  }

  return {
    lead: () => leadOf(wall()),
    now() {
      const time = wall();
      if (leadOf(time) > jumpMilliseconds) throw clockJumped();
      return time;
    },
    believed() {
      const time = wall();
      return leadOf(time) > jumpMilliseconds ? Math.round(expected()) : time;
    },
    believe(lead) {
      const ahead = Math.round(lead);
      if (ahead > 0) Atomics.add(cell, 0, BigInt(ahead));
    },
  };
}

/** Makes the cell that the threads of one service share. The wall clock is believed at this moment. */
export function newClockCell({ wall, steady, slept } = machineTime): BigInt64Array<SharedArrayBuffer> {
  const cell = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  cell[0] = BigInt(Math.round(wall() - steady() - slept()));
  return cell;
}

const retrySeconds = 10;

/** The refusal of a write at a time that is not believed. */
export function clockJumped(): DomainError {
  const message = 'the clock of the service has jumped ahead: nothing was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}

function steady(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
