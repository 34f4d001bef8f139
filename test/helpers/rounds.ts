/**
 * `.ci/run` sets TEST_SHORT: the long tests marked `wholeOnly` are skipped, and the others make fewer rounds. `npm run
 * test:long` does all.
 */
const isShort = process.env.TEST_SHORT !== undefined;

/** How many rounds a long test makes: all of them, in `.ci/run` a few, or as many as the variable TEST_ROUNDS says. */
export function roundsOf(all: number, few: number): number {
  return Number(process.env.TEST_ROUNDS ?? (isShort ? few : all));
}

/** All cases of a long test; in `.ci/run` a few of them, spread over the list, the last one included. */
export function spreadOf<T>(all: readonly T[], few: number): readonly T[] {
  if (!isShort || few >= all.length) return all;
  return Array.from({ length: few }, (_, index) => all[Math.ceil(((index + 1) * all.length) / few) - 1] as T);
}

/** The options of a long test that `.ci/run` skips, because other tests cover most of it. */
export const wholeOnly = isShort ? { skip: 'TEST_SHORT is set: npm run test:long runs it' } : {};
