import { fold } from './fold.ts';

/** A word of a text: as it is compared, and where it stands in the text. */
export type Word = { folded: string; start: number; end: number };

/** A part of what a search asks for: words that stand one after the other in one text; of the last, only its beginning with `isPrefix`. */
export type Term = { words: readonly string[]; isPrefix: boolean };

/** Letters, digits, and the marks on them. */
const wordPattern = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
const asciiPattern = /[A-Z0-9]+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const isAscii = /^[\x00-\x7f]*$/;

/** Marks that belong to no script of their own: accents and their kind. Vowels that are marks stay. */
const accents = /\p{Script=Inherited}+/gu;

/** Longer words are compared by their beginning: what is that long is no word, and the index would keep it. */
const longestWord = 64;

/** A word as it is compared: without regard to case, accents, and how its characters are composed. */
function foldWord(word: string): string {
  const folded = fold(word).normalize('NFD').replace(accents, '').normalize('NFC');
  return folded.length <= longestWord ? folded : folded.slice(0, longestWord).replace(/[\ud800-\udbff]$/, '');
}

/** The words of a text with their places. */
export function wordsIn(text: string): Word[] {
  const words: Word[] = [];
  for (const { 0: word, index } of text.matchAll(wordPattern)) {
    const folded = foldWord(word);
    if (folded !== '') words.push({ folded, start: index, end: index + word.length });
  }
  return words;
}

/** The words of a text as they are compared, in their order. */
export function foldedWords(text: string): string[] {
  if (!isAscii.test(text)) return wordsIn(text).map(({ folded }) => folded);
  const words = text.toUpperCase().match(asciiPattern) ?? [];
  return words.map((word) => (word.length > longestWord ? word.slice(0, longestWord) : word));
}

/**
 * Reads what a search asks for: words, and phrases in quotation marks. The last word is a prefix, unless it stands in a phrase: it
 * may not be written to its end. A quotation mark that none follows counts for nothing.
 */
export function readTerms(text: string): Term[] {
  const parts = text.split('"');
  const terms = parts.flatMap((part, index): Term[] => {
    const words = foldedWords(part);
    const isLast = index === parts.length - 1;
    const isPhrase = index % 2 === 1 && !isLast;
    if (isPhrase) return words.length > 0 ? [{ words, isPrefix: false }] : [];
    return words.map((word, at) => ({ words: [word], isPrefix: isLast && at === words.length - 1 }));
  });
  return [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()];
}

/** The words of a text in their order, and the places of each. */
export type Places = { words: readonly string[]; of: ReadonlyMap<string, readonly number[]> };

/** Notes the places of words: a text may be a megabyte, and be asked about a hundred terms. */
export function placesIn(words: readonly string[]): Places {
  const of = new Map<string, number[]>();
  for (const [place, word] of words.entries()) {
    const known = of.get(word);
    if (known) known.push(place);
    else of.set(word, [place]);
  }
  return { words, of };
}

/** The places at which a term begins. */
export function placesOf(term: Term, { words, of }: Places): number[] {
  const { words: wanted, isPrefix } = term;
  const [first = ''] = wanted;
  const begins = isPrefix && wanted.length === 1 ? words.keys() : (of.get(first) ?? []);
  const places: number[] = [];
  for (const at of begins) if (standsAt(term, words, at)) places.push(at);
  return places;
}

function standsAt({ words: wanted, isPrefix }: Term, words: readonly string[], at: number): boolean {
  return wanted.every((word, offset) => {
    const found = words[at + offset];
    if (found === undefined) return false;
    return isPrefix && offset === wanted.length - 1 ? found.startsWith(word) : found === word;
  });
}

/** Whether a text holds a term. */
export function holds(text: string, term: Term): boolean {
  const words = lastWords(text);
  const [first = ''] = term.words;
  if (term.words.length > 1) return words.some((word, at) => word === first && standsAt(term, words, at));
  return term.isPrefix ? words.some((word) => word.startsWith(first)) : words.includes(first);
}

/** Texts from which on their words are kept for the next term, in characters, and how many of them. */
const longText = 4096;
const mostKept = 8;
const kept: { text: string; words: string[] }[] = [];

/** SQLite asks about one term after the other, and of each about one field after the other. */
function lastWords(text: string): string[] {
  if (text.length < longText) return foldedWords(text);
  const known = kept.find((one) => one.text === text);
  if (known) return known.words;
  const words = foldedWords(text);
  // Of a text that is erased nothing stays behind the query.
  if (kept.length === 0) setImmediate(() => kept.splice(0));
  kept.push({ text, words });
  if (kept.length > mostKept) kept.shift();
  return words;
}

/**
 * How well texts fit a search: better, the more often they hold a term, the shorter the text, the earlier the field, and where a
 * prefix is the whole word. It is made of these texts alone: by how rare a word is elsewhere, a caller could count documents that
 * they may not read.
 */
export function scoreOf(texts: readonly string[], terms: readonly Term[]): number {
  let score = 0;
  for (const [index, text] of texts.entries()) {
    const places = placesIn(foldedWords(text));
    const { words } = places;
    for (const term of terms) {
      const last = term.words.at(-1) ?? '';
      let found = 0;
      for (const at of placesOf(term, places)) found += words[at + term.words.length - 1] === last ? 1 : 0.5;
      if (found > 0) score += (found / (found + 0.5 + words.length / 50)) * (1 / (1 + index));
    }
  }
  return score;
}
