import type { AST } from '@eslint-community/regexpp';

/**
 * The pattern as places, one for each character that it reads, and in how many ways each place may follow another;
 * numbers above 2 count as 2. After Glushkov (1961), with counted ways.
 */
type Places = { tests: RegExp[]; follows: Map<number, number>[] };
/** Places by index, with the number of ways in which each comes first or last. */
type Ways = Map<number, number>;
/**
 * A part of the pattern: the places it may begin and end with. `skips` is the number of ways in which it matches the
 * empty text.
 */
type Part = { first: Ways; last: Ways; skips: number };

/** Limits of the analysis: a pattern with more places, or more ways between pairs of places, is not analysed. */
const maxPlaces = 100;
const maxWays = 500_000;
/** A part with more repetitions is treated as repeated without end. */
const maxCopies = 8;

class TooLarge extends Error {}

/**
 * Whether there are texts that a backtracking engine needs exponential time to reject. There are if the same characters
 * lead from some place back to it in two ways (Weber and Seidl, 1991), as in `(a+)+` or `(\d|\w)*`.
 */
export function isExponential({ alternatives }: AST.Pattern): boolean {
  const places: Places = { tests: [], follows: [] };
  try {
    anyOf(places, alternatives);
    return comesBackInTwoWays(places);
  } catch (error) {
    if (error instanceof TooLarge) return false;
    throw error;
  }
}

const nothing: Part = { first: new Map(), last: new Map(), skips: 1 };

function anyOf(places: Places, alternatives: readonly AST.Alternative[]): Part {
  const parts = alternatives.map(({ elements }) =>
    elements.reduce((before, element) => joined(places, before, partOf(places, element)), nothing),
  );
  return {
    first: sum(parts.map(({ first }) => first)),
    last: sum(parts.map(({ last }) => last)),
    skips: few(parts.reduce((count, { skips }) => count + skips, 0)),
  };
}

function partOf(places: Places, node: AST.Element): Part {
  switch (node.type) {
    case 'Character':
    case 'CharacterSet':
    case 'CharacterClass':
      return place(places, node.raw);
    case 'Group':
    case 'CapturingGroup':
      return anyOf(places, node.alternatives);
    case 'Quantifier':
      return repeated(places, node);
    case 'Assertion':
      // The inside is analysed separately: nothing comes before or after it.
      if ('alternatives' in node) anyOf(places, node.alternatives);
      return nothing;
    default:
      return nothing;
  }
}

function place({ tests, follows }: Places, raw: string): Part {
  if (tests.length === maxPlaces) throw new TooLarge();
  const index = tests.push(new RegExp(`^${raw}$`, 'u')) - 1;
  follows.push(new Map());
  return { first: new Map([[index, 1]]), last: new Map([[index, 1]]), skips: 0 };
}

function repeated(places: Places, { element, min, max }: AST.Quantifier): Part {
  if (max === 0) return nothing;
  if (max > maxCopies) {
    const part = partOf(places, element);
    follow(places, part.last, part.first);
    return min === 0 ? optional(part) : part;
  }
  let whole = nothing;
  // From the last copy to the first: an optional copy is left out together with all copies after it.
  for (let count = max; count > 0; count -= 1) {
    whole = joined(places, partOf(places, element), whole);
    if (count > min) whole = optional(whole);
  }
  return whole;
}

/** In only one way, because an engine does not repeat a part that reads nothing. */
function optional(part: Part): Part {
  return { ...part, skips: 1 };
}

function joined(places: Places, before: Part, after: Part): Part {
  follow(places, before.last, after.first);
  return {
    first: sum([before.first, times(after.first, before.skips)]),
    last: sum([after.last, times(before.last, after.skips)]),
    skips: few(before.skips * after.skips),
  };
}

function follow({ follows }: Places, last: Ways, first: Ways): void {
  for (const [from, ends] of last) {
    const ways = follows[from] as Ways;
    for (const [to, begins] of first) ways.set(to, few((ways.get(to) ?? 0) + ends * begins));
  }
}

function sum(all: readonly Ways[]): Ways {
  const result: Ways = new Map();
  for (const ways of all) for (const [at, count] of ways) result.set(at, few((result.get(at) ?? 0) + count));
  return result;
}

function times(ways: Ways, count: number): Ways {
  return count === 0 ? new Map() : new Map([...ways].map(([at, ways]) => [at, few(ways * count)]));
}

function few(count: number): number {
  return Math.min(count, 2);
}

/**
 * Follows pairs of places that the same characters lead to. A pair that starts at one place, diverges and meets again
 * at the same place can do so again and again.
 */
function comesBackInTwoWays({ tests, follows }: Places): boolean {
  const size = tests.length;
  const overlaps = overlapsOf(tests);
  const pairsAfter = (pair: number): number[] => {
    const [one, other] = [follows[Math.floor(pair / size)] as Ways, follows[pair % size] as Ways];
    return [...one.keys()].flatMap((a) => [...other.keys()].filter((b) => overlaps(a, b)).map((b) => a * size + b));
  };
  const nexts = new Map<number, number[]>();
  const next = (pair: number) => {
    const known = nexts.get(pair) ?? pairsAfter(pair);
    nexts.set(pair, known);
    return known;
  };
  let ways = 0;
  for (let at = 0; at < size; at += 1) {
    const home = at * size + at;
    const reached = new Set([home]);
    const before = new Map<number, number[]>();
    for (const pair of reached) {
      const following = next(pair);
      ways += following.length;
      if (ways > maxWays) throw new TooLarge();
      for (const other of following) {
        reached.add(other);
        const known = before.get(other);
        if (known) known.push(pair);
        else before.set(other, [pair]);
      }
    }
    // The pairs from which a way leads back to `home`.
    const back = new Set([home]);
    for (const pair of back) for (const earlier of before.get(pair) ?? []) back.add(earlier);
    for (const pair of back) if (Math.floor(pair / size) !== pair % size) return true;
    for (const [to, count] of follows[at] as Ways) if (count > 1 && back.has(to * size + to)) return true;
  }
  return false;
}

/**
 * Some characters of each kind. Two places overlap if both take one of these, or a character in the source of either.
 */
const samples = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...['\u00a0', '\u00e9', '\u00df', '\u0416', '\u0660', '\u2028', '\u3042', '\u4e2d', '\u{1f600}', '\u{10ffff}'],
];

function overlapsOf(tests: readonly RegExp[]): (a: number, b: number) => boolean {
  const own = tests.flatMap(({ source }) => [...source]);
  const characters = [...new Set([...samples, ...own])];
  const taken = tests.map((test) => new Set(characters.filter((character) => test.test(character))));
  const overlaps = taken.map((one) => taken.map((other) => !one.isDisjointFrom(other)));
  return (a, b) => overlaps[a]?.[b] === true;
}
