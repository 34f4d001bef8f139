import { type DataField, dataFields, type Field, fieldAt, labelOf } from '../../schema/fields.ts';
import type { Collection, Model } from '../../schema/model.ts';
import { titleField } from '../../schema/titles.ts';
import { isSortable } from './operators.ts';

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
export type TimeNames = { createdAt: string; updatedAt: string };

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

/** The types whose values say something in a cell. */
const telling = new Set<string>([
  'select',
  'radio',
  'relationship',
  'boolean',
  'date',
  'datetime',
  'number',
  'upload',
  'email',
]);

/** The columns of a collection that nobody has chosen: those of the configuration, else the title and what says most. */
export function defaultColumns(collection: Collection, all: readonly Column[]): Column[] {
  const { defaultColumns: configured } = collection.hints;
  if (configured !== undefined && configured.length > 0) return named(all, configured);
  const title = all.find(({ path }) => path === titleField(collection));
  const others = all.filter((column) => column !== title && isTelling(column));
  const rest = all.filter((column) => column !== title && !others.includes(column) && column.field.type === 'text');
  const plain = rest.filter(({ path }) => path !== 'id');
  const updatedAt = all.find(({ path }) => path === 'updatedAt');
  return [title, ...[...others, ...plain].slice(0, 4), updatedAt].filter((column) => column !== undefined);
}

function isTelling({ path, field }: Column): boolean {
  return (
    telling.has(field.type) && !field.hasMany && path !== 'createdAt' && path !== 'updatedAt' && !path.includes('.')
  );
}

/** The columns with these paths, in this order; paths that lead nowhere are left out. */
export function named(all: readonly Column[], paths: readonly string[]): Column[] {
  const byPath = new Map(all.map((column) => [column.path, column]));
  return [...new Set(paths)].map((path) => byPath.get(path)).filter((column) => column !== undefined);
}

/** What a request selects: what the columns show, and the title that each row is called by. */
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
