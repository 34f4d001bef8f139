import { jsonProblem } from '../../config/fields.ts';
import type { Collection, Field } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { lostNumbers } from '../../server/platform/whole-numbers.ts';
import { isReadAsJson, readingOf } from '../../server/queries/field-texts.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { fileMember } from './files.ts';
import { unguarded } from './guard.ts';
import { uniqueFieldsOf } from './relations.ts';
import type { ReadTitles } from './rows.ts';

/** Members that the service gives a document: they are in an export, and an import uses the id only. */
export const given: readonly string[] = ['id', 'createdAt', 'updatedAt'];

type Column = { name: string; read: (text: string) => Json | undefined; must: string; under?: string; isJson: boolean };

/** Gives the reader of the cells of a collection's CSV. The apostrophes that guard against formulas are taken off. */
export function columnsOf(collection: Collection, collections: ReadonlyMap<string, Collection>): ReadTitles {
  const names = [
    ...given,
    ...(collection.upload ? [fileMember] : []),
    ...collection.fields.filter((field) => readingOf(field)).map(({ name }) => name),
    ...collection.fields.flatMap((field) => uniquePaths(field, collections)),
  ];

  return (titles) => {
    const problems = titles.flatMap((title, index) => {
      if (!names.includes(title)) {
        const hint = title === 'password' ? '; accounts come without passwords' : didYouMean(title, names);
        return [`column ${index + 1}, ${show(title)}, is not a field of ${collection.slug}${hint}`];
      }
      const isTwice = titles.indexOf(title) !== index;
      return isTwice ? [`column ${index + 1}, ${show(title)}, is there twice`] : [];
    });
    const twice = titles.filter((title) => title.includes('.') && titles.includes(title.split('.')[0] ?? ''));
    for (const title of twice) problems.push(`${show(title)} and ${show(title.split('.')[0])} are the same field`);
    if (problems.length > 0) throw new UsageError(problems.join('\n'));
    const columns = titles.map(columnOf);
    return (cells) => readCells(columns, cells);
  };

  function columnOf(title: string): Column {
    const [name = '', under] = title.split('.');
    const field = collection.fields.find((one) => one.name === name);
    const target = field?.relationTo ? collections.get(field.relationTo) : undefined;
    const read = under === undefined ? field : target?.fields.find((one) => one.name === under);
    const isList = under !== undefined && field?.hasMany === true;
    const reading = (read && readingOf(isList && field ? field : read)) ?? {
      read: (text: string) => text,
      must: 'be a text',
    };
    const isJson = isList || Boolean(read && isReadAsJson(read));
    return { ...reading, name, isJson, ...(under === undefined ? {} : { under }) };
  }
}

function uniquePaths({ name, relationTo }: Field, collections: ReadonlyMap<string, Collection>): string[] {
  const target = relationTo === undefined ? undefined : collections.get(relationTo);
  return target ? uniqueFieldsOf(target).map((unique) => `${name}.${unique}`) : [];
}

function readCells(columns: readonly Column[], cells: readonly (string | null)[]): JsonObject | string {
  const values = new Map<string, Json>();
  const problems: string[] = [];
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? null;
    const value = cell === null ? null : readCell(column, unguarded(cell));
    if (value === undefined) problems.push(`${column.name} must ${column.must}, got ${show(cell)}`);
    else values.set(column.name, column.under === undefined ? value : byUnique(column.under, value));
  }
  return problems.length > 0 ? problems.join('; ') : Object.fromEntries(values);
}

function readCell({ read, isJson }: Column, text: string): Json | undefined {
  // A spreadsheet writes an empty cell as one with nothing in its quotes, too.
  const value = text === '' && read(text) === undefined ? null : read(text);
  if (value === undefined || jsonProblem(value) !== undefined) return undefined;
  return isJson && lostNumbers(text).length > 0 ? undefined : value;
}

function byUnique(field: string, value: Json): Json {
  if (value === null) return null;
  return Array.isArray(value) ? value.map((one) => ({ [field]: one })) : { [field]: value };
}
