import type { FieldType } from '../../../../../client/index.ts';
import { type DataField, dataFields, type Field, fieldAt, labelOf } from '../../../schema/fields.ts';
import type { Collection, Model } from '../../../schema/model.ts';
import { titleField } from '../../../schema/titles.ts';
import { isSortable } from '../filter/operators.ts';

/** A column of a list. */
export type Column = {
  /** The path of its field, which is its name in the address. */
  path: string;
  label: string;
  field: DataField;
  /** The paths that are asked for, so that the answer has what the column shows and no more. */
  select: string[];
  /** The path that a list is sorted by; null where it cannot be sorted by this column. */
  sort: string | null;
};

/** The names of the times that each document has, in the language of the user. */
type TimeNames = { createdAt: string; updatedAt: string };

/** The fields of every document, and of every file. */
function ownFields({ upload }: Pick<Collection, 'upload'>, names: TimeNames): DataField[] {
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
    { name: 'id', type: 'text', label: 'ID' },
    { name: 'createdAt', type: 'datetime', label: names.createdAt },
    { name: 'updatedAt', type: 'datetime', label: names.updatedAt },
  ];
}

/** A field and the dotted path of its value, with the labels of the objects around it before its own. */
export type Place = { path: string; label: string; field: DataField };

/** The fields that the user may read, those inside of objects one by one. */
export function placesOf(collection: Pick<Collection, 'fields' | 'upload'>, names: TimeNames): Place[] {
  const own = ownFields(collection, names).map((field) => ({ path: field.name, label: labelOf(field), field }));
  return [...within(collection.fields, '', ''), ...own];
}

function within(fields: readonly Field[], path: string, label: string): Place[] {
  return dataFields(fields).flatMap((field) => {
    if (field.access?.read === false || field.admin?.hidden) return [];
    const place = { path: path + field.name, label: label + labelOf(field), field };
    if (field.type !== 'object') return [place];
    return within(field.fields ?? [], `${place.path}.`, `${place.label} › `);
  });
}

/** All columns that a list of this collection can have. */
export function columnsOf(collection: Collection, model: Model, names: TimeNames): Column[] {
  return placesOf(collection, names)
    .filter(({ field }) => field.type !== 'join')
    .map((place) => ({ ...place, ...pathsOf(place, model) }));
}

function pathsOf({ path, field }: Place, model: Model): { select: string[]; sort: string | null } {
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

/** How much the values of a type say in a cell: the less, the more. Others stand there only where they are wanted. */
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
 * The columns of a list before any are chosen: those of the configuration, else the title, what says most, and the last
 * change.
 */
export function defaultColumns(collection: Collection, all: readonly Column[]): Column[] {
  const { defaultColumns: configured } = collection.hints;
  if (configured !== undefined && configured.length > 0) return named(all, configured);
  const title = titleField(collection);
  const best = all
    .filter((column) => column.path !== title && isTelling(column))
    .toSorted((one, other) => weightOf(one) - weightOf(other))
    .slice(0, mostDefault);
  const paths = all.filter((column) => best.includes(column)).map(({ path }) => path);
  return named(all, [title, ...paths, 'updatedAt']);
}

function weightOf({ field }: Column): number {
  return weights[field.type] ?? Number.MAX_SAFE_INTEGER;
}

function isTelling({ path, field }: Column): boolean {
  const isOwn = ['id', 'createdAt', 'updatedAt', 'mimeType'].includes(path);
  return weights[field.type] !== undefined && !field.hasMany && !isOwn && !path.includes('.');
}

/** The columns with these paths, in this order; paths that lead nowhere are left out. */
export function named(all: readonly Column[], paths: readonly string[]): Column[] {
  const byPath = new Map(all.map((column) => [column.path, column]));
  return [...new Set(paths)].map((path) => byPath.get(path)).filter((column) => column !== undefined);
}

/** The paths that a request selects: those of the columns, and the title of each row. */
export function selectOf(columns: readonly Column[], collection: Collection): string[] {
  const title = titleField(collection);
  return [...new Set([...columns.flatMap(({ select }) => select), title])].filter((path) => path !== 'id');
}

/** The state of the sort on a column: the first key alone is shown. */
export function sortOf(sort: string | null, column: Column): 'ascending' | 'descending' | 'none' {
  const [first = ''] = (sort ?? '').split(',');
  const isThis = column.sort !== null && [column.sort, column.path].includes(first.replace(/^-/, ''));
  if (!isThis) return 'none';
  return first.startsWith('-') ? 'descending' : 'ascending';
}

/** The sort after a click on the head of a column: up, then down, then as it was without a choice. */
export function nextSort(sort: string | null, column: Column): string | null {
  const state = sortOf(sort, column);
  if (state === 'none') return column.sort;
  return state === 'ascending' ? `-${column.sort}` : null;
}
