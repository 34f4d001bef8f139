import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { runCommand, temporaryFolder } from '../helpers/service.ts';

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const compile = (folder: string) =>
  promisify(execFile)(process.execPath, [compiler, '-p', folder]).then(
    () => '',
    (error) => String(error.stdout),
  );

describe('annals init', () => {
  it('writes a configuration that an editor understands without npm', async (t) => {
    const cwd = temporaryFolder(t);
    const { code, stdout, stderr } = await runCommand(['init'], { cwd });
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(
      stdout,
      'wrote annals.config.ts, annals.d.ts, tsconfig.json, .gitignore\nannals serve starts the service\n',
    );
    assert.deepEqual(readdirSync(cwd).sort(), ['.gitignore', 'annals.config.ts', 'annals.d.ts', 'tsconfig.json']);
    const file = join(cwd, 'annals.config.ts');
    const text = readFileSync(file, 'utf8');
    // The text as it is written, and with syntax that only a module may have.
    writeFileSync(file, `${text}\nawait Promise.resolve();\n`);
    assert.equal(await compile(cwd), '');
    writeFileSync(file, text.replace("'text', type: 'text'", "'text', type: 'txt'"));
    assert.match(await compile(cwd), /annals\.config\.ts.*"txt"/);
  });

  it('replaces no file, and writes none if one is in the way', async (t) => {
    for (const name of ['annals.config.mjs', 'annals.config.ts', 'tsconfig.json', '.gitignore']) {
      const cwd = join(temporaryFolder(t), 'site');
      mkdirSync(cwd);
      writeFileSync(join(cwd, name), 'own');
      const { code, stdout, stderr } = await runCommand(['init'], { cwd });
      assert.deepEqual([code, stdout], [2, '']);
      assert.ok(stderr.includes(` has ${name} already: annals init writes into a folder without them`), stderr);
      assert.deepEqual(readdirSync(cwd), [name]);
      assert.equal(readFileSync(join(cwd, name), 'utf8'), 'own');
    }
  });

  it('leaves the types to the package if it is installed', async (t) => {
    const cwd = temporaryFolder(t);
    mkdirSync(join(cwd, 'node_modules/annals'), { recursive: true });
    assert.equal((await runCommand(['init'], { cwd })).code, 0);
    assert.equal(existsSync(join(cwd, 'annals.d.ts')), false);
  });
});
