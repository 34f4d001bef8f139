import type { Check, Program } from './program.ts';

/** The steps that may come next, once a character was read; what follows is found out when it is first met. */
type State = { reads: readonly number[]; isEnd: boolean; nexts: Map<number, State> };

/** What is kept of what follows, for each program; a text of ever other characters would have it grow. */
const maxKept = 5000;
const codePoints = 0x110000;

/**
 * Tells whether a program matches a whole text. All ways are followed at once, so the time it takes grows as the length of the
 * text, times the size of the program at worst: there is nothing to go back to (Thompson, 1968).
 */
export function matcherOf(program: Program): (text: string) => boolean {
  const machines = new Map<Program, Machine>();
  const machineFor = (one: Program) => {
    const machine = machines.get(one) ?? machineOf(one, one !== program);
    machines.set(one, machine);
    return machine;
  };

  /** Which checks hold at a place, as bits. */
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

  /** At which places the program ends, wherever it began: 1 for each. */
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
      if (state.reads.length === 0) return false;
      state = next(state, points[at] as number, checksAt(at + 1));
    }
    return state.isEnd;
  };
}

type Machine = {
  first: (checks: number) => State;
  next: (state: State, point: number, checks: number) => State;
};

/** @param beginsAnywhere whether it may begin at each place, or at the first one only. */
function machineOf({ steps, start }: Program, beginsAnywhere: boolean): Machine {
  const states = new Map<string, State>();
  let kept = 0;

  /** The state of all that can be reached from these steps without reading. */
  function stateAt(from: readonly number[], checks: number): State {
    const seen = new Set<number>();
    const waiting = [...from];
    const reads: number[] = [];
    let isEnd = false;
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      const step = steps[index];
      if (seen.has(index) || !step) continue;
      seen.add(index);
      if (step.kind === 'split') waiting.push(...step.ways);
      else if (step.kind === 'end') isEnd = true;
      else if (step.kind === 'read') reads.push(index);
      else if (checks & (1 << step.check)) waiting.push(step.next);
    }
    const key = `${isEnd} ${reads.sort((a, b) => a - b)}`;
    const state = states.get(key) ?? { reads, isEnd, nexts: new Map() };
    states.set(key, state);
    return state;
  }

  function found(state: State, point: number, checks: number): State {
    const character = String.fromCodePoint(point);
    const from = beginsAnywhere ? [start] : [];
    for (const index of state.reads) {
      const step = steps[index];
      if (step?.kind === 'read' && step.test.test(character)) from.push(step.next);
    }
    return stateAt(from, checks);
  }

  return {
    first: (checks) => stateAt([start], checks),
    next(state, point, checks) {
      const key = point + checks * codePoints;
      const known = state.nexts.get(key);
      if (known) return known;
      if (kept === maxKept) {
        for (const { nexts } of states.values()) nexts.clear();
        states.clear();
        state.nexts.clear();
        kept = 0;
      }
      const following = found(state, point, checks);
      state.nexts.set(key, following);
      kept += 1;
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
