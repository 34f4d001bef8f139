import type { FieldType } from '../../../../../client/index.ts';
import { type DataField, dataFields, type Field, fieldAt, labelOf } from '../../../schema/fields.ts';
import { type Collection, isOfDrafts, type Model } from '../../../schema/model.ts';
import { titleField } from '../../../schema/titles.ts';
import type { Words } from '../../../words/index.ts';
import { isSortable } from '../filter/operators.ts';

/** A column of a list. */
export type Column = {
  /** The path of its field, which is its name in the address. */
  path: string;
  label: string;
  field: DataField;
  /** The paths to select, so that the answer has what the column shows and no more. */
  select: string[];
  /** The path that a list is sorted by; null if it cannot be sorted by this column. */
  sort: string | null;
};

/** The words for the members that each document has, in the language of the user. */
type Names = Pick<Words, 'list' | 'drafts'>;

type Shown = Pick<Collection, 'fields' | 'upload' | 'hasDrafts' | 'access'>;

/** The members that say how a document is published. */
function lineFields({ drafts: words }: Names): DataField[] {
  const optionsOf = (names: Record<string, string>) =>
    Object.entries(names).map(([value, label]) => ({ value, label }));
  return [
    { name: '__status', type: 'select', label: words.status, options: optionsOf(words.statuses) },
    { name: '__publishedAt', type: 'datetime', label: words.publishedAt },
    { name: '__review', type: 'select', label: words.review, options: optionsOf(words.reviews) },
  ];
}

/** The fields that every document has, with those that every file has, and those of drafts. */
function ownFields(collection: Shown, names: Names): DataField[] {
  const { upload } = collection;
  const files: DataField[] = upload
    ? [
        { name: 'filename', type: 'text' },
        { name: 'mimeType', type: 'text' },
        { name: 'filesize', type: 'number', integer: true },
        { name: 'width', type: 'number', integer: true },
        { name: 'height', type: 'number', integer: true },
      ]
    : [];
  return [
    ...files,
    ...(isOfDrafts(collection) ? lineFields(names) : []),
    { name: 'id', type: 'text', label: 'ID' },
    { name: 'createdAt', type: 'datetime', label: names.list.createdAt },
    { name: 'updatedAt', type: 'datetime', label: names.list.updatedAt },
  ];
}

/** A field and the dotted path of its value, with the labels of the objects around it before its own. */
export type ReadableField = { path: string; label: string; field: DataField };

/** The fields that the user may read; fields inside objects are listed one by one. */
export function readableFields(collection: Shown, names: Names): ReadableField[] {
  const own = ownFields(collection, names).map((field) => ({ path: field.name, label: labelOf(field), field }));
  return [...within(collection.fields, '', ''), ...own];
}

function within(fields: readonly Field[], path: string, label: string): ReadableField[] {
  return dataFields(fields).flatMap((field) => {
    if (field.access?.read === false || field.admin?.hidden) return [];
    const entry = { path: path + field.name, label: label + labelOf(field), field };
    if (field.type !== 'object') return [entry];
    return within(field.fields ?? [], `${entry.path}.`, `${entry.label} › `);
  });
}

/** All columns that a list of this collection can have. */
export function columnsOf(collection: Collection, model: Model, names: Names): Column[] {
  return readableFields(collection, names)
    .filter(({ field }) => field.type !== 'join')
    .map((entry) => ({ ...entry, ...pathsOf(entry, model) }));
}

function pathsOf({ path, field }: ReadableField, model: Model): { select: string[]; sort: string | null } {
  const target = field.relationTo === undefined ? undefined : model.collections.get(field.relationTo);
  const sort = isSortable(field) ? path : null;
  if (target === undefined || !target.access.read) return { select: [path], sort };
  const title = titleField(target);
  if (field.type === 'upload') {
    const parts = ['filename', 'mimeType', 'filesize', 'url'];
    return { select: parts.map((part) => `${path}.${part}`), sort: null };
  }
  const named = fieldAt(target.fields, title);
  return {
    select: [`${path}.${title}`],
    sort: sort !== null && named && isSortable(named) ? `${path}.${title}` : sort,
  };
}

/** The ranks of field types for default columns, the lowest first. Other types are never default columns. */
const weights: Partial<Record<FieldType, number>> = {
  select: 0,
  radio: 0,
  relationship: 1,
  date: 2,
  datetime: 2,
  boolean: 3,
  upload: 4,
  number: 5,
  email: 6,
  text: 7,
};

const mostDefault = 4;

/**
 * The columns of a list before the user chooses: those of the configuration, else the title, the columns of the best
 * rank, and the last change.
 */
export function defaultColumns(collection: Collection, all: readonly Column[]): Column[] {
  const { defaultColumns: configured } = collection.hints;
  if (configured !== undefined && configured.length > 0) return named(all, withStatus(configured));
  const title = titleField(collection);
  const best = all
    .filter((column) => column.path !== title && isTelling(column))
    .toSorted((one, other) => weightOf(one) - weightOf(other))
    .slice(0, mostDefault);
  const paths = all.filter((column) => best.includes(column)).map(({ path }) => path);
  return named(all, [title, '__status', ...paths, 'updatedAt']);
}

/** The configured columns, with the status after the first. Without drafts there is no such column. */
function withStatus([first = 'id', ...others]: readonly string[]): string[] {
  return [first, '__status', ...others];
}

function weightOf({ field }: Column): number {
  return weights[field.type] ?? Number.MAX_SAFE_INTEGER;
}

function isTelling({ path, field }: Column): boolean {
  const isOwn = ['id', 'createdAt', 'updatedAt', 'mimeType'].includes(path) || path.startsWith('__');
  return weights[field.type] !== undefined && !field.hasMany && !isOwn && !path.includes('.');
}

/** The columns with these paths, in this order; paths without a column are left out. */
export function named(all: readonly Column[], paths: readonly string[]): Column[] {
  const byPath = new Map(all.map((column) => [column.path, column]));
  return [...new Set(paths)].map((path) => byPath.get(path)).filter((column) => column !== undefined);
}

/** The paths that a request selects: those of the columns, and the title of each row. */
export function selectOf(columns: readonly Column[], collection: Collection): string[] {
  const title = titleField(collection);
  return [...new Set([...columns.flatMap(({ select }) => select), title])].filter((path) => path !== 'id');
}

/** The state of the sort on a column: only the first key of the sort is shown. */
export function sortOf(sort: string | null, column: Column): 'ascending' | 'descending' | 'none' {
  const [first = ''] = (sort ?? '').split(',');
  const isThis = column.sort !== null && [column.sort, column.path].includes(first.replace(/^-/, ''));
  if (!isThis) return 'none';
  return first.startsWith('-') ? 'descending' : 'ascending';
}

/** The sort after a click on the head of a column: ascending, then descending, then the default. */
export function nextSort(sort: string | null, column: Column): string | null {
  const state = sortOf(sort, column);
  if (state === 'none') return column.sort;
  return state === 'ascending' ? `-${column.sort}` : null;
}
