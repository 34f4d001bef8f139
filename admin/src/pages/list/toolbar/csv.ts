import { type Formatters, textOfValue } from '../../../parts/texts.ts';
import { valueAt } from '../../../schema/fields.ts';
import type { Column } from '../view/columns.ts';

/** Without a byte order mark, Excel reads a file in the code page of its machine. */
export const byteOrderMark = '\ufeff';

/** The most rows of an export. */
export const mostRows = 100_000;

/**
 * A row of CSV (RFC 4180), with its line end. Every cell is in quotes, and no spreadsheet takes it for a formula.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function csvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/** A text that no spreadsheet takes for a formula, guarded by apostrophes as in the exports of the service. */
function harmless(text: string): string {
  const start = isFormula(text) || text.startsWith("'") ? `'${text}` : text;
  return start.replace(/[;\t\r\n]/g, (separator, at: number) => {
    return isFormula(start.slice(at + separator.length)) ? `${separator}'` : separator;
  });
}

/** Characters that programs skip before they look for a formula. */
const ignored = /^[\s\p{C}\p{Z}\p{M}"'`´‘’‚‛“”„‟«»‹›＂＇]*/u;

function isFormula(text: string): boolean {
  if (/^[\t\r\n]/.test(text)) return true;
  const [skipped = ''] = ignored.exec(text) ?? [];
  const first = text.codePointAt(skipped.length);
  return first !== undefined && /^[=+\-@−]/u.test(String.fromCodePoint(first).normalize('NFKC'));
}

/** The cell of a document in a column: the text shown, but not shortened; numbers and times as programs read them. */
export function cellOf(document: object, column: Column, formatters: Formatters): string {
  const value = valueAt(document, column.path);
  if (value === null || value === undefined) return '';
  const { type } = column.field;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && column.field.options === undefined && column.field.relationTo === undefined)
    return value;
  if (type === 'array' || type === 'blocks' || type === 'json' || type === 'object') return JSON.stringify(value);
  return textOfValue(value, column.field, { ...formatters, isWhole: true });
}
