import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { lostNumbers } from '../../server/platform/whole-numbers.ts';
import { readJson } from '../../server/queries/field-texts.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';

/** The formats of content: one JSON object per line, RFC 4180 with a line of titles, one JSON list. */
export const formats = ['ndjson', 'csv', 'json'] as const;
export type Format = (typeof formats)[number];

/**
 * A row: its line in NDJSON, its row in a spreadsheet, its place in a JSON list from 1 on; `problem` if it is not an
 * object.
 */
export type ImportRow =
  | { number: number; values: JsonObject; problem?: undefined }
  | { number: number; problem: string };

/** How the cells of a CSV file become an object, from its line of titles. */
export type ReadTitles = (titles: readonly string[]) => (cells: readonly (string | null)[]) => JsonObject | string;

/** A file of rows; `onBytes` is told how many have been read. */
type RowFile = { path: string; format: Format; readTitles: ReadTitles; onBytes?: (bytes: number) => void };

/** Characters of a row, and bytes of a JSON list, which is read as a whole. */
const longestRow = 32 * 1024 * 1024;
const largestList = 256 * 1024 * 1024;
/** Deeper than any field takes, and less than JSON.stringify does. */
const mostLevels = 500;

/**
 * Reads the rows of a file.
 *
 * @throws UsageError if it cannot be read, is not UTF-8, or is not of its format as a whole.
 */
export async function* readRows(file: RowFile): AsyncGenerator<ImportRow> {
  try {
    if (file.format === 'ndjson') yield* readLines(file);
    else if (file.format === 'csv') yield* readCsv(file);
    else yield* readList(file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof TypeError && codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new UsageError(`${file.path} is not UTF-8`);
    if (codeOf(error) === undefined) throw error;
    throw new UsageError(`${file.path} cannot be read: ${messageOf(error)}`);
  }
}

/** The format that the end of a file name tells; undefined for another end. */
export function formatOf(path: string): Format | undefined {
  return formats.find((format) => path.toLowerCase().endsWith(`.${format}`));
}

async function* textsOf({ path, onBytes }: RowFile): AsyncGenerator<string> {
  // Drops the byte order mark.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    bytes += chunk.length;
    onBytes?.(bytes);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder.decode();
}

async function* readLines(file: RowFile): AsyncGenerator<ImportRow> {
  let number = 0;
  let rest = '';
  for await (const text of textsOf(file)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestRow) throw new UsageError(`${file.path}: row ${number + lines.length + 1} is too long`);
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') yield rowOf(number, line);
    }
  }
  if (rest.trim() !== '') yield rowOf(number + 1, rest);
}

function rowOf(number: number, text: string): ImportRow {
  const values = readJson(text);
  if (values === undefined) return { number, problem: 'is not JSON' };
  const [lost] = lostNumbers(text);
  if (lost) return { number, problem: `${lost.path.join('.')} must ${lost.problem}` };
  return objectRow(number, values);
}

function objectRow(number: number, values: Json | undefined): ImportRow {
  if (!isObject(values)) return { number, problem: `must be a JSON object, got ${show(values)}` };
  for (const [name, value] of Object.entries(values)) {
    const must = unsendable(value);
    if (must !== undefined) return { number, problem: `${name} must ${must}` };
  }
  return { number, values };
}

/** Why a value cannot be written as the JSON that it was, as the end of "must …"; undefined if it can. */
function unsendable(value: Json, depth = 0): string | undefined {
  // JSON.parse reads 1e400 as Infinity, which JSON.stringify writes as null.
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'hold only finite numbers';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === mostLevels) return `be nested at most ${mostLevels} levels deep`;
  for (const item of Object.values(value)) {
    const must = unsendable(item, depth + 1);
    if (must !== undefined) return must;
  }
  return undefined;
}

async function* readList(file: RowFile): AsyncGenerator<ImportRow> {
  let text = '';
  for await (const part of textsOf(file)) {
    text += part;
    if (text.length > largestList) throw new UsageError(`${file.path} is too large for a JSON list; use NDJSON`);
  }
  const list = readJson(text);
  if (list === undefined) throw new UsageError(`${file.path} is not JSON`);
  if (!Array.isArray(list)) throw new UsageError(`${file.path} must be a JSON list of objects, got ${show(list)}`);
  const lost = Map.groupBy(lostNumbers(text), ({ path }) => Number(path[0]));
  for (const [index, values] of list.entries()) {
    const [problem] = lost.get(index) ?? [];
    const number = index + 1;
    if (problem) yield { number, problem: `${problem.path.slice(1).join('.')} must ${problem.problem}` };
    else yield objectRow(number, values);
  }
}

/** A record of csv-parse. An empty cell without quotes is null. */
type CsvRecord = { record: (string | null)[]; info: { records: number; empty_lines: number } };

async function* readCsv(file: RowFile): AsyncGenerator<ImportRow> {
  const { parse } = await import('csv-parse');
  const parser = parse({
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: longestRow,
    cast: (value, { quoting }) => (value === '' && !quoting ? null : value),
  });
  const source = Readable.from(textsOf(file));
  source.on('error', (error) => parser.destroy(error));
  let read: ReturnType<ReadTitles> | null = null;
  let width = 0;
  try {
    for await (const { record, info } of source.pipe(parser) as AsyncIterable<CsvRecord>) {
      const number = info.records + info.empty_lines;
      if (!read) {
        width = record.length;
        read = file.readTitles(record.map((title) => (title ?? '').trim()));
      } else if (record.length !== width) {
        yield { number, problem: `has ${record.length} cells, and the line of titles ${width}` };
      } else {
        const values = read(record);
        yield typeof values === 'string' ? { number, problem: values } : { number, values };
      }
    }
  } catch (error) {
    const code = codeOf(error) ?? '';
    throw code.startsWith('CSV_') ? new UsageError(`${file.path} is not CSV: ${messageOf(error)}`) : error;
  } finally {
    source.destroy();
  }
  if (!read) throw new UsageError(`${file.path} is empty: a line of titles is missing`);
}
