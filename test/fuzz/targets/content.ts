import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after } from 'node:test';
import { columnsOf } from '../../../cli/content/columns.ts';
import { type Format, type ImportRow, readRows } from '../../../cli/content/rows.ts';
import { textsOf } from '../../../cli/content/written-rows.ts';
import { checkConfig } from '../../../config/check.ts';
import { readPattern } from '../../../config/patterns/pattern.ts';
import type { DataField, JsonObject } from '../../../config/schema.ts';
import { lostNumbers } from '../../../server/platform/whole-numbers.ts';
import { readJson } from '../../../server/queries/field-texts.ts';
import { UsageError } from '../../../server/settings/settings.ts';
import { orRefused, orRefusedLater, type Target } from '../target.ts';

const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const fields: DataField[] = [
  { name: 'name', type: 'text' },
  { name: 'n', type: 'number' },
  { name: 'flag', type: 'boolean' },
  { name: 'data', type: 'json' },
  { name: 'tags', type: 'multiSelect', options: [{ label: 'A', value: 'a' }] },
];
const { collections } = checkConfig({ collections: [{ slug: 'all', fields }] });
const all = collections.get('all') ?? assert.fail();

async function rowsOf(format: Format, bytes: Buffer | string): Promise<ImportRow[] | null> {
  const path = join(folder, `rows.${format}`);
  writeFileSync(path, bytes);
  const read = () => Array.fromAsync(readRows({ path, format, readTitles: columnsOf(all, collections) }));
  return orRefusedLater(read, (error) => error instanceof UsageError);
}

/** A file to import: parsed rows can be exported, and are the same when parsed again. */
function rows(format: Format, seeds: readonly string[], words: readonly string[]): Target {
  return {
    seeds: seeds.map((text) => Buffer.from(text)),
    words,
    async read(input) {
      const right = valuesIn((await rowsOf(format, input)) ?? []);
      if (right.length === 0) return;
      const columns = format === 'csv' ? Object.keys(right[0] ?? {}) : [];
      // A line without its only value is an empty line; an export has `id` in each line.
      if (columns.length === 1) return;
      const present = fields.filter(({ name }) => columns.includes(name));
      const names = columns.filter((name) => !present.some((field) => field.name === name));
      const documents = Readable.from(right);
      const texts = await Array.fromAsync(textsOf(format, { names, fields: present, documents }));
      const again = await rowsOf(format, texts.join(''));
      assert.deepEqual(valuesIn(again ?? []).map(plain), right.map(plain));
    },
  };
}

function valuesIn(rows: readonly ImportRow[]): JsonObject[] {
  return rows.flatMap((row) => (row.problem === undefined ? [row.values] : []));
}

/**
 * A row in the order of its columns as a text. -0 becomes 0, as in JSON; numbers that are not finite do not become
 * null.
 */
function plain(row: JsonObject): string {
  const finite = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  return JSON.stringify(Object.entries(row).sort(), finite);
}

const signs = [
  '"',
  '""',
  ',',
  '\n',
  '\r\n',
  '\r',
  ';',
  "'",
  '=',
  '@',
  '\t',
  '\ufeff',
  '{',
  '}',
  '[',
  ']',
  ':',
  '\\u0000',
  '\\ud800',
];
const values = [
  'null',
  'true',
  '1e999',
  '-0',
  '9007199254740993',
  '{"a":1}',
  '"x"',
  '__proto__',
  'name',
  'data',
  'tags',
  'é',
  '😀',
];
const words = [...signs, ...values];

/** Text beside a pattern begins behind this. */
const behind = '\n--\n';

/**
 * A pattern of a field and a text: the pattern matches if it does in Node's engine, and takes no longer for this text
 * than for others of its length.
 */
const patterns: Target = {
  seeds: ['[a-k]{2,3}|b?\n--\nab', '(?:a|b)+?c*$\n--\naabcc', '\\p{L}+\\d\\b\n--\né1', '(?=a)[^b]\n--\na'].map((text) =>
    Buffer.from(text),
  ),
  words: [
    '(',
    ')',
    '(?:',
    '(?=',
    '(?!',
    '(?<=',
    '(?<n>',
    '[',
    ']',
    '[^',
    '-',
    '{',
    '}',
    '{2,}',
    '{0,3}',
    '*',
    '+',
    '?',
    '|',
    '^',
    '$',
    '\\b',
    '\\1',
    '\\k<n>',
    '\\p{L}',
    '\\u{1f600}',
    '\\d',
    '.',
    'a',
    'b',
    '😀',
    behind,
  ],
  read(input) {
    const [source = '', text = ''] = input.toString().slice(0, 80).split(behind);
    // Either engine takes its time for a pattern that may repeat something a million times.
    if (/\{\d{3,}|\{\d+,\d{3,}/.test(source)) return;
    const pattern = orRefused(
      () => readPattern(source),
      (error) => error instanceof SyntaxError,
    );
    if (!pattern || pattern.backtracks !== null) return;
    // The engine of Node tries all ways, so the text is short.
    const short = [...text].slice(0, pattern.isExponential() ? 2 : 8).join('');
    assert.equal(pattern.matches(short), new RegExp(`^(?:${source})$`, 'u').test(short), `${source} on ${short}`);
    pattern.matches(text.repeat(50));
  },
};

/** JSON of which we look at each number as it is written: whatever is JSON is walked to its end. */
const numbers: Target = {
  seeds: ['{"a":[1,9007199254740993,{"b\\"c":-12345678901234567890}]}', '[1e22,0.1]'].map((text) => Buffer.from(text)),
  words: ['"', '\\', '\\"', '\\u0022', '{', '}', '[', ']', ':', ',', '12345678901234567', '-', 'e', '.', ' '],
  read(input) {
    const text = input.toString();
    if (readJson(text) === undefined) return;
    const lost = lostNumbers(text);
    assert.ok(lost.length <= 100);
    for (const { problem } of lost) assert.match(problem, /^be a number that JSON keeps, got -?\d+…?, which becomes /);
  },
};

/** Parsers of content and of the configuration. */
export const content: Record<string, Target> = {
  csv: rows(
    'csv',
    ['name,n,flag,data,tags\r\n"a ""b""",1.5,true,"{""a"":[1]}","[""a""]"\r\n,,,,\r\n', 'id,name\nx,"\n"\n'],
    words,
  ),
  ndjson: rows('ndjson', ['{"name":"a","n":1}\n\n{"data":{"a":[null]}}\n'], words),
  'json-lists': rows('json', ['[{"name":"a"},{"n":1,"data":[{}]}]'], words),
  patterns,
  numbers,
};
