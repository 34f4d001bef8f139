import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isNewEnough } from '../../server/platform/node-version.js';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url);
const jsonOf = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));

/** A module that makes its process report another version of Node. */
const posingAs = (version: string) =>
  `data:text/javascript,
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
    Object.defineProperty(process, 'version', { value: 'v${version}' });`;

const tooOld = ['16.20.2', '20.20.2', '22.17.1', '23.11.1', '24.2.0'];

describe('The version of Node', () => {
  it('is asked for by npm as by ourselves', () => {
    const { engines } = jsonOf('package.json');
    assert.equal(engines.node, '^22.18.0 || >=24.3.0');
    assert.deepEqual(jsonOf('package-lock.json').packages[''].engines, engines);
    assert.deepEqual(tooOld.filter(isNewEnough), []);
    const enough = ['22.18.0', '22.23.3', '24.3.0', '24.21.0', '25.0.0', '26.10.0', '100.0.0'];
    assert.deepEqual(
      enough.filter((version) => !isNewEnough(version)),
      [],
    );
  });

  it('is that of the types, so that the compiler refuses what the oldest has not', () => {
    assert.match(jsonOf('package.json').devDependencies['@types/node'], /^22\.18\./);
  });

  it('is new enough if npm ci brings one', () => {
    const versions = Object.values<string>(jsonOf('runtime/package.json').optionalDependencies);
    assert.ok(versions.length > 0);
    assert.deepEqual(
      versions.filter((version) => !isNewEnough(version)),
      [],
    );
  });

  it('is refused in words when it is too old, before anything is loaded that it crashes in', async () => {
    for (const version of ['20.20.2', '22.17.1']) {
      const imports = ['--import', posingAs(version)];
      const words = `needs Node 22.18, 24.3 or newer; this is v${version}`;
      const command = run(process.execPath, [...imports, fileURLToPath(new URL('cli/main.js', root)), 'serve']);
      await assert.rejects(command, { code: 2, stdout: '', stderr: `Annals ${words}, ${process.execPath}\n` });
      const script = `import { Module } from 'node:module';
        await import('${new URL('server/index.ts', root)}').catch(({ message }) => console.log(message));
        console.log(Object.values(Module._cache).filter(({ loaded, id }) => loaded && /better-sqlite3/.test(id)).length);`;
      const { stdout } = await run(process.execPath, [...imports, '--input-type=module', '--eval', script]);
      assert.equal(stdout, `annals/server ${words}\n0\n`);
    }
  });
});
