/** Excel takes a file without one for text in the code page of its machine. */
export const byteOrderMark = '\ufeff';

/**
 * A row of CSV (RFC 4180), with its line end. Every cell is in quotes, and no cell can be taken for a formula.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/**
 * A text that no spreadsheet takes for a formula. A text that begins like a formula, after any white space, quotes or
 * invisible characters, gets an apostrophe before it. So does such a beginning after a semicolon, tab or line break,
 * since programs with another list separator begin a new cell there. A text that begins with an apostrophe gets one
 * more.
 *
 * @param isGuarded says after which separators a guard is needed, by the text that follows.
 */
export function harmless(text: string, isGuarded = isFormula): string {
  const start = isFormula(text) || text.startsWith("'") ? `'${text}` : text;
  return start.replace(separators, (separator, at: number) => {
    return isGuarded(start.slice(at + separator.length)) ? `${separator}'` : separator;
  });
}

const separators = /[;\t\r\n]/g;
/**
 * Characters that programs skip before they look for a formula: white space, controls, invisible characters, quotes.
 */
const ignored = /^[\s\p{C}\p{Z}\p{M}"'`´‘’‚‛“”„‟«»‹›＂＇]*/u;

/** Whether a program may take a text for a formula. */
export function isFormula(text: string): boolean {
  if (/^[\t\r\n]/.test(text)) return true;
  const [skipped = ''] = ignored.exec(text) ?? [];
  const first = text.codePointAt(skipped.length);
  // Full-width and small forms are the same character to some programs.
  return first !== undefined && /^[=+\-@−]/u.test(String.fromCodePoint(first).normalize('NFKC'));
}

/** JSON in a cell: a semicolon in it, which could begin a new cell, is written as JSON allows, so the value stays. */
export function jsonCell(value: unknown): string {
  return JSON.stringify(value).replaceAll(';', '\\u003b');
}
