import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { apiKey } from './helpers/service.ts';
import { launch, useFolder } from './helpers/shared.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const isWindows = process.platform === 'win32';

/** The ten lines of the README. */
const config = `import { defineConfig } from 'annals';

export default defineConfig({
  collections: [
    { slug: 'notes', access: { read: () => true }, fields: [{ name: 'text', type: 'text', required: true }] },
  ],
});
`;

const firstCall = (baseUrl: string) => `import { createClient } from 'annals/client';
import type config from './annals.config.ts';

const client = createClient<typeof config>({ baseUrl: '${baseUrl}', apiKey: '${apiKey}' });
const { id, text } = await client.collection('notes').create({ text: 'the first' });
const { docs } = await client.collection('notes').find({ where: { text: { equals: text } } });
// @ts-expect-error there is no such field
docs[0]?.txt;
console.log(docs[0]?.id === id ? docs[0].text : 'another');
`;

const mounted = `import { createServer } from 'node:http';
import { mount } from 'annals/server';
import config from './annals.config.ts';

const cms = mount({ config, data: './data', baseUrl: 'http://127.0.0.1:8080/cms' });
createServer((request, response) => cms.handler(request, response));
// @ts-expect-error there is no such option
mount({ config, data: './data', baseUrl: 'http://127.0.0.1:8080/cms', dta: 1 });
`;

const compilerOptions = {
  module: 'nodenext',
  target: 'esnext',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};

type Packed = { filename: string; unpackedSize: number; files: { path: string }[] };

/** npm, in a folder; what it says is in the error where it fails, as it does without a registry. */
async function npm(folder: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return run('npm', [...args, '--no-audit', '--no-fund'], { cwd: folder, shell: isWindows, maxBuffer: 2 ** 24 });
}

/** Runs a script of Node to its end and gives what it prints. */
async function node(args: readonly string[], cwd = root): Promise<string> {
  try {
    return (await run(process.execPath, args, { cwd })).stdout;
  } catch (error) {
    const { message, stdout } = error as Error & { stdout: string };
    return assert.fail(`${message}\n${stdout}`);
  }
}

/** The command of a package of the checkout. */
function commandOf(name: string, command: string, from = import.meta.url): string {
  const file = createRequire(from).resolve(`${name}/package.json`);
  return join(dirname(file), JSON.parse(readFileSync(file, 'utf8')).bin[command]);
}

/** The same of what is installed in a folder, as npm has linked it. */
function commandIn(folder: string, command: string): string {
  return isWindows
    ? commandOf('annals', command, pathToFileURL(join(folder, 'x.js')).href)
    : join(folder, 'node_modules/.bin', command);
}

describe('The package that npm makes', () => {
  const folder = useFolder();
  let packed: Packed;
  let tarball: string;
  before(async () => {
    const { stdout } = await npm(root, 'pack', '--json', '--silent', '--pack-destination', folder);
    [packed] = JSON.parse(stdout);
    tarball = join(folder, packed.filename);
  });

  it('holds what it is made of, and nothing of tests, benchmarks and the example', () => {
    const rest = packed.files.map(({ path }) => path).filter((path) => !/^dist\/.+\.js$|^docs\/[\w-]+\.md$/.test(path));
    const others = rest.filter((path) => !/^dist\/.+\.d\.ts$/.test(path));
    assert.deepEqual(others.sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/server/accounts/pages/account.css',
      'dist/server/accounts/pages/index.html',
      'dist/server/cli/annals-types.txt',
      'dist/server/openapi/docs/docs.css',
      'dist/server/openapi/docs/index.html',
      'dist/server/openapi/stand-in.cjs',
      'dist/vendor/hapi-swagger/license.txt',
      'dist/vendor/hapi-swagger/package.json',
      'dist/vendor/swagger-ui-dist/LICENSE',
      'dist/vendor/swagger-ui-dist/NOTICE',
      'dist/vendor/swagger-ui-dist/package.json',
      'dist/vendor/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt',
      'dist/vendor/swagger-ui-dist/swagger-ui.css',
      'dist/verify/annals-verify.mjs',
      'docs/verify.py',
      'package.json',
    ]);
    const folders = new Set(packed.files.flatMap(({ path }) => /^dist\/([^/]+)\//.exec(path)?.[1] ?? []));
    assert.deepEqual([...folders].sort(), [
      'client',
      'config',
      'events',
      'projections',
      'server',
      'storage',
      'vendor',
      'verify',
    ]);
    assert.ok(packed.unpackedSize < 6_000_000, `${packed.unpackedSize} bytes`);
  });

  it('has nothing that publint finds', async () => {
    const { buffer, byteOffset, length } = readFileSync(tarball);
    const { messages } = await publint({
      pack: { tarball: buffer.slice(byteOffset, byteOffset + length) },
      strict: true,
    });
    assert.deepEqual(messages, []);
  });

  it('has nothing that attw finds', async () => {
    const attw = commandOf('@arethetypeswrong/cli', 'attw');
    await node([attw, tarball, '--profile', 'esm-only']);
  });

  describe('in an empty folder', () => {
    const site = useFolder();
    before(async () => {
      writeFileSync(join(site, 'package.json'), '{ "type": "module" }');
      const { stderr } = await npm(site, 'install', tarball, '--prefer-offline', '--ignore-scripts');
      assert.doesNotMatch(stderr, /ERESOLVE|deprecated/);
      writeFileSync(join(site, 'annals.config.ts'), config);
    });

    it('brings no Node, which would be the one that all scripts there run on, and no 100 MB', () => {
      const modules = join(site, 'node_modules');
      const commands = readdirSync(join(modules, '.bin')).filter((name) => /^node(\.|$)/.test(name));
      assert.deepEqual(commands, []);
      const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
      const sizes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
      const bytes = sizes.reduce((sum, size) => sum + size);
      assert.ok(bytes > 10_000_000 && bytes < 100_000_000, `${bytes} bytes`);
    });

    it('serves ten lines of configuration, and its client makes the first call', async (t) => {
      const environment = { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '1' };
      const service = launch(t, ['serve', '--port', '0'], environment, site, commandIn(site, 'annals'));
      const url = await service.listening;
      writeFileSync(join(site, 'first-call.ts'), firstCall(url));
      assert.equal(await node(['first-call.ts'], site), 'the first\n');
      // Made by, and made of, what the package carries along of others.
      const headers = { 'x-api-key': apiKey };
      const document = await (await fetch(`${url}/api/openapi.json`, { headers })).json();
      assert.ok(document.paths['/api/collections/notes']);
      assert.equal((await fetch(`${url}/api/docs/swagger-ui-bundle.js`)).status, 200);
      service.child.kill('SIGTERM');
      assert.equal(await service.exited, 0, service.output().stderr);
    });

    it('verifies what it has exported', async () => {
      await node([commandIn(site, 'annals'), 'export', '--out', 'all.zip'], site);
      const verify = [commandIn(site, 'annals-verify'), '--trust-inside', 'all.zip'];
      assert.match(await node(verify, site), /^SOUND/m);
    });

    it('gives its types', async () => {
      writeFileSync(join(site, 'mounted.ts'), mounted);
      writeFileSync(join(site, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
      await node([commandOf('typescript', 'tsc'), '--project', site]);
    });
  });
});
