import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../helpers/service.ts';
import { run } from './running.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('npm test', () => {
  it('runs the files and folders that it is given, with options of the runner', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'inner'));
    const test = (name: string) =>
      `import { it } from 'node:test';\nit('${name} one', () => {});\nit('two', () => {});`;
    writeFileSync(join(folder, 'a.test.ts'), test('a'));
    writeFileSync(join(folder, 'inner/b.test.ts'), test('b'));
    for (const [args, count] of [
      [[folder], 4],
      [[join(folder, 'a.test.ts')], 2],
      [['--test-name-pattern', 'one', folder], 2],
      [[join(folder, 'a.test.ts'), '--test-name-pattern=a one'], 1],
    ] as const) {
      const running = run(t, root, ['test/run.js', ...args, '--test-reporter=tap']);
      assert.deepEqual(await running.ended, [0, null], running.output().stderr);
      assert.match(running.output().stdout, new RegExp(`^# pass ${count}$`, 'm'), running.output().stdout);
    }
  });

  it('runs the files and folders that are named, and nothing if one of them is not there', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'test/helpers'), { recursive: true });
    mkdirSync(join(folder, 'test/deep'));
    writeFileSync(join(folder, 'test/helpers/cache.js'), '');
    const file = `import { it } from 'node:test'; it('first', () => {}); it('second', () => {});`;
    for (const name of ['test/a.test.ts', 'test/deep/b.test.ts', 'test/c.alone.test.ts'])
      writeFileSync(join(folder, name), file);
    for (const [args, passed] of [
      [['test/a.test.ts'], 2],
      [['test/deep/'], 2],
      [['test'], 6],
      [['--test-name-pattern', 'first', 'test/a.test.ts', 'test/deep'], 2],
      [['--test-name-pattern=second'], 1],
    ] as const) {
      const running = run(t, folder, [join(root, 'test/run.js'), '--test-reporter', 'tap', ...args]);
      const [code] = await running.ended;
      const { stdout, stderr } = running.output();
      assert.deepEqual([code, /^# pass (\d+)$/m.exec(stdout)?.[1]], [0, `${passed}`], `${args}: ${stdout}${stderr}`);
    }
    const running = run(t, folder, [join(root, 'test/run.js'), 'test/a.test.ts', 'test/confg/', 'tset']);
    assert.deepEqual(await running.ended, [2, null]);
    assert.deepEqual(running.output(), { stdout: '', stderr: 'there is no file or folder test/confg/, tset\n' });
  });
});
