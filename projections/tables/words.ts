import { fold } from './fold.ts';

/** A word of a text: as it is compared, and its start and end in the text. */
export type Word = { folded: string; start: number; end: number };

/**
 * A term of a search: words that follow each other in one text. With `isPrefix`, the last word may be the beginning of
 * a word.
 */
export type SearchTerm = { words: readonly string[]; isPrefix: boolean };

/** Letters, digits, and the marks on them. */
const wordPattern = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;
const asciiPattern = /[A-Z0-9]+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const isAscii = /^[\x00-\x7f]*$/;

/** Marks that belong to no single script, such as accents. Vowels that are marks stay. */
const accents = /\p{Script=Inherited}+/gu;

/** Longer words are compared by their beginning: nothing that long is a real word, and the index would keep it. */
const longestWord = 64;

/** A word in the form in which it is compared: without regard to case, accents, and how its characters are composed. */
function foldWord(word: string): string {
  const folded = fold(word).normalize('NFD').replace(accents, '').normalize('NFC');
  return folded.length <= longestWord ? folded : folded.slice(0, longestWord).replace(/[\ud800-\udbff]$/, '');
}

/** The words of a text, with their starts and ends. */
export function wordsIn(text: string): Word[] {
  const words: Word[] = [];
  for (const { 0: word, index } of text.matchAll(wordPattern)) {
    const folded = foldWord(word);
    if (folded !== '') words.push({ folded, start: index, end: index + word.length });
  }
  return words;
}

/** The folded words of a text, in their order. */
export function foldedWords(text: string): string[] {
  if (!isAscii.test(text)) return wordsIn(text).map(({ folded }) => folded);
  const words = text.toUpperCase().match(asciiPattern) ?? [];
  return words.map((word) => (word.length > longestWord ? word.slice(0, longestWord) : word));
}

/**
 * Reads the terms of a search: words, and phrases in quotation marks. The last word is a prefix, for it may not be
 * written to its end, unless it is in a phrase. A quotation mark without a second one is ignored.
 */
export function readTerms(text: string): SearchTerm[] {
  const parts = text.split('"');
  const terms = parts.flatMap((part, index): SearchTerm[] => {
    const words = foldedWords(part);
    const isLast = index === parts.length - 1;
    const isPhrase = index % 2 === 1 && !isLast;
    if (isPhrase) return words.length > 0 ? [{ words, isPrefix: false }] : [];
    return words.map((word, at) => ({ words: [word], isPrefix: isLast && at === words.length - 1 }));
  });
  return [...new Map(terms.map((term) => [JSON.stringify(term), term])).values()];
}

/** The words of a text in their order, and the offsets of each, counted in words. */
type WordOffsets = { words: readonly string[]; of: ReadonlyMap<string, readonly number[]> };

/** Indexes the offsets of words: a text may be a megabyte, and be searched for a hundred terms. */
export function offsetsIn(words: readonly string[]): WordOffsets {
  const of = new Map<string, number[]>();
  for (const [place, word] of words.entries()) {
    const known = of.get(word);
    if (known) known.push(place);
    else of.set(word, [place]);
  }
  return { words, of };
}

/** The offsets at which a term begins. */
export function offsetsOf(term: SearchTerm, { words, of }: WordOffsets): number[] {
  const { words: wanted, isPrefix } = term;
  const [first = ''] = wanted;
  const begins = isPrefix && wanted.length === 1 ? words.keys() : (of.get(first) ?? []);
  const places: number[] = [];
  for (const at of begins) if (standsAt(term, words, at)) places.push(at);
  return places;
}

function standsAt({ words: wanted, isPrefix }: SearchTerm, words: readonly string[], at: number): boolean {
  return wanted.every((word, offset) => {
    const found = words[at + offset];
    if (found === undefined) return false;
    return isPrefix && offset === wanted.length - 1 ? found.startsWith(word) : found === word;
  });
}

/** Whether a text holds a term. */
export function holds(text: string, term: SearchTerm): boolean {
  const words = lastWords(text);
  const [first = ''] = term.words;
  if (term.words.length > 1) return words.some((word, at) => word === first && standsAt(term, words, at));
  return term.isPrefix ? words.some((word) => word.startsWith(first)) : words.includes(first);
}

/**
 * The length, in characters, from which the words of a text are kept for the next term, and the number of such texts.
 */
const longText = 4096;
const mostKept = 8;
const kept: { text: string; words: string[] }[] = [];

/**
 * The words of a text, kept for the next call: SQLite asks about one term after the other, and for each term about one
 * field after the other.
 */
function lastWords(text: string): string[] {
  if (text.length < longText) return foldedWords(text);
  const known = kept.find((one) => one.text === text);
  if (known) return known.words;
  const words = foldedWords(text);
  // No word of an erased text stays after the query.
  if (kept.length === 0) setImmediate(() => kept.splice(0));
  kept.push({ text, words });
  if (kept.length > mostKept) kept.shift();
  return words;
}

/** In characters, some 50 words: in such a text a word counts less than half of what it counts in a very short text. */
const longTextOf = 300;

