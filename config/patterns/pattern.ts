import { createRequire } from 'node:module';
import { isExponential } from './ambiguity.ts';
import { matcherOf } from './matcher.ts';
import { NoProgram, type Program, programOf } from './program.ts';

/** The regular expression of a field's `pattern`, flag `u`, that the whole value must match. */
export type Pattern = {
  matches: (value: string) => boolean;
  /** Why it is matched by the engine of Node, which may take very long; null where it takes as long as the value is. */
  backtracks: string | null;
  /** Whether there are values that such an engine takes exponential time for. */
  isExponential: boolean;
};

type Regexpp = typeof import('@eslint-community/regexpp');
// Most configurations have no pattern, and to load this takes a while.
const load = createRequire(import.meta.url) as (name: string) => Regexpp;

/** @throws SyntaxError */
export function readPattern(source: string): Pattern {
  // Alone first: `)(` is an error of its own that the parentheses around it would hide.
  new RegExp(source, 'u');
  const whole = new RegExp(`^(?:${source})$`, 'u');
  const backtracking = (reason: string, exponential = false): Pattern => {
    return { matches: (value) => whole.test(value), backtracks: reason, isExponential: exponential };
  };
  const { RegExpParser } = load('@eslint-community/regexpp');
  let parsed: ReturnType<InstanceType<Regexpp['RegExpParser']>['parsePattern']>;
  try {
    parsed = new RegExpParser().parsePattern(source, 0, source.length, { unicode: true });
  } catch {
    // Node knows what is newer than this parser.
    return backtracking('it has what is new in regular expressions');
  }
  const exponential = isExponential(parsed);
  try {
    const program: Program = programOf(parsed);
    return { matches: matcherOf(program), backtracks: null, isExponential: exponential };
  } catch (error) {
    if (error instanceof NoProgram) return backtracking(error.message, exponential);
    throw error;
  }
}
