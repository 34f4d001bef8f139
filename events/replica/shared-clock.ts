/** The clock of PostgreSQL, as a node keeps it. */
export type SharedClock = {
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Sets it to the time of PostgreSQL. Until the next call it goes on with the clock of this machine. */
  set: (time: number) => void;
};

/** Opens a clock that has the time of this machine until it is set. @param local gives the time of this machine. */
export function openSharedClock(local: () => number): SharedClock {
  let ahead = 0;
  return {
    now: () => local() + ahead,
    set(time) {
      ahead = time - local();
    },
  };
}
