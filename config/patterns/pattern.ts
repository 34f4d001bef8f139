import { createRequire } from 'node:module';
import { isExponential } from './ambiguity.ts';
import { matcherOf } from './matcher.ts';
import { NoProgram, programOf, waysOf } from './program.ts';

/** The regular expression of a field's `pattern`, flag `u`, that the whole value must match. */
type Pattern = {
  matches: (value: string) => boolean;
  /** Why it is matched by the engine of Node, which may take very long; null where that grows as the value does. */
  backtracks: string | null;
  /**
   * How many steps each character of a long value may cost, 10 to 20 ns each; 0 where it looks at no long value, or
   * backtracks.
   */
  ways: number;
  /** Whether there are values that such an engine takes exponential time for. Takes some time itself. */
  isExponential: () => boolean;
};

type Regexpp = typeof import('@eslint-community/regexpp');
// Most configurations have no pattern, and to load this takes a while.
const require = createRequire(import.meta.url);

/** @throws SyntaxError */
export function readPattern(source: string): Pattern {
  // Alone first: `)(` is an error of its own that the parentheses around it would hide.
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
    // Node knows what is newer than this parser.
    return backtracking('it has what is new in regular expressions');
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
