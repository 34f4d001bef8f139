import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { apiKey, inherited } from './helpers/service.ts';
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

/** A configuration with accounts, whose passwords are hashed by compiled code. */
const withUsers = `import { defineConfig } from 'annals';

export default defineConfig({ collections: [{ slug: 'users', auth: true, fields: [] }] });
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

/** A hapi server with the service as a plugin, and the service once more beside it; each is asked for its documents. */
const hosting = `import Hapi from '@hapi/hapi';
import { createServer } from 'node:http';
import { annals, mount } from 'annals/server';
import config from './annals.config.ts';

const server = Hapi.server();
const headers = { 'x-api-key': '${apiKey}', 'content-type': 'application/json' };
const options = { config, data: './plugged', baseUrl: 'http://127.0.0.1:8080/cms', apiKeys: ['${apiKey}'] };
await server.register({ plugin: annals, options, routes: { prefix: '/cms' } });
const posted = { method: 'POST', url: '/cms/api/collections/notes', headers, payload: { text: 'plugged' } };
const plugged = await server.inject(posted);
await server.stop();

const cms = mount({ ...options, data: './mounted' });
await cms.ready;
const host = createServer((request, response) => cms.handler(request, response)).listen(0);
const url = \`http://127.0.0.1:\${host.address().port}/cms/api/collections/notes\`;
const mounted = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ text: 'mounted' }) });
console.log(plugged.statusCode, JSON.parse(plugged.payload).text, mounted.status, (await mounted.json()).text);
await cms.close();
host.close();
`;

type Packed = { filename: string; unpackedSize: number; files: { path: string; size: number }[] };

/** Runs npm in a folder; if it fails, as it does without a registry, the error has its output. */
async function npm(folder: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return run('npm', [...args, '--no-audit', '--no-fund'], { cwd: folder, shell: isWindows, maxBuffer: 2 ** 24 });
}

/** Runs a script of Node to its end and returns its output. */
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

/** The path of a command of a package that is installed in a folder, as npm has linked it. */
function commandIn(folder: string, command: string): string {
  return isWindows
    ? commandOf('annals', command, pathToFileURL(join(folder, 'x.js')).href)
    : join(folder, 'node_modules/.bin', command);
}

