/**
 * How many times a property is tried: all of them by `npm run test:long` (`test/properties.long.test.ts`), a twentieth
 * by `npm test`, which is run at each step, or as many as the variable TEST_RUNS says.
 *
 * @param divisor the part that `npm test` tries, if a twentieth takes too long.
 */
export function runsOf(all: number, divisor = 20): number {
  return partOf(all, divisor);
}

function partOf(all: number, divisor: number): number {
  const { TEST_RUNS, TEST_ALL_RUNS } = process.env;
  if (TEST_RUNS !== undefined) return Number(TEST_RUNS);
  return TEST_ALL_RUNS === undefined ? Math.ceil(all / divisor) : all;
}

/**
 * A sixth of a list of cases, spread over the list, or as many as TEST_RUNS says; all of them by `npm run test:long`.
 */
export function casesOf<T>(all: readonly T[]): T[] {
  const count = Math.min(all.length, partOf(all.length, 6));
  return Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)] as T);
}

/**
 * How often a case must have come up at least: `times` if all runs are made, half of its share if fewer are made, and 0
 * if these are too few to tell.
 */
export function seenOf(times: number, all: number): number {
  const share = Math.min(1, runsOf(all) / all);
  if (share === 1) return times;
  return times * share < 40 ? 0 : Math.floor((times * share) / 2);
}
