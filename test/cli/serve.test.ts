import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { apiKey, type Service, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { launch, recordedEvents, useFolder, useService } from '../helpers/shared.ts';
import { config, fileWith, noThreads, posts, postsBy } from './serving.ts';

const shared = useFolder();
const configFile = writeConfig(shared, config);

describe('annals serve', () => {
  it('takes its settings from flags; one screen shows the address, the generated key and a working curl line', async (t) => {
    const data = join(temporaryFolder(t), 'deep', 'data');
    const args = ['serve', '--config', configFile, '--data', data, '--host', '127.0.0.1', '--port', '0'];
    const { listening, output } = launch(t, args, noThreads);
    const url = await listening;
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.notEqual(new URL(url).port, '0');
    assert.equal((await fetch(`${url}/health`)).status, 200);
    assert.ok(existsSync(join(data, 'log.db')));
    const { stdout } = output();
    assert.match(stdout, new RegExp(`Config +${configFile}`));
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.length <= 24);
    assert.equal(lines.at(-1), `listening on ${url}`);
    assert.ok(stdout.includes(`${url}/api`));
    const [, key, address] = /curl -H 'x-api-key: ([^']+)' '([^']+)'/.exec(stdout) ?? [];
    assert.ok(key && address && key.length >= 32);
    const response = await fetch(address, { headers: { 'x-api-key': key } });
    assert.deepEqual([response.status, ((await response.json()) as { total: number }).total], [200, 0]);
  });

  it('says in one line how many warnings there are, which config check prints', async (t) => {
    const folder = temporaryFolder(t);
    const warned = (count: number) => ({
      bcryptCost: 4,
      collections: Array.from({ length: count - 1 }, (_, at) => ({
        slug: `c${at}`,
        fields: [{ name: 'code', type: 'text', unique: true, defaultValue: 'x' }],
      })),
    });
    for (const [count, wanted] of [
      [1, () => '1 warning about the configuration: bcryptCost: 4 is for tests; passwords need 10 or more'],
      [4, (file: string) => `4 warnings about the configuration: "annals config check --config ${file}" prints them`],
    ] as const) {
      const config = { ...warned(count), globals: [{ slug: 'site', fields: [] }] };
      const file = writeConfig(folder, `export default ${JSON.stringify(config)}`);
      const { lines } = await startHere(t, {}, { config: file });
      const said = lines().flatMap(({ level, msg }) => (level === 40 ? [msg] : []));
      assert.deepEqual(said, [wanted(file)]);
      const { code, stdout } = await runHere(['config', 'check', '--config', file]);
      assert.deepEqual([code, stdout.match(/^warning: /gm)?.length], [0, count]);
    }
  });

  it('takes its settings from the environment, and a flag wins over it', async (t) => {
    const folder = temporaryFolder(t);
    const environment = {
      ANNALS_CONFIG: configFile,
      ANNALS_DATA: join(folder, 'env'),
      ANNALS_HOST: '127.0.0.1',
      ANNALS_PORT: '0',
      ANNALS_BASE_URL: 'https://cms.example.org/base/',
      ANNALS_API_KEY: 'first-key-000000,second-key-000000',
      ANNALS_SECRET: 'some-secret-that-is-long-enough-to-sign-with',
      ANNALS_LOG_LEVEL: 'silent',
      ANNALS_KEEP_ALIVE_SECONDS: '7',
      ...noThreads,
    };
    const { listening, output } = launch(t, ['serve', '--data', join(folder, 'flag')], environment);
    const url = await listening;
    for (const key of ['first-key-000000', 'second-key-000000']) assert.equal((await postsBy(url, key)).status, 200);
    const refused = await postsBy(url, 'third-key-000000');
    assert.deepEqual([refused.status, refused.headers.get('keep-alive')], [401, 'timeout=7']);
    assert.deepEqual([existsSync(join(folder, 'flag')), existsSync(join(folder, 'env'))], [true, false]);
    assert.match(output().stdout, /https:\/\/cms\.example\.org\/base\/api/);
    assert.equal(output().stderr, '');
    assert.ok(!output().stdout.includes('key-000000'));
    // Without accounts there is no mail to show.
    assert.doesNotMatch(output().stdout, /^ {2}Mail/m);
  });

  it('says a wrong command line or environment, every problem on a line of its own, with the right word', async () => {
    const args = ['serve', '--prot', '80', '--data', '--port', 'http', '--help=no', 'extra'];
    const { code, stdout, stderr } = await runHere(args, {
      environment: {
        ANNALS_PROT: '1',
        ANNALS_API_KEYS: 'x',
        ANNALS_HOST: ' ',
        ANNALS_LOG_LEVEL: 'inof',
        ANNALS_BASE_URL: 'cms.example.org',
        ANNALS_API_KEY: 'a,,b',
        ANNALS_SECRET_FILE: '/nowhere/secret',
        ANNALS_LOG_FILE: '/var/log/annals.log',
        ANNALS_SMTP_URL: 'smtp://annals:top/secret@mail.example.org',
        ANNALS_MAIL_FROM: 'smtp://annals:top-secret@mail.example.org',
        ANNALS_CONFIG: configFile,
        ANNALS_CONFIG_FILE: configFile,
      },
    });
    assert.deepEqual([code, stdout], [2, '']);
    const [problems = ''] = stderr.split('\n\n');
    const expected = [
      /^unknown flag --prot; did you mean "--port"\?/,
      /^--data needs a value$/,
      /^--help takes no value$/,
      /^unexpected argument "80"$/,
      /^unexpected argument "http"$/,
      /^unexpected argument "extra"$/,
      /^unknown environment variable ANNALS_PROT; did you mean "ANNALS_PORT"\?/,
      /^unknown environment variable ANNALS_API_KEYS; did you mean "ANNALS_API_KEY"\?/,
      /^unknown environment variable ANNALS_LOG_FILE: the address of PostgreSQL is in ANNALS_POSTGRES_URL$/,
      /^ANNALS_SECRET_FILE: the file \/nowhere\/secret cannot be read$/,
      /^ANNALS_CONFIG and ANNALS_CONFIG_FILE are both set; set one of them$/,
      /^ANNALS_HOST is empty$/,
      /^ANNALS_BASE_URL must be an http or https address such as .*, got cms\.example\.org$/,
      /^ANNALS_API_KEY holds an empty value$/,
      /^ANNALS_LOG_LEVEL must be one of .* got inof; did you mean "info"\?$/,
      /^ANNALS_SMTP_URL must be an SMTP URL such as /,
      /^ANNALS_MAIL_FROM must be an e-mail address, or "Name <address>"$/,
    ];
    assert.doesNotMatch(stderr, /top.secret/);
    const lines = problems.split('\n');
    for (const line of expected)
      assert.ok(
        lines.some((text) => line.test(text)),
        `${line} is not in\n${problems}`,
      );
    assert.equal(lines.length, expected.length, problems);
  });

  for (const [what, args, environment, message] of [
    ['a port that is no port', ['--port', 'http'], {}, /^--port must be a port number from 0 .* to 65535, got "http"/m],
    ['a port that is too high', ['--port=65536'], {}, /^--port must be a port number/m],
    ['an invalid port from the environment', [], { ANNALS_PORT: '1.5' }, /^ANNALS_PORT must be a port number/m],
    ['an empty API key in a file', [], { ANNALS_API_KEY_FILE: '/dev/null' }, /^ANNALS_API_KEY holds an empty value/m],
    [
      'a configuration that is not there',
      ['--config', '/nowhere/c.ts'],
      {},
      /there is no configuration at \/nowhere\/c\.ts/,
    ],
  ] as const) {
    it(`refuses ${what} in words, with exit code 2`, async (t) => {
      const data = join(temporaryFolder(t), 'data');
      const { code, stdout, stderr } = await runHere(['serve', '--data', data, ...args], { environment });
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
      assert.doesNotMatch(stdout, /listening/);
      assert.doesNotMatch(stderr, /^\s+at .*:\d+:\d+/m);
    });
  }

  it('refuses an address that is not ours in words', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const args = ['serve', '--config', configFile, '--data', data, '--host', '203.0.113.1', '--port', '0'];
    const { code, stdout, stderr } = await runHere(args, { environment: noThreads });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /203\.0\.113\.1/);
    assert.doesNotMatch(stdout, /listening/);
    assert.doesNotMatch(stderr, /^\s+at .*:\d+:\d+/m);
  });

  it('refuses a port that is taken, and names another way', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const data = temporaryFolder(t);
    const args = ['serve', '--config', configFile, '--data', data, '--port', String(port)];
    const { code, stderr } = await runHere(args, { environment: noThreads });
    assert.equal(code, 2);
    assert.match(stderr, /port .*in use.*--port/);
    // The refused start has released the directory.
    assert.equal((await runHere(['rebuild', '--config', configFile, '--data', data])).code, 0);
  });
});

