import type { AST } from '@eslint-community/regexpp';

/** One step of a program: read a character, look at the place, go on in several ways, or be at the end. */
type Step =
  | { kind: 'read'; test: number; next: number }
  | { kind: 'check'; check: number; next: number }
  | { kind: 'split'; ways: readonly number[] }
  | { kind: 'end' };

/** A question to a place in a text, which is between two characters. */
export type Check =
  | { kind: 'start' | 'end' }
  | { kind: 'word'; isNegated: boolean }
  | { kind: 'ahead' | 'behind'; program: Program; isNegated: boolean };

/**
 * A nondeterministic automaton. One that looks ahead reads from the right to the left, so as to end at its place.
 *
 * `tests`: what characters its steps read, each once; the 255 steps of `.{1,255}` have one.
 */
export type Program = { steps: readonly Step[]; start: number; checks: readonly Check[]; tests: readonly RegExp[] };

/** Why a pattern cannot be made a program. */
export class NoProgram extends Error {}

/**
 * More would not be linear in any sense that helps; and the checks of a place have to fit into the bits of a number.
 */
const maxSteps = 2000;
const maxChecks = 30;

/**
 * Makes the program of a pattern with the flag `u`. The test of a single character is left to the engine of Node, so
 * that it means the same, down to its version of Unicode.
 *
 * @throws NoProgram for a backreference; for modifiers, in which Node's engine is not quite as ECMAScript has it; for a
 * pattern that is too large.
 */
export function programOf({ alternatives }: AST.Pattern): Program {
  const size = { steps: 0 };
  return build(alternatives, size, false);
}

/**
 * How many steps may have to be followed for each character of a text, however long that is; 0 where the pattern itself
 * bounds how long a text it looks at.
 */
export function waysOf(program: Program): number {
  const isBounded = !looksAround(program) && !goesRound(program);
  return isBounded ? 0 : readsOf(program);
}

function looksAround({ checks }: Program): boolean {
  return checks.some((check) => 'program' in check);
}

/** A step stands behind those that come after it, but where it is gone back to. */
function goesRound({ steps }: Program): boolean {
  return steps.some((step, index) => step.kind === 'split' && step.ways.some((way) => way > index));
}

function readsOf({ steps, checks }: Program): number {
  const inside = checks.map((check) => ('program' in check ? readsOf(check.program) : 0));
  return inside.reduce((sum, reads) => sum + reads, steps.filter(({ kind }) => kind === 'read').length);
}

function build(alternatives: readonly AST.Alternative[], size: { steps: number }, isBackward: boolean): Program {
  const steps: Step[] = [];
  const checks: Check[] = [];
  const tests: RegExp[] = [];
  const known = new Map<string, number>();
  const knownTests = new Map<string, number>();

  function add(step: Step): number {
    size.steps += 1;
    if (size.steps > maxSteps) throw new NoProgram('it is too large');
    return steps.push(step) - 1;
  }

  function read(next: number, raw: string): number {
    const test = knownTests.get(raw) ?? tests.push(new RegExp(`^${raw}$`, 'u')) - 1;
    knownTests.set(raw, test);
    return add({ kind: 'read', test, next });
  }

  /** The same assertion, in a repetition for example, is asked once. */
  function checked(next: number, node: AST.Assertion): number {
    const index = known.get(node.raw) ?? checks.push(assertion(node)) - 1;
    if (index >= maxChecks) throw new NoProgram('it has too many assertions');
    known.set(node.raw, index);
    return add({ kind: 'check', check: index, next });
  }

  /** Where what is before `next` begins. */
  function before(next: number, node: AST.Element): number {
    switch (node.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return read(next, node.raw);
      case 'Group':
        if (node.modifiers) throw new NoProgram('it has modifiers');
        return anyOf(next, node.alternatives);
      case 'CapturingGroup':
        return anyOf(next, node.alternatives);
      case 'Quantifier':
        return repeated(next, node);
      case 'Assertion':
        return checked(next, node);
      case 'Backreference':
        throw new NoProgram('it has a backreference');
      default:
        throw new NoProgram(`it has ${node.raw}`);
    }
  }

  function anyOf(next: number, alternatives: readonly AST.Alternative[]): number {
    const ways = alternatives.map(({ elements }) => {
      const inOrder = isBackward ? elements : elements.toReversed();
      return inOrder.reduce((end, element) => before(end, element), next);
    });
    return ways.length === 1 ? (ways[0] as number) : add({ kind: 'split', ways });
  }

  /** Lazy or not: which texts match is the same. */
  function repeated(next: number, { element, min, max }: AST.Quantifier): number {
    let start = next;
    if (max === Number.POSITIVE_INFINITY) {
      const ways = [next];
      start = add({ kind: 'split', ways });
      ways.push(before(start, element));
    } else {
      for (let count = min; count < max; count += 1)
        start = add({ kind: 'split', ways: [next, before(start, element)] });
    }
    for (let count = 0; count < min; count += 1) {
      const first = before(start, element);
      // Nothing is nothing, however often: `(?:){4000000000}`.
      if (first === start) break;
      start = first;
    }
    return start;
  }

  function assertion(node: AST.Assertion): Check {
    switch (node.kind) {
      case 'start':
      case 'end':
        return { kind: node.kind };
      case 'word':
        return { kind: 'word', isNegated: node.negate };
      case 'lookahead':
      case 'lookbehind': {
        const isAhead = node.kind === 'lookahead';
        const program = build(node.alternatives, size, isAhead);
        return { kind: isAhead ? 'ahead' : 'behind', program, isNegated: node.negate };
      }
    }
  }

  const end = add({ kind: 'end' });
  return { start: anyOf(end, alternatives), steps, checks, tests };
}
