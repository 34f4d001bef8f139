import { distance } from 'fastest-levenshtein';

const longestWord = 100;
const longestShown = 50;

/** The allowed word that is probably meant by `word`, ignoring case; undefined if none is close. */
export function nearest(word: string, allowed: Iterable<string>): string | undefined {
  // A word from a request may be a megabyte long, and the distance costs the product of both lengths.
  if (word.length > longestWord) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of allowed) {
    const other = candidate.toLowerCase();
    const found = distance(lower, other);
    if (found >= candidate.length || found >= bestDistance) continue;
    if (found > reach(candidate) && !(found === 2 && isMixedUp(lower, other))) continue;
    best = candidate;
    bestDistance = found;
  }
  return best;
}

/** The words, sorted by how close they are to `word`. */
export function byNearness(word: string, words: readonly string[]): string[] {
  const far = new Map(words.map((one) => [one, distance(word.toLowerCase(), one.toLowerCase())]));
  return words.toSorted((one, other) => (far.get(one) ?? 0) - (far.get(other) ?? 0));
}

/** The end of a message, `; did you mean "title"?`, or '' if no allowed word is close to `word`. */
export function didYouMean(word: unknown, allowed: Iterable<string>): string {
  const found = typeof word === 'string' ? nearest(word, allowed) : undefined;
  return found === undefined ? '' : `; did you mean ${show(found)}?`;
}

/**
 * A value as messages show it: JSON, cut to about 50 characters. A list is shown by its length only, an object as "an
 * object".
 */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > longestShown ? `${quoted(value.slice(0, longestShown))}…` : quoted(value);
  }
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** A text in JSON, with characters escaped that would change the direction of the message. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /\p{Bidi_Control}/gu,
    (turning) => `\\u${turning.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Words as messages list them, `"draft", "published"`. A long list is cut, with the number of further words. */
export function showAll(words: readonly string[], most = 30): string {
  const shown = words.slice(0, most).map(show).join(', ');
  return words.length > most ? `${shown} and ${words.length - most} more` : shown;
}

/** The number of letters that may be wrong: one in a short word, two fifths of a long one. */
function reach(candidate: string): number {
  return Math.max(1, Math.floor(candidate.length * 0.4));
}

/** Two swapped letters count as two wrong ones, but are the likeliest mistake in a short word. */
function isMixedUp(word: string, candidate: string): boolean {
  return word.length === candidate.length && [...word].sort().join('') === [...candidate].sort().join('');
}