describe('A wrong configuration', () => {
  const wrong = {
    collectons: [],
    collections: [
      {
        slug: 'posts',
        fields: [
          { name: 'id', type: 'text' },
          { name: 'a', type: 'txt' },
          { name: 'b', type: 'text', requred: true },
        ],
      },
      { slug: 'posts', fields: [{ name: 'c', type: 'relationship', relationTo: 'post' }] },
      { slug: 'users', auth: { lockTme: 60 }, fields: [] },
      { slug: 'files', history: 'open', fields: [] },
    ],
  };
  const expected = [
    /^\s*collectons: is not a key of the configuration; did you mean "collections"\?$/m,
    /^\s*collections\.posts\.fields\.id\.name: "id" is reserved/m,
    /^\s*collections\.posts\.fields\.a\.type: must be one of .*; did you mean "text"\?$/m,
    /^\s*collections\.posts\.fields\.b\.requred: .*did you mean "required"\?$/m,
    /^\s*collections\.posts\.slug: "posts" is declared twice$/m,
    /^\s*collections\.posts\.fields\.c\.relationTo: no collection "post"; did you mean "posts"\?$/m,
    /^\s*collections\.users\.auth\.lockTme: is not a key of auth; did you mean "lockTime"\?$/m,
    /^\s*collections\.files\.history: must be 'public', or left out, got "open"$/m,
  ];

  for (const command of [['serve', '--port', '0'], ['config', 'check'], ['rebuild']]) {
    it(`stops annals ${command[0]} ${command[1] === 'check' ? 'check' : ''}: every problem on its own line, exit code 2`, async (t) => {
      const folder = temporaryFolder(t);
      const data = command[0] === 'config' ? [] : ['--data', join(folder, 'data')];
      const { code, stdout, stderr } = await runHere([...command, '--config', writeConfig(folder, wrong), ...data]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, /^The configuration has 8 problems:$/m);
      for (const line of expected) assert.match(stderr, line);
      assert.ok(!existsSync(join(folder, 'data')));
    });
  }

  for (const [what, source, message] of [
    ['no default export', 'export const config = {};', /no default export/],
    ['a syntax error', 'export default {', /cannot be loaded: .*, at .*config-\d+\.ts:1$/m],
    ['an error when it is loaded', "\n  throw new Error('boom');", /cannot be loaded: boom, at .*config-\d+\.ts:2:9$/m],
    ['nothing in it', 'export default {}', /at least one collection or global is needed/],
    ['no object', 'export default 3', /must be an object, got 3/],
    ['a promise', 'export default (async () => ({}))()', /must be an object, got a promise: write "await" before/],
    ['a function', 'export default () => ({})', /got a function: export its result/],
    ['an instance', 'export default new Map()', /got an instance of a class: write a plain object/],
  ] as const) {
    it(`that has ${what} is refused in words`, async (t) => {
      const { code, stderr } = await runHere(['config', 'check', '--config', writeConfig(temporaryFolder(t), source)]);
      assert.equal(code, 2);
      assert.match(stderr, message);
    });
  }

  it('that is not JSON in a .json file is refused in words', async (t) => {
    const file = fileWith(temporaryFolder(t), 'annals.config.json', '{ nope');
    const { code, stderr } = await runHere(['config', 'check', '--config', file]);
    assert.equal(code, 2);
    assert.match(stderr, /annals\.config\.json is not JSON/);
  });

  it('does not fit documents that are there: the start names them, and the old one still works', async (t) => {
    const data = temporaryFolder(t);
    const first = await startHere(t, config, { data });
    const { body } = await first.call('POST', posts, { title: 'a text' });
    await first.stop();
    const changed = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'number' }] }] };
    const file = writeConfig(shared, changed);
    const { code, stderr } = await runHere(['serve', '--config', file, '--data', data, '--port', '0'], {
      environment: noThreads,
    });
    assert.equal(code, 2);
    assert.match(stderr, /posts\.title is number now/);
    assert.ok(stderr.includes(body.id));
    const again = await startHere(t, config, { data });
    assert.deepEqual((await again.call('GET', `${posts}/${body.id}`)).body, body);
  });
});

