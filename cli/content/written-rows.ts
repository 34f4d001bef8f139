import type { DataField, Json, JsonObject } from '../../config/schema.ts';
import { byteOrderMark, jsonCell } from '../../server/audit/exports/csv.ts';
import { isReadAsJson } from '../../server/queries/field-texts.ts';
import { guarded } from './guard.ts';
import type { Format } from './rows.ts';

/** Documents to write. `fields` are the fields beside `names`, the members that the service gives them. */
type Documents = {
  names: readonly string[];
  fields: readonly DataField[];
  documents: AsyncIterable<JsonObject>;
};

/** The text of a file of documents, piece by piece, as `readRows` reads it. */
export async function* textsOf(format: Format, { names, fields, documents }: Documents): AsyncGenerator<string> {
  if (format === 'ndjson') {
    for await (const document of documents) yield `${JSON.stringify(document)}\n`;
  } else if (format === 'json') {
    let before = '[\n';
    for await (const document of documents) {
      yield `${before}${JSON.stringify(document)}`;
      before = ',\n';
    }
    yield before === '[\n' ? '[]\n' : '\n]\n';
  } else {
    const columns = columnsFor(names, fields);
    // After the mark by which Excel knows UTF-8.
    yield byteOrderMark + line(columns.map(({ name }) => quoted(name)));
    for await (const document of documents) {
      yield line(columns.map(({ name, isJson }) => cellOf(document[name] ?? null, isJson)));
    }
  }
}

type Column = { name: string; isJson: boolean };

function columnsFor(names: readonly string[], fields: readonly DataField[]): Column[] {
  return [
    ...names.map((name) => ({ name, isJson: false })),
    ...fields.map((field) => ({ name: field.name, isJson: isReadAsJson(field) })),
  ];
}

function line(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

/** A cell without quotes has no value, and no text can be taken for a formula. */
function cellOf(value: Json, isJson: boolean): string {
  if (value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return quoted(isJson || typeof value !== 'string' ? jsonCell(value) : value);
}

function quoted(text: string): string {
  return `"${guarded(text).replaceAll('"', '""')}"`;
}
