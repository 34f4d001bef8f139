/** The clock of a log that several nodes append to, as one of them has it. */
export type SharedClock = {
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Sets it by the clock of the log: from then on it runs on with the clock of this machine. */
  set: (time: number) => void;
};

/** Goes on from the clock of this machine until it is set. @param local gives that clock. */
export function openSharedClock(local: () => number): SharedClock {
  let ahead = 0;
  return {
    now: () => local() + ahead,
    set(time) {
      ahead = time - local();
    },
  };
}
