import type { Check, Program } from './program.ts';

/**
 * The set of steps that may come next after a character. Transitions to other states are computed when they are first
 * needed.
 */
type State = { reads: Uint16Array; count: number; isEnd: boolean; nexts: Map<number, State> };
const kindNumbers = { read: 0, check: 1, split: 2, end: 3 } as const;

/**
 * The maximum number of cached transitions of a program. Without a limit, texts with ever new characters or ways would
 * fill the memory.
 */
const maxTransitions = 5000;
/**
 * The maximum weight of a cache, counted in numbers: one state with many steps weighs as much as many states with few.
 */
const maxWeight = 200_000;
/** After a cache was full, this number of characters is read without caching. */
const pause = 20_000;
const codePoints = 0x110000;

/**
 * Makes a function that tells whether a program matches a whole text. It follows all ways at once and never backtracks
 * (Thompson, 1968), so the time is at most proportional to the length of the text times the steps of the program. If
 * the same steps recur, the cache reduces a character to a look-up; a text can be crafted to avoid that, see `waysOf`.
 */
export function matcherOf(program: Program): (text: string) => boolean {
  const machines = new Map<Program, Machine>();
  const machineFor = (one: Program) => {
    const machine = machines.get(one) ?? machineOf(one, one !== program);
    machines.set(one, machine);
    return machine;
  };

  /** The checks that hold at a place, as bits. */
  function checksOf({ checks }: Program, points: Uint32Array): (at: number) => number {
    if (checks.length === 0) return () => 0;
    const asked = checks.map((check) => askedOf(check, points));
    return (at) => asked.reduce((bits, holds, index) => (holds(at) ? bits | (1 << index) : bits), 0);
  }

  function askedOf(check: Check, points: Uint32Array): (at: number) => boolean {
    switch (check.kind) {
      case 'start':
        return (at) => at === 0;
      case 'end':
        return (at) => at === points.length;
      case 'word':
        return (at) => (isWord(points[at - 1]) !== isWord(points[at])) !== check.isNegated;
      default: {
        const ends = endsOf(check.program, points, check.kind === 'ahead');
        return (at) => (ends[at] === 1) !== check.isNegated;
      }
    }
  }

  /** The places at which the program ends, wherever it began: 1 for each such place. */
  function endsOf(one: Program, points: Uint32Array, isBackward: boolean): Uint8Array {
    const { first, next } = machineFor(one);
    const checksAt = checksOf(one, points);
    const ends = new Uint8Array(points.length + 1);
    let at = isBackward ? points.length : 0;
    let state = first(checksAt(at));
    for (let count = 0; ; count += 1) {
      ends[at] = Number(state.isEnd);
      if (count === points.length) return ends;
      const point = points[isBackward ? at - 1 : at] as number;
      at += isBackward ? -1 : 1;
      state = next(state, point, checksAt(at));
    }
  }

  return (text) => {
    const points = pointsOf(text);
    const { first, next } = machineFor(program);
    const checksAt = checksOf(program, points);
    let state = first(checksAt(0));
    for (let at = 0; at < points.length; at += 1) {
      if (state.count === 0) return false;
      state = next(state, points[at] as number, checksAt(at + 1));
    }
    return state.isEnd;
  };
}

type Machine = {
  first: (checks: number) => State;
  next: (state: State, point: number, checks: number) => State;
};

type Stepping = {
  /** The steps at the beginning, in the transient state. */
  begin: (checks: number) => State;
  /** The steps after a character is read in a state, in the transient state. */
  after: (state: State, point: number, checks: number) => State;
  /** The transient state: always the same object, which each call overwrites. */
  passing: State;
};

/**
 * Follows the steps of a program, one character at a time. It reuses its arrays, because a new set for each character
 * would cost more than the steps themselves.
 *
 * @param beginsAnywhere whether the program may begin at every place, or only at the first.
 */
