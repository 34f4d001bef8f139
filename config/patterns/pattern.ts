import { createRequire } from 'node:module';
import { isExponential } from './ambiguity.ts';
import { matcherOf } from './matcher.ts';
import { NoProgram, programOf, waysOf } from './program.ts';

/** The regular expression of a field's `pattern`, with the flag `u`. The whole value must match it. */
type Pattern = {
  matches: (value: string) => boolean;
  /**
   * The reason why the engine of Node matches the pattern, by backtracking, which may take very long; null if the time
   * is linear in the length of the value.
   */
  backtracks: string | null;
  /**
   * The number of steps that each character of a long value may cost, 10 to 20 ns each; 0 if the pattern reads no long
   * value, or backtracks.
   */
  ways: number;
  /**
   * Whether there are values for which a backtracking engine takes exponential time. The analysis itself takes some
   * time.
   */
  isExponential: () => boolean;
};

type Regexpp = typeof import('@eslint-community/regexpp');
// The parser is loaded on demand: most configurations have no pattern, and loading takes a while.
const require = createRequire(import.meta.url);

/** @throws SyntaxError */
export function readPattern(source: string): Pattern {
  // The source is compiled alone first, because the added parentheses would hide an error such as `)(`.
  new RegExp(source, 'u');
  const whole = new RegExp(`^(?:${source})$`, 'u');
  const backtracking = (reason: string, exponential = () => false): Pattern => {
    return { matches: (value) => whole.test(value), backtracks: reason, ways: 0, isExponential: exponential };
  };
  const { RegExpParser }: Regexpp = require('@eslint-community/regexpp');
  let parsed: ReturnType<InstanceType<Regexpp['RegExpParser']>['parsePattern']>;
  try {
    parsed = new RegExpParser().parsePattern(source, 0, source.length, { unicode: true });
  } catch {
    // Node accepts syntax that is newer than this parser.
    return backtracking('it has newer syntax than the service knows');
  }
  const exponential = () => isExponential(parsed);
  try {
    const program = programOf(parsed);
    return { matches: matcherOf(program), backtracks: null, ways: waysOf(program), isExponential: exponential };
  } catch (error) {
    if (error instanceof NoProgram) return backtracking(error.message, exponential);
    throw error;
  }
}
