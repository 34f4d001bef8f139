import type { AST } from '@eslint-community/regexpp';

/** A step of a program: read a character, check the place, go on in several ways, or end. */
type Step =
  | { kind: 'read'; test: number; next: number }
  | { kind: 'check'; check: number; next: number }
  | { kind: 'split'; ways: readonly number[] }
  | { kind: 'end' };

/** A check of a place in a text. A place is between two characters. */
export type Check =
  | { kind: 'start' | 'end' }
  | { kind: 'word'; isNegated: boolean }
  | { kind: 'ahead' | 'behind'; program: Program; isNegated: boolean };

/**
 * A nondeterministic automaton. The program of a lookahead reads from right to left, so that it ends at its place.
 *
 * `tests`: the distinct tests of characters; the 255 steps of `.{1,255}` share one.
 */
export type Program = { steps: readonly Step[]; start: number; checks: readonly Check[]; tests: readonly RegExp[] };

/** The pattern cannot be compiled to a program; the message is the reason. */
export class NoProgram extends Error {}

/** With more steps, linear time would still be too long. The checks of a place must fit into the bits of a number. */
const maxSteps = 2000;
const maxChecks = 30;

/**
 * Compiles a pattern with the flag `u` to a program. The engine of Node tests single characters, so that they mean the
 * same here, down to the version of Unicode.
 *
 * @throws NoProgram for a backreference, for modifiers (for which the engine of Node deviates from ECMAScript), and for
 * a pattern that is too large.
 */
export function programOf({ alternatives }: AST.Pattern): Program {
  const size = { steps: 0 };
  return build(alternatives, size, false);
}

/**
 * The maximum number of steps to follow for each character of a text of any length; 0 if the pattern itself limits the
 * length of the texts that it reads.
 */
export function waysOf(program: Program): number {
  const isBounded = !looksAround(program) && !goesRound(program);
  return isBounded ? 0 : readsOf(program);
}

function looksAround({ checks }: Program): boolean {
  return checks.some((check) => 'program' in check);
}

/** A step has a greater index than the steps that follow it, except in a loop. */
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

  /** Equal assertions, for example in a repetition, share one check. */
  function checked(next: number, node: AST.Assertion): number {
    const index = known.get(node.raw) ?? checks.push(assertion(node)) - 1;
    if (index >= maxChecks) throw new NoProgram('it has too many assertions');
    known.set(node.raw, index);
    return add({ kind: 'check', check: index, next });
  }

  /** Adds the steps of an element that come before `next`; returns the first of them. */
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

  /** Lazy and greedy quantifiers match the same texts. */
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
      // Repeating an empty element adds no steps: `(?:){4000000000}`.
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
