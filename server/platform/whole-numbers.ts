/**
 * A whole number in JSON that JavaScript would change: the keys that lead to it, long ones cut to some hundred
 * characters, and the error.
 */
type LostNumber = { path: readonly string[]; problem: string };

/** Numbers with fewer digits are kept exactly. */
const hasManyDigits = /\d{16}/;
const mostTold = 100;
const mostLevelsTold = 100;
/** How many characters of a key are read: more than 200 characters of it, however they are escaped. */
const mostSigns = 1500;

/**
 * Finds at most 100 whole numbers of a JSON text that reading changes, because JavaScript's numbers hold only 15 digits
 * reliably. A number passes that is written as it will be answered, so that a value which was read can be sent back.
 * Decimals and powers of ten are read to the nearest number, as everywhere.
 *
 * @param text valid JSON.
 */
export function lostNumbers(text: string): LostNumber[] {
  return hasManyDigits.test(text) ? [...walk(text)] : [];
}

/**
 * The error of a number, as the end of "must …"; undefined for a number with a fraction, or a number that is kept
 * exactly.
 */
export function lostNumberProblem(source: string): string | undefined {
  if (source.length < 16 || !/^-?\d+$/.test(source)) return undefined;
  const becomes = digitsOf(Number(source));
  if (becomes === source) return undefined;
  const shown = (digits: string) => (digits.length > 40 ? `${digits.slice(0, 40)}…` : digits);
  return `be a number that JSON keeps, got ${shown(source)}, which becomes ${shown(becomes)}; a text keeps every digit`;
}

/** A whole number in JSON, without a power of ten. */
function digitsOf(number: number): string {
  const [, sign, first, rest = '', power] = /^(-?)(\d)(?:\.(\d+))?e\+(\d+)$/.exec(String(number)) ?? [];
  return power === undefined ? String(number) : `${sign}${first}${rest.padEnd(Number(power), '0')}`;
}

/**
 * The place of the walk in a list or an object: `key` is an index, or the position in the text at which a name begins.
 */
type Level = { isList: boolean; key: number; isAtName: boolean };

/** Walks the text, because a reviver of `JSON.parse` is called for every value and knows no path. */
function* walk(text: string): Generator<LostNumber> {
  const levels: Level[] = [];
  let left = mostTold;
  for (let at = 0; at < text.length && left > 0; at += 1) {
    const sign = text[at] as string;
    const level = levels.at(-1);
    if (sign === '"') {
      if (level?.isAtName) level.key = at;
      at = endOfText(text, at);
    } else if (sign === '{' || sign === '[') levels.push({ isList: sign === '[', key: 0, isAtName: sign === '{' });
    else if (sign === '}' || sign === ']') levels.pop();
    else if (sign === ':' && level) level.isAtName = false;
    else if (sign === ',' && level) {
      if (level.isList) level.key += 1;
      else level.isAtName = true;
    } else if (sign === '-' || (sign >= '0' && sign <= '9')) {
      const end = endOfNumber(text, at);
      const problem = lostNumberProblem(text.slice(at, end));
      if (problem !== undefined) {
        left -= 1;
        yield { path: levels.slice(0, mostLevelsTold).map((one) => nameOf(text, one)), problem };
      }
      at = end - 1;
    }
  }
}

/** The position of the quotation mark that ends the text which begins at a position. */
function endOfText(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
}

/** A number ends before a comma, a bracket or white space. */
function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && '0123456789.eE+-'.includes(text[end] as string)) end += 1;
  return end;
}

/** A key from its quotation mark on, without the closing one; if it is cut, not within an escape. */
const wholeSigns = /^"(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*/;

function nameOf(text: string, { isList, key }: Level): string {
  if (isList) return String(key);
  const [whole] = text.slice(key, key + mostSigns).match(wholeSigns) as RegExpMatchArray;
  return JSON.parse(`${whole}"`);
}
