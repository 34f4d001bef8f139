import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { apiKey } from '../helpers/service.ts';
import { launch, useFolder } from '../helpers/shared.ts';

const execute = promisify(execFile);
const script = fileURLToPath(new URL('../binary/checkout.sh', import.meta.url));
const skip = process.platform === 'win32' && 'a shell script makes the checkout';

/** Words of `annals --help`, and the file that has them: few, because the bundle breaks long lines. */
const [told, file] = ['rebuild the read', 'cli/commands.ts'];

const config = `export default {
  collections: [{
    slug: 'notes',
    fields: [{ name: 'text', type: 'text' }],
    hooks: { beforeChange: [({ data }) => data.missing.length] },
  }],
};`;

describe('The bundle of a checkout', { skip }, () => {
  const folder = useFolder();
  const checkout = join(folder, 'checkout');
  before(() => execute('sh', [script, checkout]));

  const node = async (...args: string[]) => (await execute(process.execPath, args, { cwd: checkout })).stdout;
  const help = () => node('runtime/annals.js', '--help');

  async function isBundled(): Promise<boolean> {
    const { href } = pathToFileURL(join(checkout, 'runtime/bundle.js'));
    return (await import(href)).findBundle() !== null;
  }

  function replaceIn(path: string, from: string, to: string): void {
    const text = readFileSync(join(checkout, path), 'utf8');
    assert.ok(text.includes(from), `${path}: ${from}`);
    writeFileSync(join(checkout, path), text.replace(from, to));
  }

  it('is run until a source is changed, and again when it was made of that', async () => {
    assert.equal(await isBundled(), false);
    await node('runtime/bundle.js');
    assert.equal(await isBundled(), true);
    const holder = globSync('build/bundle/*.mjs', { cwd: checkout }).find((path) =>
      readFileSync(join(checkout, path), 'utf8').includes(told),
    );
    replaceIn(holder ?? '', told, 'says that it is the bundle');
    assert.match(await help(), /says that it is the bundle/);
    replaceIn(file, told, 'says that it was changed');
    assert.equal(await isBundled(), false);
    assert.match(await help(), /says that it was changed/);
    await node('runtime/bundle.js');
    assert.equal(await isBundled(), true);
    assert.match(await help(), /says that it was changed/);
  });

  it('keeps packages that are required late out of the threads, and functions of CommonJS in the code cache', () => {
    const texts = globSync('build/bundle/*.mjs', { cwd: checkout }).map((path) =>
      readFileSync(join(checkout, path), 'utf8'),
    );
    const wrapped = texts.flatMap((text) => [
      ...text.matchAll(/"node_modules\/((?:@[^/"]+\/)?[^/"]+)[^"]*"(:\(function)?/g),
    ]);
    const names = new Set(wrapped.map(([, name]) => name));
    assert.ok(names.has('@hapi/hapi'), [...names].join());
    for (const late of ['minio', 'joi', '@hapi/jwt', 'hapi-swagger', '@eslint-community/regexpp'])
      assert.ok(!names.has(late), late);
    const methods = wrapped.filter(([, , isEager]) => !isEager).map(([text]) => text);
    assert.deepEqual(methods, []);
  });

  it('has the names of its functions, and lines, in the stack of an error in the log', async (t: TestContext) => {
    writeFileSync(join(folder, 'hook.config.mjs'), config);
    const service = launch(
      t,
      ['serve', '--config', 'hook.config.mjs', '--port', '0'],
      { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '1' },
      folder,
      join(checkout, 'runtime/annals.js'),
    );
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const url = `${await service.listening}/api/collections/notes`;
    const answer = await fetch(url, { method: 'POST', headers, body: '{ "text": "a" }' });
    assert.equal(answer.status, 500);
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0);
    const { stderr } = service.output();
    assert.match(stderr, /hook\.config\.mjs:5:\d+/);
    const [, name, chunk, line] =
      /at (?:async )?(\w+) \(file:\S+\/build\/bundle\/([\w-]+\.mjs):(\d+):\d+\)/.exec(stderr) ?? [];
    assert.ok(name && chunk && Number(line) > 1, stderr);
    assert.match(readFileSync(join(checkout, 'build/bundle', chunk), 'utf8'), new RegExp(`function ${name}\\(`));
  });
});