function steppingOf({ steps, start, tests }: Program, beginsAnywhere: boolean): Stepping {
  const takenBy = testsPassed(tests);
  const marks = new Uint8Array(steps.length);
  const waiting = new Uint16Array(steps.length);
  const passing: State = { reads: new Uint16Array(steps.length), count: 0, isEnd: false, nexts: new Map() };
  const found = passing.reads;
  // Arrays of numbers are several times as fast to read as objects of four shapes.
  const kindOf = Uint8Array.from(steps, ({ kind }) => kindNumbers[kind]);
  const nextOf = Uint16Array.from(steps, (step) => ('next' in step ? step.next : 0));
  const askOf = Uint16Array.from(steps, (step) =>
    step.kind === 'read' ? step.test : 'check' in step ? step.check : 0,
  );
  const branchesOf = steps.map((step) => (step.kind === 'split' ? step.ways : []));

  /**
   * Adds a step behind the first `count` waiting steps, unless it was added before; returns the number of waiting
   * steps.
   */
  function reach(index: number, count: number): number {
    if (marks[index] === 1) return count;
    marks[index] = 1;
    waiting[count] = index;
    return count + 1;
  }

  /** The steps that the first `count` waiting steps reach without reading a character, in the transient state. */
  function reached(count: number, checks: number): State {
    let isEnd = false;
    let length = 0;
    let waits = count;
    while (waits > 0) {
      waits -= 1;
      const index = waiting[waits] as number;
      const kind = kindOf[index];
      if (kind === kindNumbers.read) {
        found[length] = index;
        length += 1;
      } else if (kind === kindNumbers.split) {
        for (const way of branchesOf[index] as readonly number[]) waits = reach(way, waits);
      } else if (kind === kindNumbers.end) isEnd = true;
      else if (checks & (1 << (askOf[index] as number))) waits = reach(nextOf[index] as number, waits);
    }
    passing.count = length;
    passing.isEnd = isEnd;
    return passing;
  }

  /** The steps after a character is read in a state; see {@link reached}. */
  function after({ reads, count }: State, point: number, checks: number): State {
    const passed = takenBy(point);
    marks.fill(0);
    let waits = beginsAnywhere ? reach(start, 0) : 0;
    for (let at = 0; at < count; at += 1) {
      const index = reads[at] as number;
      if (passed[askOf[index] as number] === 1) waits = reach(nextOf[index] as number, waits);
    }
    return reached(waits, checks);
  }

  function begin(checks: number): State {
    marks.fill(0);
    return reached(reach(start, 0), checks);
  }

  return { begin, after, passing };
}

/**
 * Makes a function that tells which tests a character passes: 1 for each. Its answers are cached, up to a maximum
 * weight.
 */
function testsPassed(tests: Program['tests']): (point: number) => Uint8Array {
  const taken = new Map<number, Uint8Array>();
  let weight = 0;
  return (point) => {
    const known = taken.get(point);
    if (known) return known;
    const character = String.fromCodePoint(point);
    const passed = Uint8Array.from(tests, (test) => Number(test.test(character)));
    weight += passed.length;
    if (weight > maxWeight) {
      taken.clear();
      weight = passed.length;
    }
    taken.set(point, passed);
    return passed;
  };
}

/** Caches the states of a program and the transitions between them. */
function machineOf(program: Program, beginsAnywhere: boolean): Machine {
  const { begin, after, passing } = steppingOf(program, beginsAnywhere);
  const states = new Map<string, State>();
  const firsts = new Map<number, State>();
  const bits = new Uint16Array(Math.ceil(program.steps.length / 16) + 1);
  let transitions = 0;
  let weight = 0;
  let unkept = 0;

  /** A lasting copy of the transient state, or the cached state with the same steps. */
  function kept({ reads, count, isEnd }: State): State {
    bits.fill(0);
    for (let at = 0; at < count; at += 1) {
      const index = reads[at] as number;
      bits[index >> 4] = (bits[index >> 4] as number) | (1 << (index & 15));
    }
    bits[bits.length - 1] = Number(isEnd);
    const key: string = Reflect.apply(String.fromCharCode, null, bits);
    const known = states.get(key);
    if (known) return known;
    const state = { reads: reads.slice(0, count), count, isEnd, nexts: new Map() };
    weight += count + bits.length;
    states.set(key, state);
    return state;
  }

  function forget(): void {
    for (const { nexts } of states.values()) nexts.clear();
    states.clear();
    firsts.clear();
    [transitions, weight] = [0, 0];
  }

  return {
    first(checks) {
      const known = firsts.get(checks);
      if (known) return known;
      const state = kept(begin(checks));
      firsts.set(checks, state);
      return state;
    },
    next(state, point, checks) {
      const key = point + checks * codePoints;
      const known = state.nexts.get(key);
      if (known) return known;
      if (unkept === 0 && (transitions === maxTransitions || weight > maxWeight)) {
        forget();
        unkept = pause;
      }
      if (unkept > 0) {
        unkept -= 1;
        return after(state, point, checks);
      }
      const following = kept(after(state, point, checks));
      // The transient state has been overwritten: a transition must not be cached on it.
      if (state === passing) return following;
      state.nexts.set(key, following);
      transitions += 1;
      return following;
    },
  };
}

function pointsOf(text: string): Uint32Array {
  const points = new Uint32Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; length += 1) {
    const point = text.codePointAt(at) as number;
    points[length] = point;
    at += point > 0xffff ? 2 : 1;
  }
  return points.subarray(0, length);
}

function isWord(point?: number): boolean {
  return point !== undefined && /^\w$/.test(String.fromCodePoint(point));
}
