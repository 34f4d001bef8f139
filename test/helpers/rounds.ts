/**
 * `.ci/run` sets it: of the long tests, those that `wholeOnly` marks are left out, and rounds are fewer. `npm run
 * test:long` does all.
 */
const isShort = process.env.TEST_SHORT !== undefined;

/** How many rounds a long test makes: all of them, in `.ci/run` a few, or as many as the variable TEST_ROUNDS says. */
export function roundsOf(all: number, few: number): number {
  return Number(process.env.TEST_ROUNDS ?? (isShort ? few : all));
}

/** Of the cases of a long test all, in `.ci/run` a few of them, spread over the list, the last one included. */
export function spreadOf<T>(all: readonly T[], few: number): readonly T[] {
  if (!isShort || few >= all.length) return all;
  return Array.from({ length: few }, (_, index) => all[Math.ceil(((index + 1) * all.length) / few) - 1] as T);
}

/** The options of a long test that `.ci/run` leaves out, for others try most of it. */
export const wholeOnly = isShort ? { skip: 'TEST_SHORT is set: npm run test:long runs it' } : {};