describe('A configuration that changes what documents answer', () => {
  const renamed = { collections: [{ slug: 'posts', fields: [{ name: 'headline', type: 'text' }] }] };
  const gone =
    "posts.title is gone: 2 documents had a value of it; did you mean renamedFrom: 'title' in posts.headline?";

  const first = useServiceHere(config);

  before(async () => {
    for (const title of ['a', 'b', null]) await first.call('POST', posts, { title });
    await first.stop();
  });

  /** A directory with posts, of the test alone. */
  function withPosts(t: TestContext): string {
    const data = join(temporaryFolder(t), 'data');
    cpSync(first.data, data, { recursive: true });
    return data;
  }

  it('is refused by --strict-schema, also as a setting, with all of it said', async (t) => {
    const data = withPosts(t);
    const args = ['--config', writeConfig(shared, renamed), '--data', data];
    for (const [command, strict] of [
      [['serve', '--port', '0', '--strict-schema'], {}],
      [['serve', '--port', '0'], { ANNALS_STRICT_SCHEMA: 'true' }],
      [['rebuild', '--strict-schema'], {}],
      [['config', 'check', '--against', data, '--strict-schema'], {}],
    ] as const) {
      const given = command[0] === 'config' ? args.slice(0, 2) : args;
      const { code, stderr } = await runHere([...command, ...given], { environment: { ...noThreads, ...strict } });
      assert.deepEqual([code, stderr.trimEnd().split('\n').at(-1)], [2, gone]);
    }
    await assert.rejects(startHere(t, renamed, { data, strictSchema: true }), {
      message: new RegExp(`${gone.slice(0, 40)}`),
    });
    assert.deepEqual(
      recordedEvents(data, 'system/schema').map(({ version }) => version),
      [1],
    );
  });

  it('is refused if they would show less', async (t) => {
    const data = withPosts(t);
    const args = ['--config', writeConfig(shared, renamed), '--data', data];
    for (const command of [
      ['serve', '--port', '0'],
      ['dev', '--port', '0'],
      ['rebuild'],
      ['config', 'check', '--against', data],
    ]) {
      const given = command[0] === 'config' ? args.slice(0, 2) : args;
      const { code, stdout, stderr } = await runHere([...command, ...given], { environment: noThreads });
      assert.equal(code, 2, command.join(' '));
      assert.match(stderr, /documents would show less with this configuration.*--accept-loss.*:\nposts\.title is gone/);
      assert.equal(stderr.trimEnd().split('\n').at(-1), gone);
      assert.ok(!stdout.includes('Go on'), 'asked only at a terminal');
    }
    assert.equal(recordedEvents(data, 'system/schema').length, 1);
  });

  it('is taken if that is accepted, and the line to write takes the values over', async (t) => {
    const data = withPosts(t);
    const accepted = ['config', 'check', '--against', data, '--accept-loss', '--config', writeConfig(shared, renamed)];
    assert.equal((await runHere(accepted, { environment: noThreads })).code, 0);
    const lost = await startHere(t, renamed, { data, acceptLoss: true });
    const headlines = async ({ call }: Pick<typeof lost, 'call'>) =>
      (await call('GET', `${posts}?sort=createdAt`)).body.docs.map(({ headline }: { headline: string }) => headline);
    assert.deepEqual(await headlines(lost), [null, null, null]);
    await lost.call('POST', posts, { headline: 'c' });
    await lost.stop();
    const meant = {
      collections: [{ slug: 'posts', fields: [{ ...renamed.collections[0]?.fields[0], renamedFrom: 'title' }] }],
    };
    assert.deepEqual(await headlines(await startHere(t, meant, { data })), ['a', 'b', null, 'c']);
  });

  it('is a warning in the log of the start that records it, and of no other', async (t) => {
    const data = withPosts(t);
    const warnings = ({ lines }: Awaited<ReturnType<typeof startHere>>) => {
      return lines().flatMap(({ level, msg }) => (level === 40 && msg.startsWith('posts.') ? [msg] : []));
    };
    const first = await startHere(t, renamed, { data, acceptLoss: true });
    assert.deepEqual(warnings(first), [gone]);
    await first.stop();
    assert.deepEqual(warnings(await startHere(t, renamed, { data, strictSchema: true })), []);
  });
});

