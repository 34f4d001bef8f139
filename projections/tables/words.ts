import { fold } from './fold.ts';

/** A word of a text: as it is compared, and where it stands in the text. */
export type Word = { folded: string; start: number; end: number };

/**
 * A part of what a search asks for: words that stand one after the other in one text; of the last, only its beginning
 * with `isPrefix`.
 */
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
 * Reads what a search asks for: words, and phrases in quotation marks. The last word is a prefix, unless it stands in a
 * phrase: it may not be written to its end. A quotation mark that none follows counts for nothing.
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
 * Characters, of some 50 words: in such a text a word counts for less than half of what it does in a very short one.
 */
const longTextOf = 300;

/**
 * Tells how well the texts of a document fit a search: better, the more often they hold a term, the shorter the text,
 * the earlier the field, and where a prefix is the whole word. It is made of these texts alone: by how rare a word is
 * elsewhere, a caller could count documents that they may not read.
 */
export function scorerOf(terms: readonly Term[]): (texts: readonly string[]) => number {
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

/** Tells how often each term is in a text; half as often where only the beginning of its last word is. */
function counterOf(terms: readonly Term[]): (text: string) => readonly number[] {
  // Cut words are equal to longer ones.
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

function timesAmong(folded: readonly string[], terms: readonly Term[]): number[] {
  const places = placesIn(folded);
  return terms.map((term) => {
    const last = term.words.at(-1) ?? '';
    let times = 0;
    for (const at of placesOf(term, places)) times += folded[at + term.words.length - 1] === last ? 1 : 0.5;
    return times;
  });
}

/** Without a string for each word: a thirtieth of the time. */
function timesInAscii(folded: string, { words: [wanted = ''], isPrefix }: Term): number {
  let times = 0;
  for (let at = folded.indexOf(wanted); at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
    if (at > 0 && isUpper(folded.charCodeAt(at - 1))) continue;
    const end = at + wanted.length;
    if (end === folded.length || !isUpper(folded.charCodeAt(end))) times += 1;
    else if (isPrefix) times += 0.5;
  }
  return times;
}

/** Whether a unit is one of a folded word of ASCII. */
function isUpper(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a);
}

/**
 * The kinds of units of UTF-16: between words, a letter or digit of ASCII, one of another script, half of a character,
 * not known yet.
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
 * The same for texts of any script, in an eighth of the time: of words of ASCII, those alone are looked at that begin
 * as a term does, and each of the others is folded once. Gives null for a text with characters of two units.
 */
function wordCounterOf(terms: readonly Term[]): (text: string) => number[] | null {
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
