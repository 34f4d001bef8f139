import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string) => readFileSync(new URL(file, `file://${root}/`), 'utf8');

const id = /(?:CVE-\d{4}-\d+|GHSA(?:-\w{4}){3})/g;
/** The advisories of one product at the beginning of a name: `CVE-2026-1, CVE-2026-2 (Payload)`. */
const group = new RegExp(`((?:${id.source}(?:, )?)+) \\((\\w+)\\)`, 'g');

/** Each advisory with its product, and the words of what holds here, as `docs/advisories.md` has them. */
function rowsOf(page: string): string[] {
  const rows: string[] = [];
  let product = '';
  for (const line of page.split('\n')) {
    if (line.startsWith('## ')) product = line.slice(3);
    const [, advisory = '', , here = ''] = line.split('|').map((cell) => cell.trim());
    if (advisory.match(id)) rows.push(`${advisory} (${product}): ${here}`);
  }
  return rows;
}

/** The same for the names of tests. */
function namedIn(source: string): string[] {
  return [...source.matchAll(/\bit\(\s*'([^']+)'/g)].flatMap(([, name = '']) => {
    const [head = '', ...words] = name.split('): ');
    return [...`${head})`.matchAll(group)].flatMap(([, advisories = '', product]) =>
      [...advisories.matchAll(id)].map(([advisory]) => `${advisory} (${product}): ${words.join('): ')}`),
    );
  });
}

const rows = rowsOf(textOf('docs/advisories.md'));
const sources = globSync('test/advisories/*.test.ts', { cwd: root, exclude: ['**/table.test.ts'] }).map(textOf);
const named = sources.flatMap(namedIn);

it('each advisory that can apply is a test of this name, and each test has its row', () => {
  const applying = rows.filter((row) => !row.includes('): Not here: '));
  assert.ok(applying.length > 100);
  assert.deepEqual(applying.sort(), named.toSorted());
});

it('each advisory that cannot apply says why, and none stands twice', () => {
  for (const row of rows) assert.match(row, /\): (?:Not here: )?\w.{8,}$/s);
  const advisories = rows.map((row) => row.split(' ')[0]);
  assert.equal(new Set(advisories).size, advisories.length);
});

it('no test of an advisory is left out of a run', () => {
  for (const source of sources) assert.doesNotMatch(source, /\b(?:it|describe)\.(?:skip|only|todo)\b|\{ skip/);
});