describe('One data directory', () => {
  it('loses nothing when its read tables are deleted', async (t) => {
    const first = await startHere(t, config);
    const made = [];
    for (let n = 0; n < 5; n += 1) made.push((await first.call('POST', posts, { title: `t${n}` })).body);
    const changed = await first.call('PATCH', `${posts}/${made[0].id}`, { title: 'changed' });
    await first.call('DELETE', `${posts}/${made[4].id}`);
    const before = (await first.call('GET', posts)).body;
    await first.stop();
    const readFiles = readdirSync(first.data).filter((name) => name.startsWith('read-'));
    assert.ok(readFiles.length > 0);
    for (const name of readFiles) rmSync(join(first.data, name));
    const second = await startHere(t, config, { data: first.data });
    assert.deepEqual((await second.call('GET', posts)).body, before);
    assert.deepEqual((await second.call('GET', `${posts}/${made[0].id}`)).body, changed.body);
    assert.equal((await second.call('GET', `${posts}/${made[4].id}`)).status, 404);
    assert.equal((await second.call('POST', posts, { title: 'on' })).status, 201);
  });
});

describe('The first load', () => {
  const seeded = `export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
       export async function seed({ baseUrl, apiKey }) {
         for (const path of ['/health', '/ready']) {
           const response = await fetch(baseUrl + path);
           console.log(path, response.status, await response.text());
         }
         const response = await fetch(baseUrl + '/api/collections/posts', { method: 'POST', body: '{"title":"seeded"}',
           headers: { 'x-api-key': apiKey, 'content-type': 'application/json' } });
         if (response.status !== 201) throw new Error('the seed got ' + response.status);
       }`;
  const data = join(useFolder(), 'data');
  const service = useService(seeded, {}, data);
  const titles = async ({ call }: Pick<Service, 'call'>) =>
    (await call('GET', posts)).body.docs.map(({ title }: { title: string }) => title);

  it('is done before the service says that it listens', async () =>
    assert.deepEqual(await titles(service), ['seeded']));

  it('is told from a service in use by GET /health and /ready, with or without a credential', async () => {
    assert.match(service.output().stdout, /^\/health 200 {"status":"ok"}\n\/ready 503 {"status":"starting"}\n/);
    for (const key of [null, apiKey, 'wrong']) {
      const health = await service.call('GET', '/health', undefined, { key });
      assert.deepEqual([health.status, health.body], [200, { status: 'ok' }]);
      const ready = await service.call('GET', '/ready', undefined, { key });
      assert.deepEqual([ready.status, ready.body], [200, { status: 'ready' }]);
    }
    assert.equal((await service.call('HEAD', '/ready')).status, 200);
    assert.equal((await service.call('POST', '/ready', {})).status, 405);
  });

  it('ends at once on a signal when idle, despite kept connections, and leaves a sound directory without the key', async () => {
    await service.call('POST', posts, { title: 'x' });
    await service.call('GET', posts);
    const from = performance.now();
    assert.equal(await service.stop(), 0);
    assert.ok(performance.now() - from < 3000);
    assert.equal((await runHere(['verify', '--data', data])).code, 0);
    for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(apiKey), entry.name);
    }
  });

  it('comes once in the life of a directory', async (t) => {
    assert.deepEqual((await titles(await startHere(t, seeded, { data }))).sort(), ['seeded', 'x']);
  });
});