/**
 * Scores how well the texts of a document fit a search: better, the more often they hold a term, the shorter the text,
 * the earlier the field, and if a prefix is the whole word. Only these texts count: by the rarity of a word elsewhere,
 * callers could count documents that they may not read.
 */
export function scorerOf(terms: readonly SearchTerm[]): (texts: readonly string[]) => number {
  const timesIn = counterOf(terms);
  return (texts) => {
    let score = 0;
    for (const [index, text] of texts.entries()) {
      for (const times of timesIn(text)) {
        if (times > 0) score += times / (times + 0.5 + text.length / longTextOf) / (1 + index);
      }
    }
    return score;
  };
}

/** Counts how often each term is in a text; a match of only the beginning of its last word counts half. */
function counterOf(terms: readonly SearchTerm[]): (text: string) => readonly number[] {
  // A cut word equals longer words.
  const isPlain = terms.every(({ words: [word = '', ...more] }) => more.length === 0 && word.length < longestWord);
  if (!isPlain) return (text) => timesAmong(foldedWords(text), terms);
  const none = terms.map(() => 0);
  const inWords = wordCounterOf(terms);
  return (text) => {
    if (text === '') return none;
    if (!isAscii.test(text)) return inWords(text) ?? timesAmong(foldedWords(text), terms);
    const folded = text.toUpperCase();
    return terms.map((term) => timesInAscii(folded, term));
  };
}

function timesAmong(folded: readonly string[], terms: readonly SearchTerm[]): number[] {
  const places = offsetsIn(folded);
  return terms.map((term) => {
    const last = term.words.at(-1) ?? '';
    let times = 0;
    for (const at of offsetsOf(term, places)) times += folded[at + term.words.length - 1] === last ? 1 : 0.5;
    return times;
  });
}

/** Counts without a string for each word, in a thirtieth of the time. */
function timesInAscii(folded: string, { words: [wanted = ''], isPrefix }: SearchTerm): number {
  let times = 0;
  for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
    if (at > 0 && isUpper(folded.charCodeAt(at - 1))) continue;
    const end = at + wanted.length;
    if (end === folded.length || !isUpper(folded.charCodeAt(end))) times += 1;
    else if (isPrefix) times += 0.5;
  }
  return times;
}

/** Whether a UTF-16 unit belongs to a folded ASCII word. */
function isUpper(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a);
}

/**
 * The kinds of UTF-16 units: between words, a letter or digit of ASCII, a letter or digit of another script, half of a
 * character, not known yet.
 */
const kinds = { gap: 0, ascii: 1, other: 2, half: 3, unknown: 4 } as const;
const kindsOfUnits = new Uint8Array(0x10000).fill(kinds.unknown);
const wordUnit = /^[\p{L}\p{N}\p{M}\p{Co}]$/u;

function kindOf(unit: number): number {
  let kind: number = kindsOfUnits[unit] ?? kinds.gap;
  if (kind !== kinds.unknown) return kind;
  kind = unit < 0x80 ? kinds.ascii : kinds.other;
  if (unit >= 0xd800 && unit <= 0xdfff) kind = kinds.half;
  else if (!wordUnit.test(String.fromCharCode(unit))) kind = kinds.gap;
  kindsOfUnits[unit] = kind;
  return kind;
}

/**
 * Counts terms in texts of any script, in an eighth of the time: it looks only at ASCII words that begin as a term
 * does, and folds each other word once. Gives null for a text with characters of two units.
 */
function wordCounterOf(terms: readonly SearchTerm[]): (text: string) => number[] | null {
  const folded = new Map<string, string>();
  const firsts = new Set(terms.flatMap(({ words: [word = ''] }) => [word.charAt(0), word.charAt(0).toLowerCase()]));
  const isFirst = Uint8Array.from({ length: 0x80 }, (_, unit) => Number(firsts.has(String.fromCharCode(unit))));

  function foldedOf(word: string): string {
    const known = folded.get(word);
    if (known !== undefined) return known;
    const found = foldWord(word);
    folded.set(word, found);
    return found;
  }

  function note(word: string, times: number[]): void {
    for (const [index, { words, isPrefix }] of terms.entries()) {
      const [wanted = ''] = words;
      if (word === wanted) times[index] = (times[index] ?? 0) + 1;
      else if (isPrefix && word.startsWith(wanted)) times[index] = (times[index] ?? 0) + 0.5;
    }
  }

  return (text) => {
    const times = terms.map(() => 0);
    const { length } = text;
    let at = 0;
    while (at < length) {
      const start = at;
      let isPlain = true;
      for (; at < length; at += 1) {
        const kind = kindOf(text.charCodeAt(at));
        if (kind === kinds.half) return null;
        if (kind === kinds.gap) break;
        if (kind === kinds.other) isPlain = false;
      }
      if (at === start) at += 1;
      else if (!isPlain) note(foldedOf(text.slice(start, at)), times);
      else if (isFirst[text.charCodeAt(start)] === 1) note(foldedOf(text.slice(start, at)), times);
    }
    return times;
  };
}
