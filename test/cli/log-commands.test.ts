import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { cut, printable, row, terminalOf, widthOf } from '../../cli/terminal.ts';
import { runHere } from '../helpers/in-process.ts';
import { openDirectory, quickFolder } from '../projections/directory.ts';

const data = quickFolder();
after(() => rmSync(data, { recursive: true, force: true }));
const hostile = 'red \u001b[31m \u009b2J \u202e \r\n end';
let id = '';

before(() => {
  const fields = [{ name: 'title', type: 'text' as const }];
  const directory = openDirectory(data, {
    collections: [{ slug: 'posts', fields }],
    globals: [{ slug: 'site', fields }],
  });
  id = directory.create('posts', { title: 'One' });
  directory.update('posts', id, { title: hostile });
  directory.setGlobal('site', { title: 'x' });
  directory.remove('posts', id);
  directory.close();
});

const annals = (...args: string[]) => runHere([...args, '--data', data]);
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

describe('annals history, diff and log tail', () => {
  it('show who changed what, of deleted documents and of globals', async () => {
    const { code, stdout } = await annals('history', `posts/${id}`);
    const [title, names, ...lines] = stdout.trimEnd().split('\n');
    assert.deepEqual([code, title], [0, `posts/${id}: 3 versions, deleted`]);
    assert.match(names ?? '', /^VERSION +POSITION +RECORDED +TYPE +CHANGED +BY +WHY$/);
    assert.match(lines[0] ?? '', /^1 +2 +\d{4}-\S+Z +document\.created +title +system$/);
    assert.equal(lines.length, 3);
    assert.match((await annals('history', 'globals/site')).stdout, /^globals\/site: 1 version\n/);
    const diff = await annals('diff', `posts/${id}`, '--to', '2');
    assert.deepEqual(diff.stdout.split('\n').slice(2), [
      'title',
      '  - "One"',
      `  + ${printable(JSON.stringify(hostile))}`,
      '',
    ]);
    const tail = await annals('log', 'tail', '-n', '2');
    assert.match(
      tail.stdout,
      /^ +RECORDED.*\n4 .*global\.updated +globals\/site 1 +system\n5 .*document\.deleted .* 3 +system\n$/,
    );
  });

  it('let nothing that a document holds reach the terminal', async () => {
    for (const args of [
      ['diff', `posts/${id}`, '--to', '2'],
      ['log', 'tail', '--json'],
      ['diff', `posts/${id}`, '--to', '2', '--json'],
    ]) {
      const { stdout } = await annals(...args);
      assert.ok(stdout.includes('\\u001b[31m') && !control.test(stdout), args.join(' '));
    }
    const { code, stderr } = await annals('history', `posts/${hostile}`);
    assert.equal(code, 1);
    assert.ok(!control.test(stderr));
  });

  it('give JSON to machines, with the same values', async () => {
    const { document, docs: versions } = JSON.parse((await annals('history', `posts/${id}`, '--json')).stdout);
    assert.deepEqual([document.stream, document.exists, versions.length], [`posts/${id}`, false, 3]);
    const { fields, patch } = JSON.parse(
      (await annals('diff', `posts/${id}`, '--from', '1', '--to', '2', '--json')).stdout,
    );
    assert.deepEqual(fields, [{ field: 'title', before: 'One', after: hostile }]);
    assert.equal(patch.length, 2);
    const lines = (await annals('log', 'tail', '--json')).stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ header }) => header.position),
      [1, 2, 3, 4, 5],
    );
    assert.equal(lines[2].data.set.title, hostile);
  });

  it('name a missing position, and an invalid number', async () => {
    assert.deepEqual(
      (await annals('history', 'posts/none')).stderr,
      'there is nothing about "posts/none" in the log\n',
    );
    assert.deepEqual((await annals('diff', `posts/${id}`, '--to', '9')).code, 1);
    for (const args of [
      ['log', 'tail', '-n', 'x'],
      ['log', 'tail', '-x'],
      ['history'],
      ['diff', 'a/b', '--from', '-1'],
    ]) {
      assert.equal((await annals(...args)).code, 2, args.join(' '));
    }
    assert.match((await annals('log', 'tail', '-n', 'x')).stderr, /^-n must be a whole number, got "x"/);
    assert.match((await annals('log', 'tale')).stderr, /did you mean "log tail"\?/);
  });
});

describe('Output on a terminal', () => {
  it('has colours there only, and not with NO_COLOR', () => {
    assert.equal(terminalOf({ isTTY: true, columns: 60 }, {}).red('x'), '\u001b[31mx\u001b[0m');
    assert.equal(terminalOf({ isTTY: true }, { NO_COLOR: '1' }).red('x'), 'x');
    assert.equal(terminalOf({ isTTY: true }, { TERM: 'dumb' }).red('x'), 'x');
    assert.deepEqual([terminalOf({}, {}).red('x'), terminalOf({}, {}).columns], ['x', Number.POSITIVE_INFINITY]);
  });

  it('stands in columns, whatever the script, and is cut at the edge', () => {
    assert.deepEqual([widthOf('日本'), widthOf('e\u0301')], [4, 1]);
    assert.deepEqual([row(['日本', 'b'], [6, 1], 80), row(['ab', 'b'], [6, 1], 80)], ['日本    b', 'ab      b']);
    assert.deepEqual([cut('abcdef', 4), cut('日本語', 4), cut('abc', 3)], ['abc…', '日…', 'abc']);
    assert.equal(printable('a\u{e0041}\ud800b'), 'a\\udb40\\udc41\\ud800b');
  });
});