describe('The package that npm makes', () => {
  const folder = useFolder();
  let packed: Packed;
  let tarball: string;
  const manifest = () => readFileSync(join(root, 'package.json'), 'utf8');
  const ours = manifest();
  before(async () => {
    const { stdout } = await npm(root, 'pack', '--json', '--silent', '--pack-destination', folder);
    [packed] = JSON.parse(stdout);
    tarball = join(folder, packed.filename);
  });

  async function extracted(path: string): Promise<string> {
    return (await run('tar', ['-xzOf', tarball, path])).stdout;
  }

  it('holds what it is made of, and nothing of tests, benchmarks and the example', () => {
    const rest = packed.files
      .map(({ path }) => path)
      .filter(
        (path) =>
          !/^dist\/(.+\.js|app\/[\w-]+\.[cm]js)$|^docs\/((?:decisions\/)?[\w-]+\.md|images\/[\w-]+\.png|architecture\.svg)$/.test(
            path,
          ),
      );
    const many = /^dist\/(.+\.d\.ts|vendor\/[\w-]+\/prebuilds\/.+\.node|admin\/assets\/[\w-]+\.(css|svg))$/;
    const few = rest.filter((path) => !many.test(path));
    assert.deepEqual(few.sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist/LICENCES.txt',
      'dist/admin/index.html',
      'dist/admin/licences.json',
      'dist/annals.cdx.json',
      'dist/app/build.json',
      'dist/cli/annals-types.txt',
      'dist/server/accounts/pages/account.css',
      'dist/server/accounts/pages/index.html',
      'dist/server/openapi/docs/docs.css',
      'dist/server/openapi/docs/index.html',
      'dist/vendor/bcrypt/LICENSE',
      'dist/vendor/bcrypt/package.json',
      'dist/vendor/better-sqlite3/LICENSE',
      'dist/vendor/better-sqlite3/package.json',
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
    assert.deepEqual([...folders].sort(), ['admin', 'app', 'cli', 'client', 'config', 'server', 'vendor', 'verify']);
    const carried = packed.files.filter(({ path }) => path.endsWith('.node')).reduce((sum, { size }) => sum + size, 0);
    assert.ok(carried < 20_000_000, `${carried} bytes of compiled code`);
    const inAdmin = packed.files.filter(({ path }) => path.startsWith('dist/admin/'));
    const admin = inAdmin.reduce((sum, { size }) => sum + size, 0);
    assert.ok(admin < 1_700_000, `${admin} bytes of the admin application`);
    const others = packed.unpackedSize - carried - admin;
    // The bundle, with all packages, is two thirds of it.
    assert.ok(others < 11_500_000, `${others} bytes of other files`);
  });

  it('depends on nothing but the types of others, and leaves package.json as it was', async () => {
    const made = JSON.parse(await extracted('package/package.json'));
    const { dependencies } = JSON.parse(ours);
    const typed = ['@hapi/hapi', 'joi'].map((name) => [name, dependencies[name]]);
    assert.deepEqual(made.dependencies, Object.fromEntries(typed));
    for (const name of Object.keys(dependencies).filter((one) => !(one in made.dependencies)))
      assert.equal(made.devDependencies[name], dependencies[name], name);
    // npm would run it as a script wherever the package is installed.
    assert.equal(made.scripts.prepare, undefined);
    assert.equal(manifest(), ours);
  });

  it('lists each package of which code is inside, with its licence', async () => {
    const { components } = JSON.parse(await extracted('package/dist/annals.cdx.json'));
    const listed: string[] = components.map((one: Record<string, string>) => `${one.name} ${one.version}`);
    const { dependencies } = JSON.parse(ours);
    for (const [name, version] of Object.entries(dependencies)) assert.ok(listed.includes(`${name} ${version}`), name);
    const licences = await extracted('package/dist/LICENCES.txt');
    for (const one of listed) assert.ok(licences.includes(`${one}\n`), one);
    assert.deepEqual(
      listed.filter((one) => /^(?:typescript|esbuild|react) /.test(one)),
      [],
    );
  });

  it('is published as a file, since npm would tell the registry of the dependencies of the checkout', async () => {
    await assert.rejects(npm(root, 'run', 'prepublishOnly'), /npm publish annals-VERSION\.tgz publishes it$/m);
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

  describe('in an empty folder with joi 18', () => {
    const site = useFolder();
    let installed: { stdout: string; stderr: string };
    before(async () => {
      writeFileSync(join(site, 'package.json'), '{ "type": "module", "dependencies": { "joi": "18" } }');
      installed = await npm(site, 'install', tarball, '--prefer-offline', '--foreground-scripts');
      writeFileSync(join(site, 'annals.config.ts'), config);
    });

    it('is installed without a conflict, with one joi, and runs no script of a package, nor does npm ci', async () => {
      const again = await npm(site, 'ci', '--prefer-offline', '--foreground-scripts');
      for (const { stdout, stderr } of [installed, again]) {
        assert.doesNotMatch(stderr, /ERESOLVE|deprecated|install scripts/);
        // npm names each script before it runs it.
        assert.doesNotMatch(stdout, /^> /m);
      }
      const joi = globSync('**/node_modules/joi', { cwd: site }).map((path) => path.replaceAll('\\', '/'));
      assert.deepEqual(joi, ['node_modules/joi']);
      await npm(site, 'ls', '--all');
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

    it('tells its version, and the commit if it was packed of one', async () => {
      const facts = JSON.parse(await node([commandIn(site, 'annals'), '--version', '--json'], site));
      assert.equal(facts.installation, 'package');
      assert.equal(facts.version, JSON.parse(ours).version);
      assert.equal(facts.commit, JSON.parse(await extracted('package/dist/app/build.json')).commit);
      const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: root }).catch(() => ({ stdout: '' }));
      assert.ok([null, stdout.trim()].includes(facts.commit), facts.commit);
    });

    it('serves ten lines of configuration, and its client makes the first call', async (t) => {
      const environment = { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '1' };
      const service = launch(t, ['serve', '--port', '0'], environment, site, commandIn(site, 'annals'));
      const url = await service.listening;
      writeFileSync(join(site, 'first-call.ts'), firstCall(url));
      assert.equal(await node(['first-call.ts'], site), 'the first\n');
      // These need the packages that this package carries along.
      const headers = { 'x-api-key': apiKey };
      const document = await (await fetch(`${url}/api/openapi.json`, { headers })).json();
      assert.ok(document.paths['/api/collections/notes']);
      assert.equal((await fetch(`${url}/api/docs/swagger-ui-bundle.js`)).status, 200);
      const page = await (await fetch(`${url}/admin`)).text();
      const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path);
      assert.ok(files.length > 2, page);
      for (const path of files) assert.equal((await fetch(url + path)).status, 200, path);
      service.child.kill('SIGTERM');
      assert.equal(await service.exited, 0, service.output().stderr);
    });

    it('runs in a server of the application, as a plugin of hapi and mounted', async () => {
      writeFileSync(join(site, 'hosting.mjs'), hosting);
      assert.match(await node(['hosting.mjs'], site), /^201 plugged 201 mounted$/m);
    });

    it('hashes passwords', async () => {
      writeFileSync(join(site, 'users.config.ts'), withUsers);
      const environment = { ANNALS_CONFIG: 'users.config.ts', ANNALS_DATA: 'users' };
      const args = ['create-user', 'users', '--email', 'ada@example.org'];
      const create = execFile(process.execPath, [commandIn(site, 'annals'), ...args], {
        cwd: site,
        env: { ...inherited(), ...environment },
      });
      create.stdin?.end('a long enough password\n');
      assert.deepEqual(await once(create, 'close'), [0, null]);
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

describe('A checkout without the packages for development', () => {
  const folder = useFolder();
  let installed: { stdout: string; stderr: string };
  before(async () => {
    const left = ['.git', 'node_modules', 'dist', 'build', 'data'];
    for (const name of readdirSync(root).filter((one) => !left.includes(one) && !one.endsWith('.tgz'))) {
      // A Node that came along is not downloaded again.
      const made = ['runtime/node_modules', 'admin/node_modules', 'admin/dist'].map((path) => join(root, path));
      const filter = (path: string) => !made.includes(path);
      cpSync(join(root, name), join(folder, name), { recursive: true, filter });
    }
    const node = join(root, 'runtime/node_modules');
    if (existsSync(node)) symlinkSync(node, join(folder, 'runtime/node_modules'), 'junction');
    installed = await npm(folder, 'ci', '--omit=dev', '--prefer-offline');
    assert.ok(!existsSync(join(folder, 'node_modules/typescript')));
  });

  it('says that the admin application is not built, and brings nothing of it', () => {
    const told =
      /^the admin application was not built: the packages for development are not installed\. npm run build/m;
    assert.match(installed.stderr, told);
    for (const name of ['vite', 'react', '@mantine/core'])
      assert.ok(!existsSync(join(folder, 'node_modules', name)), name);
  });

  /** `npm start -- …` there, until the test ends: npm, a shell and Node. */
  function start(t: TestContext, ...args: string[]) {
    const child = spawn('npm', ['start', '--', ...args, '--port', '0', '--threads', '1'], {
      cwd: folder,
      env: { ...inherited(), ANNALS_API_KEY: apiKey },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: isWindows,
      detached: !isWindows,
    });
    t.after(() => isEnded || (isWindows ? child.kill() : process.kill(-(child.pid as number), 'SIGKILL')));
    let isEnded = false;
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    const ended = once(child, 'close').then(([code]) => {
      isEnded = true;
      return { code, stderr };
    });
    const listening = new Promise<string>((resolve, reject) => {
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        stdout += text;
        const found = /^listening on (\S+)$/m.exec(stdout);
        if (found?.[1]) resolve(found[1]);
      });
      ended.then(() => reject(new Error(stderr)));
    });
    listening.catch(() => {});
    return { listening, ended };
  }

  it('starts with a configuration, and has its OpenAPI document and the page of it', async (t) => {
    writeFileSync(join(folder, 'notes.config.ts'), config.replace("'annals'", "'./config/define.ts'"));
    const url = await start(t, '--config', 'notes.config.ts').listening;
    const document = await (await fetch(`${url}/api/openapi.json`, { headers: { 'x-api-key': apiKey } })).json();
    assert.ok(document.paths['/api/collections/notes']);
    for (const path of ['/api/docs', '/api/docs/swagger-ui-bundle.js'])
      assert.equal((await fetch(url + path)).status, 200, path);
    const page = await fetch(`${url}/admin`);
    assert.deepEqual([page.status, /npm run build --workspace admin/.test(await page.text())], [404, true]);
  });

  it('says in one line that the example needs them, and makes no data for it', async (t) => {
    const { code, stderr } = await start(t, '--data', 'of-the-example').ended;
    assert.equal(code, 2);
    assert.match(stderr, /^the example needs the packages for development: npm ci installs them\. .* --config FILE$/m);
    assert.ok(!existsSync(join(folder, 'of-the-example')));
  });
});
