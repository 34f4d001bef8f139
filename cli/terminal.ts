/** Standard output, as a terminal or not. */
export type Terminal = {
  /** Lines are cut to this many columns; infinite without a terminal. */
  columns: number;
  bold: (text: string) => string;
  red: (text: string) => string;
  green: (text: string) => string;
  dim: (text: string) => string;
};

type Output = { isTTY?: boolean; columns?: number };

/** Colours are for terminals, except with `NO_COLOR` (no-color.org) or a terminal without colours. */
export function terminalOf({ isTTY = false, columns = 80 }: Output, environment: NodeJS.ProcessEnv): Terminal {
  const hasColours = isTTY && !environment.NO_COLOR && environment.TERM !== 'dumb';
  const style = (code: number) => (text: string) => (hasColours ? `\u001b[${code}m${text}\u001b[0m` : text);
  const width = isTTY ? Math.max(columns, 20) : Number.POSITIVE_INFINITY;
  return { columns: width, bold: style(1), red: style(31), green: style(32), dim: style(2) };
}

/** Prints a line; exit code 0. */
export function printLine(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

/** Prints a line that is not what was asked for. */
export function printError(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints why a command did nothing, or has nothing to show; exit code 1. */
export function refused(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

/** Characters that move the cursor, reorder text, or are invisible: a document may hold any of them. */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** Text that is safe for a terminal: unsafe characters are escaped as in JSON, so JSON keeps its meaning. */
export function printable(text: string): string {
  return text.replace(unsafe, (found) => {
    return [...Array(found.length).keys()]
      .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join('');
  });
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The approximate width of a text in columns: East Asian characters and pictures take two. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += /\p{Mn}/u.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** A text in at most `columns` columns, with an ellipsis if it was cut. */
export function cut(text: string, columns: number): string {
  // A character has at most two columns.
  if (text.length <= columns / 2 || widthOf(text) <= columns) return text;
  let width = 1;
  let kept = '';
  for (const character of text) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Cells in columns of these widths; the last has its own width. */
export function row(cells: readonly string[], widths: readonly number[], columns: number): string {
  const padded = cells
    .map(printable)
    .map((text, at) => text + ' '.repeat(Math.max((widths[at] ?? 0) - widthOf(text), 0)));
  return cut(padded.join('  ').trimEnd(), columns);
}

/** Rows of cells as the lines of a table on standard output, the first row its titles. */
export function tableOf(rows: readonly (readonly string[])[], environment: NodeJS.ProcessEnv): string[] {
  const widths: number[] = [];
  for (const cells of rows)
    for (const [at, cell] of cells.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(printable(cell)));
  const { columns } = terminalOf(process.stdout, environment);
  return rows.map((cells) => row(cells, widths, columns));
}
