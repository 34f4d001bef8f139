import { jsonPath, type Tables } from './tables.ts';

/**
 * The type that a value is compared as. `list` is a list of texts; `json` is anything that can only be there or not.
 */
export type ValueKind = 'text' | 'number' | 'boolean' | 'list' | 'json';

/** Where values are found: in a table's row, or in JSON. `path` leads into the row's document or the JSON. */
export type Place = { expression: string; path: readonly string[]; row: Row | null };

/**
 * A table's row, which stands under `alias`. `onlyIndex` names the only path whose index SQLite may use to find it; ''
 * is that of none.
 */
export type Row = { tables: Tables; alias: string; onlyIndex?: string | null };

/** The document of a row. */
export function rowOf(row: Row): Place {
  return { expression: inTexts(row.tables, row.alias, 'doc'), path: [], row };
}

/**
 * The text of a row's document. As of a position it may be live still; past texts come first, for they never change.
 */
export function inTexts({ texts, pastTexts, isPast = false }: Tables, alias: string, column: string): string {
  const live = `SELECT ${column} FROM ${texts} WHERE key = ${alias}.key`;
  if (!isPast) return `(${live})`;
  return `(SELECT ${column} FROM ${pastTexts} WHERE valid_from = ${alias}.valid_from UNION ALL ${live} LIMIT 1)`;
}

/** The server's own fields, and the columns that keep them. */
const ownColumns = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
]);

/**
 * The SQL expressions of a single value: as it is, folded, and as it is sorted by. `key` is a column of the folded text
 * that has an index.
 */
export type Value = { text: string; folded: string; sorted: string; key: string | null };

/** A single value: by its column where it has one. */
export function valueAt({ expression, path, row }: Place, kind: ValueKind): Value {
  if (row) {
    const own = ownColumns.get(path.join('.'));
    if (own) return ofColumn(columnOf(row, own, path.join('.')), false);
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

/** Whether the value at a place is in a column of its own, and not in the text of the document. */
export function isInColumn({ path, row }: Place): boolean {
  const name = path.join('.');
  return (
    row !== null &&
    (ownColumns.has(name) || row.tables.columns.some((one) => one.isStored && one.path.join('.') === name))
  );
}

/** With a plus sign before it, a column is an expression like any other, which no index serves. */
export function columnOf({ alias, onlyIndex = null }: Row, name: string, path: string): string {
  return `${onlyIndex === null || onlyIndex === path ? '' : '+'}${alias}.${name}`;
}

function ofColumn(text: string, hasCase: boolean): Value {
  const folded = foldedIn(text);
  return { text, folded, sorted: hasCase ? folded : text, key: null };
}

/**
 * Most texts are ASCII, which SQLite folds itself; of others, and where a NUL ends what `length` counts, it calls us.
 */
export function foldedIn(text: string): string {
  return `CASE WHEN octet_length(${text}) > length(${text}) THEN fold(${text}) ELSE upper(${text}) END`;
}

/** Reading JSON costs more than calling us: the value is named once. */
function computed(text: string, kind: ValueKind): Value {
  const folded = `fold(${text})`;
  return { text, folded, sorted: kind === 'text' ? folded : text, key: null };
}

/**
 * The value in JSON at a place, as a column would keep it: NULL when it is of another type than the field is by now.
 */
function ofKind(kind: ValueKind, place: string): string {
  const type = `json_type(${place})`;
  if (kind === 'boolean') return `(CASE ${type} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)`;
  if (kind === 'text') return `(CASE ${type} WHEN 'text' THEN json_extract(${place}) END)`;
  return `(CASE WHEN ${type} IN ('integer', 'real') THEN json_extract(${place}) END)`;
}

/** The table of the items of a list in JSON. */
export function eachOf({ expression, path }: Place): string {
  return `json_each(${expression}, '${jsonPath(path)}')`;
}
