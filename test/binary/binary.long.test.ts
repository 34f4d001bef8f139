import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { bundle } from '../../bundle.ts';
import { threadModules } from '../../server/platform/threads.ts';

import { callerOf, inherited } from '../helpers/service.ts';
import { eventually, useFolder } from '../helpers/shared.ts';
import { buildBinary, root, whyNotBuilt } from './build.ts';
import { startBinary } from './start.ts';

const out = join(root, 'build');
const file = join(out, 'annals');
const run = promisify(execFile);
const skip = whyNotBuilt();

/** An author's own package, as npm would have put it there. */
function installPackage(folder: string): void {
  const own = join(folder, 'node_modules/own-package');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), '{ "name": "own-package", "version": "1.0.0", "main": "index.js" }');
  writeFileSync(join(own, 'index.js'), "exports.greeting = () => 'from a package';");
}

const config = `import { defineConfig } from 'annals';
import { greeting } from 'own-package';
import { slug } from './own.ts';

const awaited: string = await Promise.resolve(greeting());
export default defineConfig({
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'pictures', upload: true, access: { read: () => true }, fields: [] },
    {
      slug,
      access: { read: () => true },
      fields: [{ name: 'text', type: 'text', required: true }, { name: 'code', type: 'text', pattern: '[a-z]+' }],
      hooks: {
        beforeChange: [({ data }) => {
          if (data.text === 'end') setImmediate(() => { throw new Error('of a hook'); });
          return { ...data, text: \`\${data.text} \${awaited}\` };
        }],
      },
    },
  ],
});
`;

