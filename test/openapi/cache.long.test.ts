import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkConfig } from '../../config/check.ts';
import { fingerprintOf, openDocumentCache } from '../../server/openapi/cache.ts';
import { createLog } from '../../server/platform/logging.ts';
import { startHere } from '../helpers/embedded.ts';
import { apiKey, runCommand, type Service, startService, temporaryFolder, writeConfig } from '../helpers/service.ts';

const paths = { 'openapi.cache': '/api/openapi.json', 'openapi-audit.cache': '/api/audit/openapi.json' };
const files = Object.keys(paths) as (keyof typeof paths)[];

const notes = { collections: [{ slug: 'notes', fields: [{ name: 'text', type: 'text' }] }] };
const labelled = {
  collections: [{ slug: 'notes', labels: { singular: 'Memo', plural: 'Memos' }, fields: notes.collections[0]?.fields }],
};

/** Which writing of the files this is: another one has another time. */
function writingsIn(data: string): bigint[] {
  return files.map((name) => statSync(join(data, name), { bigint: true }).mtimeNs);
}

async function textOf({ url }: Pick<Service, 'url'>, path: string): Promise<string> {
  const response = await fetch(url + path, { headers: { 'x-api-key': apiKey } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

function textsOf(service: Pick<Service, 'url'>): Promise<string[]> {
  return Promise.all(Object.values(paths).map((path) => textOf(service, path)));
}

describe('The cached OpenAPI documents', () => {
  it('outlive restarts and a rebuild of the read tables, whichever thread asks, and are not in the log', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    const options = { data, environment: { ANNALS_THREADS: '2' } };
    const first = await startService(t, notes, options);
    const before = (await first.call('GET', '/api/audit/events')).body;
    const [texts, ...others] = await Promise.all(Array.from({ length: 6 }, () => textsOf(first)));
    for (const other of others) assert.deepEqual(other, texts);
    assert.ok(JSON.parse(texts?.[0] as string).paths['/api/collections/notes']);
    assert.deepEqual((await first.call('GET', '/api/audit/events')).body, before);
    await first.stop();
    const written = writingsIn(data);
    for (const name of files) assert.equal(statSync(join(data, name)).mode & 0o077, 0, name);

    const rebuilt = await runCommand(['rebuild', '--config', writeConfig(folder, notes), '--data', data]);
    assert.equal(rebuilt.code, 0, rebuilt.stderr);
    const second = await startService(t, notes, options);
    assert.deepEqual(await textsOf(second), texts);
    assert.deepEqual(writingsIn(data), written);
    assert.doesNotMatch(second.output().stderr, /OpenAPI/);
  });

  it('are made again for another configuration, another address, and if a file is damaged', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const again = (config: object, more: object = {}) =>
      startedOnce(t, config, { data, baseUrl: 'http://cms.test', ...more });
    const [contract, audit] = await again(notes);
    const written = writingsIn(data);
    assert.deepEqual(await again(notes), [contract, audit]);
    assert.deepEqual(writingsIn(data), written);

    for (const name of files) writeFileSync(join(data, name), 'this is no JSON');
    assert.deepEqual(await again(notes), [contract, audit]);
    const [changed] = await again(labelled);
    assert.match(changed as string, /Memo/);
    assert.doesNotMatch(contract as string, /Memo/);
    assert.deepEqual(await again(notes), [contract, audit]);
    const [below] = await again(notes, { baseUrl: 'http://cms.test/cms' });
    assert.deepEqual(JSON.parse(below as string).servers, [{ url: '/cms' }]);
  });

  it('are answered if they cannot be kept, and the log says so', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    for (const name of files) mkdirSync(join(data, name), { recursive: true });
    const service = await startHere(t, notes, { data });
    const texts = await textsOf(service);
    for (const text of texts) assert.equal(JSON.parse(text).openapi, '3.0.3');
    const told = service.lines().filter(({ msg }) => msg?.startsWith('an OpenAPI document cannot be kept'));
    assert.deepEqual(
      told.map(({ level, err }) => [level, err.code]),
      files.map(() => [40, 'EISDIR']),
    );
  });

  it('are made once for all callers, and only if the file is incomplete, or of another configuration or site', async (t) => {
    const directory = temporaryFolder(t);
    const file = join(directory, 'openapi.cache');
    const log = createLog('silent', { write: () => {} });
    const subject = { model: checkConfig(notes), site: null, baseUrl: null };
    let count = 0;
    const ask = (given = subject) => {
      const cache = openDocumentCache({ directory, subject: given, log });
      const make = async () => {
        count += 1;
        return { fingerprint: fingerprintOf('contract', given), document: '{"openapi":"3.0.3","title":"Ähre"}' };
      };
      return Promise.all([cache.read('contract', make), cache.read('contract', make)]);
    };
    const madeBy = async (change: () => unknown, given = subject) => {
      change();
      count = 0;
      const [one, other] = await ask(given);
      assert.deepEqual([one, other], ['{"openapi":"3.0.3","title":"Ähre"}', one]);
      return count;
    };
    const nothing = () => {};
    assert.equal(await madeBy(nothing), 1);
    assert.equal(await madeBy(nothing), 0);
    const whole = readFileSync(file);
    for (const length of [0, 10, 64, 65, whole.length - 1]) {
      assert.equal(await madeBy(() => truncateSync(file, length)), 1, `cut at ${length}`);
    }
    for (const at of [0, 63, 64, 65, whole.length - 1]) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] as number) ^ 1;
      assert.equal(await madeBy(() => writeFileSync(file, flipped)), 1, `flipped at ${at}`);
    }
    assert.equal(await madeBy(() => rmSync(file)), 1);
    for (const other of [
      { ...subject, site: 'beta' },
      { ...subject, baseUrl: 'http://cms.test/cms' },
      { ...subject, model: checkConfig(labelled) },
      { ...subject, model: checkConfig({ ...notes, audit: () => true }) },
      { ...subject, model: checkConfig({ ...notes, openapi: { title: 'Notes' } }) },
    ] as (typeof subject)[]) {
      assert.equal(await madeBy(nothing, other), 1);
      assert.equal(await madeBy(nothing, other), 0);
    }
  });

  it('count for a configuration only if the thread that made them says so, since the file may change', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const path = writeConfig(temporaryFolder(t), notes);
    const running = await startHere(t, notes, { config: path, data, baseUrl: 'http://cms.test' });
    writeFileSync(path, JSON.stringify(labelled));
    await textsOf(running);
    await running.stop();
    writeFileSync(path, JSON.stringify(notes));
    const service = await startHere(t, notes, { config: path, data, baseUrl: 'http://cms.test' });
    assert.doesNotMatch(await textOf(service, '/api/openapi.json'), /Memo/);
  });

  it('are made again by another version, and by another state of a checkout', async (t) => {
    const buildOf = async (version: string, at: number, isBuilt = false) => {
      const folder = temporaryFolder(t);
      if (isBuilt) mkdirSync(join(folder, 'dist', 'server'), { recursive: true });
      const file = join(folder, 'server', 'platform', 'version.ts');
      const other = join(dirname(file), 'carried.ts');
      const form = join(dirname(file), 'form.ts');
      const copied = [file, other, form, join(folder, 'config', 'package-name.ts')];
      for (const path of copied)
        cpSync(fileURLToPath(new URL(`../../${relative(folder, path)}`, import.meta.url)), path);
      for (const path of [...copied, ...copied.map(dirname)]) utimesSync(path, at, at);
      const exports = { './package.json': './package.json' };
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'annals', version, exports, type: 'module' }));
      const { build } = await import(pathToFileURL(file).href);
      return build();
    };
    const known = await buildOf('1.0.0', 1_000_000);
    assert.equal(await buildOf('1.0.0', 1_000_000), known);
    assert.equal(await buildOf('1.0.0', 1_000_000, true), known, 'a build beside the sources that run');
    assert.notEqual(await buildOf('1.0.1', 1_000_000), known);
    assert.notEqual(await buildOf('1.0.0', 1_000_001), known);
  });
});

/** Both documents of a service that is started for them, and stopped. */
async function startedOnce(t: TestContext, config: object, options: object): Promise<string[]> {
  const service = await startHere(t, config, options);
  const texts = await textsOf(service);
  await service.stop();
  return texts;
}
