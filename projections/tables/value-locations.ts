import { jsonPath, type Tables } from './tables.ts';

/**
 * The type as which a value is compared. `list` is a list of texts; `json` is any value that can only be present or
 * absent.
 */
export type ValueKind = 'text' | 'number' | 'boolean' | 'list' | 'json';

/** The location of a value: in a row of a table, or in JSON. `path` leads into the row's document or the JSON. */
export type ValueLocation = { expression: string; path: readonly string[]; row: TableRow | null };

/**
 * A row of a table, under `alias`. `onlyIndex` names the only path whose index SQLite may use to find the row; ''
 * allows no index.
 */
export type TableRow = { tables: Tables; alias: string; onlyIndex?: string | null };

/** The location of a row's document. */
export function rowOf(row: TableRow): ValueLocation {
  return { expression: inTexts(row.tables, row.alias, 'doc'), path: [], row };
}

/**
 * The text of a row's document. In tables as of a position the version may still be live; past texts come first, for
 * they never change.
 */
export function inTexts(tables: Tables, alias: string, column: string): string {
  const { texts, pastTexts, isPast = false, overlay } = tables;
  if (overlay) {
    const { under, over } = overlay;
    return `(CASE ${alias}.is_over WHEN 0 THEN ${inTexts(under, alias, column)} ELSE ${inTexts(over, alias, column)} END)`;
  }
  const live = `SELECT ${column} FROM ${texts} WHERE key = ${alias}.key`;
  if (!isPast) return `(${live})`;
  return `(SELECT ${column} FROM ${pastTexts} WHERE valid_from = ${alias}.valid_from UNION ALL ${live} LIMIT 1)`;
}

/** The fields that the server sets, and their columns. */
const ownColumns = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
  ['__publishedAt', 'published_at'],
]);

/**
 * The SQL expressions of a single value: as it is, folded, and as it is sorted. `key` is an indexed column with the
 * folded text.
 */
export type ValueSql = { text: string; folded: string; sorted: string; key: string | null };

/** A single value; by its column if it has one. */
export function valueAt({ expression, path, row }: ValueLocation, kind: ValueKind): ValueSql {
  if (row) {
    const own = ownColumns.get(path.join('.'));
    if (own) return ofColumn(columnOf(row, own, path.join('.')), false);
    const ofLine = path.length === 1 ? lineValue(row, path[0]) : null;
    if (ofLine) return ofColumn(ofLine, false);
    const column = row.tables.columns.find((one) => one.path.join('.') === path.join('.'));
    if (column && !column.isStored) return computed(inTexts(row.tables, row.alias, column.name), kind);
    if (column) {
      const text = columnOf(row, column.name, path.join('.'));
      const key = column.key && columnOf(row, column.key, path.join('.'));
      return key ? { text, folded: key, sorted: key, key } : ofColumn(text, column.hasCase);
    }
  }
  return computed(ofKind(kind, `${expression}, '${jsonPath(path)}'`), kind);
}

/** The value of a row that says how its document is published; null for other names. */
function lineValue({ tables, alias }: TableRow, name: string | undefined): string | null {
  const hasDrafts = hasDraftRows(tables);
  if (name === '__review') return hasDrafts ? `${alias}.review` : 'NULL';
  if (name !== '__status') return null;
  const ofDraft = `CASE ${alias}.is_public WHEN 1 THEN 'changed' ELSE 'draft' END`;
  if (tables.overlay && hasDrafts) return `(CASE ${alias}.is_over WHEN 0 THEN 'published' ELSE ${ofDraft} END)`;
  return hasDrafts ? `(${ofDraft})` : `'published'`;
}

/** Whether some rows are drafts: an overlay may also have public states over others. */
export function hasDraftRows({ line, overlay }: Tables): boolean {
  return (overlay?.over.line ?? line) === 'draft';
}

/** Whether the value at a location has its own column, beside the text of the document. */
export function isInColumn({ path, row }: ValueLocation): boolean {
  const name = path.join('.');
  return (
    row !== null &&
    (ownColumns.has(name) ||
      lineValue(row, name) !== null ||
      row.tables.columns.some((one) => one.isStored && one.path.join('.') === name))
  );
}

/** A column. With a plus sign before it, it is an expression that no index serves. */
export function columnOf({ alias, onlyIndex = null }: TableRow, name: string, path: string): string {
  return `${onlyIndex === null || onlyIndex === path ? '' : '+'}${alias}.${name}`;
}

function ofColumn(text: string, hasCase: boolean): ValueSql {
  const folded = foldedIn(text);
  return { text, folded, sorted: hasCase ? folded : text, key: null };
}

/**
 * The folded text. SQLite folds ASCII itself, and most texts are ASCII; for others, and for texts with a NUL, at which
 * `length` ends, it calls our function.
 */
export function foldedIn(text: string): string {
  return `CASE WHEN octet_length(${text}) > length(${text}) THEN fold(${text}) ELSE upper(${text}) END`;
}

/** A value from JSON. Reading JSON costs more than calling our function, so the value occurs once. */
function computed(text: string, kind: ValueKind): ValueSql {
  const folded = `fold(${text})`;
  return { text, folded, sorted: kind === 'text' ? folded : text, key: null };
}

/**
 * The value in JSON at a location, as a column would keep it: NULL if its type is not the present type of the field.
 */
function ofKind(kind: ValueKind, place: string): string {
  const type = `json_type(${place})`;
  if (kind === 'boolean') return `(CASE ${type} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)`;
  if (kind === 'text') return `(CASE ${type} WHEN 'text' THEN json_extract(${place}) END)`;
  return `(CASE WHEN ${type} IN ('integer', 'real') THEN json_extract(${place}) END)`;
}

/** The table of the items of a list in JSON. */
export function eachOf({ expression, path }: ValueLocation): string {
  return `json_each(${expression}, '${jsonPath(path)}')`;
}