describe('The binary', { skip }, () => {
  const folder = useFolder();
  before(() => buildBinary());

  it('is one file of at most 130 MB, which needs nothing of its environment', async () => {
    // Without the tool that strips Node of its symbols it is larger, as the build then says.
    const most = spawnSync('strip', ['--version']).status === 0 ? 130e6 : 165e6;
    assert.ok(statSync(file).size <= most, `${statSync(file).size} bytes`);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const { stdout, stderr } = await run(file, ['--version'], { cwd: folder, env: {} });
    assert.deepEqual([stdout, stderr], [`${version}\n`, '']);
    const facts = JSON.parse((await run(file, ['--version', '--json'], { cwd: folder, env: {} })).stdout);
    assert.deepEqual(
      [facts.version, facts.installation, facts.node, `${facts.platform}-${facts.arch}`],
      [version, 'binary', '26.10.0', 'linux-x64'],
    );
    assert.ok(facts.commit === null || /^[\da-f]{40}$/.test(facts.commit), facts.commit);
  });

  it('has sums that are those of the files beside it', () => {
    const lines = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n');
    const names = lines.map((line) => line.slice(66));
    assert.ok(
      ['annals', 'annals.cdx.json', 'LICENCES.txt'].every((name) => names.includes(name)),
      names.join(),
    );
    for (const [index, name] of names.entries()) {
      const sum = createHash('sha256')
        .update(readFileSync(join(out, name)))
        .digest('hex');
      assert.equal(lines[index], `${sum}  ${name}`);
    }
  });

  it('holds a bundle that is the same bytes each time, without a path of this machine', async () => {
    const [one, other] = [await bundle('binary'), await bundle('binary')];
    assert.deepEqual([...one.files], [...other.files]);
    assert.equal(
      [...one.files].some(([, text]) => text.includes(root)),
      false,
    );
    const executable = readFileSync(file);
    for (const name of ['main', ...Object.keys(threadModules).map((thread) => `${thread}-thread`)]) {
      const text = one.files.get(`${name}.mjs`);
      assert.ok(text && executable.includes(text), `${name}.mjs is in the executable`);
    }
  });

  it('has a bill of materials with each package of which code is inside, and with what is native', async () => {
    const { components } = JSON.parse(readFileSync(`${file}.cdx.json`, 'utf8'));
    const listed = new Map<string, string>(components.map((one: Record<string, string>) => [one.name, one.version]));
    const { metafile } = await bundle('binary');
    const inside = Object.values(metafile.outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    );
    const packages = new Set(
      inside.flatMap(
        (path) =>
          path
            .split('node_modules/')
            .slice(1)
            .at(-1)
            ?.match(/^(@[^/]+\/)?[^/]+/)?.[0] ?? [],
      ),
    );
    assert.ok(packages.size > 50, `${packages.size} packages`);
    for (const name of packages) assert.ok(listed.has(name), `${name} is not listed`);
    for (const name of [
      '@hapi/hapi',
      'joi',
      'hapi-swagger',
      'swagger-ui-dist',
      'node',
      'sqlite',
      'openssl',
      'glibc',
      'libstdc++',
    ])
      assert.ok(listed.has(name), `${name} is not listed`);
    assert.deepEqual(
      ['typescript', 'esbuild', 'playwright-core'].filter((name) => listed.has(name)),
      [],
    );
    // The author of a package that is listed is told in the licences.
    const licences = readFileSync(join(out, 'LICENCES.txt'), 'utf8');
    for (const name of packages) assert.ok(licences.includes(`${name} ${listed.get(name)}\n`), name);
  });

  it('starts from an empty folder by annals init and annals serve', async (t) => {
    const site = join(folder, 'first');
    mkdirSync(site);
    const without = await run(file, ['serve', '--port', '0'], { cwd: site }).catch((error) => error);
    assert.equal(without.code, 2);
    assert.match(without.stderr, /^there is no configuration in .+: annals init writes this one there/);
    await run(file, ['init'], { cwd: site });
    const { url, key, stop } = await startBinary(t, file, site);
    const call = callerOf(url);
    assert.equal((await call('POST', '/api/collections/notes', { text: 'first' }, { key })).status, 201);
    assert.equal((await call('GET', '/api/collections/notes', undefined, { key: null })).body.docs[0].text, 'first');
    assert.equal(await stop(), 0);
  });

  describe('with a configuration that has imports, a package and something to wait for', () => {
    const site = join(folder, 'site');
    before(() => {
      mkdirSync(site);
      installPackage(site);
      writeFileSync(join(site, 'own.ts'), "export const slug: 'notes' = 'notes';\n");
      writeFileSync(join(site, 'annals.config.ts'), config);
    });
    const metricsToken = 'a-token-of-the-test';
    const start = (t: TestContext) =>
      startBinary(t, file, site, ['--threads', '2'], { ANNALS_METRICS_TOKEN: metricsToken });

    it('does what the first minutes need: a login, an upload, a mail, a pack of evidence, the pages', async (t) => {
      const { url, key, output, stop } = await start(t);
      const call = callerOf(url);
      const token = /setup\?token=(\S+)/.exec(output())?.[1];
      const account = { email: 'ada@example.org', password: 'correct horse' };
      const first = await call(
        'POST',
        '/api/collections/users/first-user',
        { setupToken: token, ...account },
        { key: null },
      );
      assert.equal(first.status, 201, JSON.stringify(first.body));
      assert.equal((await call('POST', '/api/collections/users/login', account, { key: null })).status, 200);
      const forgotten = { email: account.email };
      assert.ok((await call('POST', '/api/collections/users/forgot-password', forgotten, { key: null })).status < 300);
      const [, mail = ''] = /Mail +(\S+)/.exec(output()) ?? [];
      await eventually(async () => (await (await fetch(mail)).text()).includes(account.email));

      const created = await call('POST', '/api/collections/notes', { text: 'a note' }, { key });
      assert.equal(created.status, 201);
      assert.equal(created.body.text, 'a note from a package');
      const refused = await call('POST', '/api/collections/notes', { text: 'another', code: 'A' }, { key });
      assert.equal(refused.status, 400, JSON.stringify(refused.body));
      const form = new FormData();
      form.set('file', new Blob([Buffer.from(pixel, 'base64')], { type: 'image/png' }), 'pixel.png');
      const sent = await fetch(`${url}/api/collections/pictures`, {
        method: 'POST',
        headers: { 'x-api-key': key },
        body: form,
      });
      assert.equal(sent.status, 201, await sent.text());

      for (const path of [
        '/api/docs',
        '/api/docs/docs.js',
        '/api/docs/swagger-ui-bundle.js',
        '/account/users/setup',
        '/admin',
        '/admin/c/posts',
      ]) {
        const page = await fetch(url + path);
        assert.equal(page.status, 200, path);
        assert.ok((await page.text()).length > 100, path);
      }
      assert.equal((await fetch(`${url}/admin/assets/none.js`)).status, 404);
      const script = await fetch(`${url}/api/docs/docs.js`);
      assert.equal(await script.text(), readFileSync(join(root, 'server/openapi/docs/docs.js'), 'utf8'));
      const again = { 'if-none-match': script.headers.get('etag') ?? '' };
      assert.equal((await fetch(`${url}/api/docs/docs.js`, { headers: again })).status, 304);
      for (const path of ['/api/openapi.json', '/api/audit/openapi.json']) {
        const described = await call('GET', path, undefined, { key });
        assert.equal(described.status, 200, JSON.stringify(described.body));
        assert.equal(described.body.openapi.startsWith('3.'), true);
      }

      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
      assert.match(await metrics.text(), /^annals_log_events [1-9]/m);

      const pack = join(folder, 'pack.zip');
      await run(file, ['bundle', `notes/${created.body.id}`, '--out', pack], { cwd: site });
      assert.ok(readFileSync(pack).includes(Buffer.from('annals-verify.mjs')));
      // Node warns of nothing in the packages inside that it would not report in an npm installation.
      assert.doesNotMatch(output(), /^\(node:|Warning/m);
      assert.equal(await stop(), 0);
      const { stdout } = await run(file, ['verify'], { cwd: site });
      assert.match(stdout, /^sound: the log is whole/m);
    });

    it('replaces a thread whose hook throws an error that nothing catches', async (t) => {
      const { url, key, output, stop } = await start(t);
      const call = callerOf(url);
      await call('POST', '/api/collections/notes', { text: 'end' }, { key }).catch(() => {});
      await eventually(() => output().includes('another one takes its place'));
      assert.match(output(), /of a hook/);
      await eventually(
        async () => (await call('POST', '/api/collections/notes', { text: 'on' }, { key })).status === 201,
      );
      assert.equal(await stop(), 0);
    });

    it('names the place of a mistake in the configuration', async () => {
      const wrong = join(site, 'wrong.config.ts');
      writeFileSync(wrong, "import './missing.ts';\nexport default {};\n");
      const checked = await run(file, ['config', 'check', '--config', wrong], { cwd: site }).catch((error) => error);
      assert.equal(checked.code, 2);
      assert.match(checked.stderr, /wrong\.config\.ts cannot be loaded: .*missing\.ts.*at .*wrong\.config\.ts:1:8/);
      const text = config.replace('greeting()', 'greting()').replace('{ greeting }', '{ greeting as greting }');
      writeFileSync(wrong, text.replace('await Promise.resolve(greting())', '(undefined as any).length'));
      const thrown = await run(file, ['config', 'check', '--config', wrong], { cwd: site }).catch((error) => error);
      assert.match(thrown.stderr, /at .*wrong\.config\.ts:5:\d+/);
    });
  });

  it('takes the native addons from beside itself, so that nothing has to be written', async () => {
    const image = join(folder, 'image');
    mkdirSync(image);
    cpSync(file, join(image, 'annals'));
    const addons = join(out, 'addons');
    for (const name of readdirSync(addons)) cpSync(join(addons, name), join(image, name));
    const cache = join(folder, 'cache');
    const environment = { ...inherited(), XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: join(folder, 'compiled') };
    await run(join(image, 'annals'), ['--version'], { env: environment });
    assert.deepEqual(
      readdirSync(folder).filter((name) => name === 'cache'),
      [],
    );
    // An addon other than the one that the binary was built with is never loaded.
    const [name = ''] = readdirSync(addons);
    writeFileSync(join(image, name), 'another');
    await run(join(image, 'annals'), ['--version'], { env: environment });
    assert.ok(readdirSync(join(cache, 'annals')).includes(name));
  });
});

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
