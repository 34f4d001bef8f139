import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { JsonObject } from '../../config/schema.ts';
import { run as verify } from '../../verify/annals-verify.mjs';
import { anonymous, bearer, login } from '../helpers/accounts.ts';
import { inlined } from '../helpers/contract.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { withApp } from '../helpers/openapi.ts';
import { apiKey, type CallOptions, runCommand, writeConfig } from '../helpers/service.ts';
import { eventually, recordedEvents, useFolder } from '../helpers/shared.ts';

const config = `
const mayUpdate = ({ user }) => user?.role === 'editor';
export default {
  collections: [
    {
      slug: 'posts',
      access: { update: { rule: mayUpdate, description: 'Editors change posts' }, delete: () => true },
      fields: [{ name: 'title', type: 'text' }],
    },
    {
      slug: 'users',
      auth: true,
      access: { create: ({ user }) => user !== null },
      fields: [{ name: 'role', type: 'select', options: ['editor', 'chief'] }],
    },
    { slug: 'files', upload: true, access: { create: () => true }, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
  audit: ({ user, apiKey }) => user !== null || apiKey !== null,
  bcryptCost: 4,
}`;
const ruleText = "({ user }) => user?.role === 'editor'";
const folder = useFolder();
const configFile = writeConfig(folder, config);
const service = useServiceHere(config);
const password = 'a long password';
let [post, gone, erased, ada] = ['', '', '', ''];
let asAda: CallOptions = {};

const annals = (...args: string[]) => runHere([...args, '--data', service.data]);
const get = (path: string, as = asAda) => service.call('GET', path, undefined, as);
const positionOf = (stream: string, version: number) =>
  recordedEvents(service.data, stream)[version - 1]?.position ?? 0;

before(async () => {
  const posts = '/api/collections/posts';
  const make = async (title: string) => (await service.call('POST', posts, { title })).body.id as string;
  [post, gone, erased] = [await make('One'), await make('Gone'), await make('Erased')];
  const [, setupToken] = /setup\?token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.com', password, role: 'editor' };
  const { body } = await service.call('POST', '/api/collections/users/first-user', first, anonymous);
  ada = body.user.id;
  asAda = bearer(body.token);
  await service.call('PATCH', `${posts}/${post}`, { title: 'Two' }, withReason('signed off'));
  // A user who may do it no longer, and did it while she might.
  await service.call('PATCH', `/api/collections/users/${ada}`, { role: 'chief' }, asAda);
  await service.call('DELETE', `${posts}/${gone}`);
  await service.call('POST', '/api/audit/erasures', { collection: 'posts', id: erased, reason: 'asked for' }, asAda);
  const account = `accounts/users/${ada}`;
  await login(service, 'users', 'ada@example.com', 'a wrong password');
  await eventually(() => recordedEvents(service.data, account).length === 3);
  await service.call('POST', '/api/collections/users/forgot-password', { email: 'ada@example.com' }, anonymous);
  await eventually(() => recordedEvents(service.data, account).length === 5);
  await service.call('PATCH', '/api/globals/site', { motto: 'Hi' }, asAda);
  await fetch(`${service.url}/api/audit/export`, { headers: { 'x-api-key': apiKey } }).then((answer) => answer.bytes());
});

function withReason(reason: string): CallOptions {
  return { ...asAda, headers: { ...asAda.headers, 'x-change-reason': reason } };
}

// biome-ignore lint/suspicious/noExplicitAny: what routes and commands answer
type Answered = any;

const versions = ({ docs }: Answered) => docs.map(({ version, type }: Answered) => [version, type]);
const whole = ({ document: { id, title } }: Answered) => [id, title];
const types = ({ docs }: Answered) => docs.map(({ header }: Answered) => header.type);
const linesOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const asPage = (stdout: string) => ({ docs: linesOf(stdout) });

type Report = {
  call: () => string;
  command: () => string[];
  /** The compared parts of an answer, and of the output of a command. */
  of: (answer: Answered) => unknown;
  read?: (stdout: string) => Answered;
  /** The part to compare in the answer of the call, if it has another form than that of the command. */
  ofCall?: (answer: Answered) => unknown;
  expected: () => unknown;
};

const reports: Record<string, Report> = {
  '1: the history of a document': {
    call: () => `/api/audit/documents/posts/${post}`,
    command: () => ['history', `posts/${post}`],
    of: versions,
    expected: () => [
      [1, 'document.created'],
      [2, 'document.updated'],
    ],
  },
  '2: what it said then': {
    call: () => `/api/collections/posts/${post}?asOf=${positionOf(`posts/${post}`, 1)}`,
    command: () => ['show', `posts/${post}`, '--as-of', String(positionOf(`posts/${post}`, 1))],
    ofCall: ({ id, title }) => [id, title],
    of: whole,
    expected: () => [post, 'One'],
  },
  '2: what a collection held then': {
    call: () => `/api/collections/posts?asOf=${positionOf(`posts/${erased}`, 1)}&sort=id`,
    command: () => ['show', 'posts', '--as-of', String(positionOf(`posts/${erased}`, 1))],
    ofCall: ({ docs }) => docs.map(({ id, title }: Answered) => [id, title]),
    of: (lines) => lines.map(whole),
    read: linesOf,
    expected: () => [
      [post, 'One'],
      [gone, 'Gone'],
    ],
  },
  '3: what changed': {
    call: () => `/api/audit/documents/posts/${post}/diff?from=1&to=2`,
    command: () => ['diff', `posts/${post}`, '--from', '1', '--to', '2'],
    of: ({ fields }) => fields,
    expected: () => [{ field: 'title', before: 'One', after: 'Two' }],
  },
  '4: what somebody did': {
    call: () => `/api/audit/events?actor=users/${ada}&type=document.updated`,
    command: () => ['events', '--actor', `users/${ada}`, '--type', 'document.updated'],
    of: ({ docs }) => docs.map(({ header }: Answered) => header.stream),
    read: asPage,
    expected: () => [`posts/${post}`, `users/${ada}`],
  },
  '5: a time, a type, a collection': {
    call: () => `/api/audit/events?collection=posts&type=document.created&from=3&to=${new Date().toISOString()}`,
    command: () => [
      ...['events', '--collection', 'posts', '--type', 'document.created'],
      ...['--from', '3', '--to', new Date().toISOString()],
    ],
    of: ({ docs }) => docs.map(({ header, data }: Answered) => [header.position, data?.title]),
    read: asPage,
    expected: () => [
      [3, 'Gone'],
      [4, undefined],
    ],
  },
  '6: logins, locks and resets of an account': {
    call: () => `/api/audit/accounts/users/${ada}`,
    command: () => ['history', `accounts/users/${ada}`],
    of: (answer) => versions(answer).map(([, type]: string[]) => type),
    expected: () => ['password.changed', 'session.started', 'login.failed', 'password.reset.requested', 'email.sent'],
  },
  '7: who was allowed to': {
    call: () => `/api/audit/documents/posts/${post}/versions/2/access`,
    command: () => ['access', `posts/${post}`, '--version', '2'],
    of: ({ actor, rule, user }) => [actor.id, rule, user.document.role],
    expected: () => [
      `users/${ada}`,
      {
        name: 'posts.update',
        sha256: createHash('sha256').update(ruleText).digest('hex'),
        description: 'Editors change posts',
        schema: 1,
      },
      'editor',
    ],
  },
  '8: deletions and erasures': {
    call: () => '/api/audit/events?type=document.deleted,document.erased',
    command: () => ['events', '--type', 'document.deleted,document.erased'],
    of: ({ docs }) => docs.map(({ header: { type, stream } }: Answered) => [type, stream]),
    read: asPage,
    expected: () => [
      ['document.deleted', `posts/${gone}`],
      ['document.erased', `posts/${erased}`],
    ],
  },
  '9: the schemas and rules that held': {
    call: () => '/api/audit/events?stream=system/schema',
    command: () => ['events', '--stream', 'system/schema'],
    of: ({ docs }) => docs.map(({ data }: Answered) => data.rules['posts.update'].description),
    read: asPage,
    expected: () => ['Editors change posts'],
  },
  '11: what others have taken out': {
    call: () => '/api/audit/events?type=log.exported',
    command: () => ['events', '--type', 'log.exported'],
    of: types,
    read: asPage,
    expected: () => ['log.exported'],
  },
};

describe('Each report of an audit has one call and one command, which say the same', () => {
  for (const [name, { call, command, of, ofCall = of, read = JSON.parse, expected }] of Object.entries(reports)) {
    it(name, async () => {
      const { status, body } = await get(call());
      const { code, stdout, stderr } = await annals(...command(), '--json');
      assert.deepEqual([status, code, stderr], [200, 0, ''], JSON.stringify(body));
      assert.deepEqual(ofCall(body), expected());
      assert.deepEqual(of(read(stdout)), expected());
    });
  }

  it('10: that nothing is left out', async () => {
    const answer = await fetch(`${service.url}/api/audit/bundles/posts/${post}?complete=true`, {
      headers: { 'x-api-key': apiKey },
    });
    const [called, saved] = [join(folder, 'called.zip'), join(folder, 'saved.zip')];
    writeFileSync(called, await answer.bytes());
    const command = ['bundle', `posts/${post}`, '--complete', '--out', saved, '--config', configFile];
    assert.equal((await annals(...command)).code, 0);
    const { verifierKey } = (await get('/api/audit/log')).body;
    for (const file of [called, saved]) {
      const { exit, text } = await verify(['--key', verifierKey, file]);
      assert.deepEqual([exit, readFileSync(file).length > 0], [0, true], text);
      assert.match(text, /proven +up to event \d+ there is no later version of posts/);
    }
  });
});

describe('The filters of events', () => {
  const own = ['system/schema', 'system/audit', 'system/clock', 'system/keys', 'system/files'];

  it('are told with each stream of the service itself, in the docs, the usage and the OpenAPI document', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
    assert.deepEqual([...page.matchAll(/^\| `(system\/\w+)` \|/gm)].map(([, name]) => name).sort(), own.toSorted());
    const { stdout: usage } = await runHere(['events', '--help']);
    const document: Answered = await withApp({ collections: [{ slug: 'posts', fields: [] }] }, async (app) =>
      JSON.parse(await app.openApi('audit')),
    );
    const parameters: Answered[] = inlined(document).paths['/api/audit/events'].get.parameters;
    const described = parameters.find(({ name }) => name === 'collection').description;
    for (const name of own) {
      assert.ok(usage.includes(name), `${name} in the usage`);
      assert.ok(described.includes(name), `${name} in the OpenAPI document`);
    }
  });

  it('take each of them, whether or not it has events yet', async () => {
    for (const name of own) {
      const { status, body } = await get(`/api/audit/events?collection=${name}&limit=100`);
      const { code, stdout } = await annals('events', '--collection', name, '--json');
      assert.deepEqual([status, code], [200, 0], name);
      assert.equal(stdout.trimEnd().split('\n').filter(Boolean).length, body.docs.length, name);
    }
  });

  it('refuse a range that ends before it begins, as an export does', async () => {
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
    const now = new Date().toISOString();
    const cases: [from: string, to: string, got: string][] = [
      ['9', '3', '9 and 3'],
      [late, early, '1 and 0'],
      ['2', early, '2 and 0'],
    ];
    for (const [from, to, got] of cases) {
      const message = `from must not be after to, got the positions ${got}`;
      for (const path of ['events', 'export']) {
        const { status, body } = await get(`/api/audit/${path}?from=${from}&to=${to}`);
        assert.deepEqual(
          [status, body.errors?.[0]],
          [400, { field: 'from', in: 'query', code: 'contradiction', message }],
          `${path} ${from} ${to}`,
        );
      }
      const { code, stdout, stderr } = await annals('events', '--from', from, '--to', to);
      assert.deepEqual([code, stdout], [2, ''], `${from} ${to}`);
      assert.match(stderr, new RegExp(`^--${message}`));
    }
    for (const [from, to] of [
      ['4', '3'],
      [early, late],
      ['3', now],
    ]) {
      const { status } = await get(`/api/audit/events?from=${from}&to=${to}`);
      const { code } = await annals('events', '--from', String(from), '--to', String(to));
      assert.deepEqual([status, code], [200, 0], `${from} ${to}`);
    }
  });
});

describe('Which rule admitted a write', () => {
  const rulesIn = async (stream: string) => {
    const { body } = await get(`/api/audit/events?stream=${stream}&limit=1000`);
    return body.docs.map(({ header, context }: Answered) => [header.type, context?.rule]);
  };

  it('stands in its event: a rule, a default, a key, an invitation, the first of all users, an erasure', async () => {
    assert.deepEqual(await rulesIn(`posts/${post}`), [
      ['document.created', 'apiKey'],
      ['document.updated', 'posts.update'],
    ]);
    assert.deepEqual(await rulesIn(`posts/${gone}`), [
      ['document.created', 'apiKey'],
      ['document.deleted', 'apiKey'],
    ]);
    assert.deepEqual((await rulesIn(`posts/${erased}`)).at(-1), ['document.erased', 'erase (default)']);
    assert.deepEqual(await rulesIn('globals/site'), [['global.updated', 'globals/site.update (default)']]);
    assert.deepEqual(await rulesIn(`users/${ada}`), [
      ['document.created', 'setup'],
      ['document.updated', 'users.update (default)'],
    ]);
    // The export, and the evidence packs by the call and by the command.
    assert.deepEqual(await rulesIn('system/audit'), [
      ['log.exported', 'audit'],
      ['log.exported', 'audit'],
      ['log.exported', 'operator'],
    ]);
    assert.deepEqual(await rulesIn(`accounts/users/${ada}`), [
      ['password.changed', 'setup'],
      ['session.started', 'setup'],
      ['login.failed', undefined],
      ['password.reset.requested', undefined],
      ['email.sent', undefined],
    ]);
    assert.deepEqual(await rulesIn('system/schema'), [['schema.changed', undefined]]);
  });

  it('stands in that of a file, an invitation, a restored document, and of what the operator does', async () => {
    const form = new FormData();
    form.append('file', new Blob(['hello'], { type: 'text/plain' }), 'hello.txt');
    const headers = asAda.headers ?? {};
    const sent = await fetch(`${service.url}/api/collections/files`, { method: 'POST', headers, body: form });
    const { id } = (await sent.json()) as { id: string };
    assert.deepEqual(await rulesIn(`files/${id}`), [['document.created', 'files.create']]);

    await service.call('POST', '/api/collections/users/invite', { email: 'bob@example.com' }, asAda);
    const { body } = await get('/api/audit/events?type=invite.created');
    assert.deepEqual(
      body.docs.map(({ context }: Answered) => context.rule),
      ['users.create'],
    );

    await service.call('POST', `/api/collections/posts/${gone}/restore`, { version: 1 }, asAda);
    assert.deepEqual((await rulesIn(`posts/${gone}`)).at(-1), ['document.restored', 'posts.create (default)']);

    const args = ['create-user', 'users', '--email', 'eve@example.com', '--config', configFile, '--data', service.data];
    const { code, stdout, stderr } = await runHere(args, { input: `${password}\n` });
    assert.deepEqual([code, stderr], [0, '']);
    const [eve = ''] = /[0-9a-f-]{36}/.exec(stdout) ?? [];
    assert.deepEqual(await rulesIn(`users/${eve}`), [['document.created', 'operator']]);
  });

  it('is told of a version with the history, for who may see payloads', async () => {
    const { body } = await get(`/api/audit/documents/posts/${post}`);
    assert.deepEqual(
      body.docs.map(({ reason, rule }: Answered) => [reason, rule]),
      [
        [null, 'apiKey'],
        ['signed off', 'posts.update'],
      ],
    );
    const blame = await get(`/api/audit/documents/posts/${post}/blame`);
    assert.equal(blame.body.fields[0].rule, 'posts.update');
  });
});

describe('The access report of a version', () => {
  const access = (path: string, as?: CallOptions) => get(`/api/audit/${path}/access`, as);

  it('tells of a key, a default and a first user what there is to tell', async () => {
    const byKey = await access(`documents/posts/${post}/versions/1`);
    assert.deepEqual(
      [byKey.body.rule, byKey.body.user],
      [{ name: 'apiKey', sha256: null, description: null, schema: 1 }, null],
    );
    const byDefault = await access('globals/site/versions/1');
    assert.deepEqual(
      [byDefault.body.rule.name, byDefault.body.rule.sha256, byDefault.body.user.document.role],
      ['globals/site.update (default)', null, 'chief'],
    );
    const first = await access(`documents/users/${ada}/versions/1`);
    assert.deepEqual([first.body.rule.name, first.body.user], ['setup', null]);
    const failed = await access(`accounts/users/${ada}/versions/3`);
    assert.deepEqual([failed.body.type, failed.body.rule], ['login.failed', null]);
  });

  it('tells of what has been erased only that', async () => {
    const { status, body } = await access(`documents/posts/${erased}/versions/1`);
    assert.deepEqual([status, body.erased, body.rule], [200, true, null]);
  });

  it('hides the user from a key without account rights, and everything from callers who may see no payloads', async () => {
    const byKey: CallOptions = {};
    const { body } = await access(`documents/posts/${post}/versions/2`, byKey);
    const { document, withheld, stream } = body.user as JsonObject;
    assert.deepEqual([body.rule.name, document, withheld, stream], ['posts.update', null, true, `users/${ada}`]);
    assert.equal((await access(`documents/users/${ada}/versions/1`, byKey)).status, 403);
    assert.equal((await access(`documents/posts/${post}/versions/2`, anonymous)).status, 401);
    for (const [version, status] of [
      ['3', 404],
      ['0', 400],
      ['x', 400],
    ] as const) {
      assert.equal((await access(`documents/posts/${post}/versions/${version}`)).status, status, version);
    }
  });
});

describe('An export of several types', () => {
  it('is proven event by event', async () => {
    const file = join(folder, 'several.zip');
    const types = 'document.deleted,document.erased';
    const saved = await annals('export', '--type', types, '--out', file, '--config', configFile);
    assert.match(saved.stdout, /^saved 2 events /);
    const { verifierKey } = (await get('/api/audit/log')).body;
    const { exit, text } = await verify(['--key', verifierKey, file]);
    assert.equal(exit, 0, text);
    assert.match(text, /proven +each of the 2 events is in the log/);
  });
});

describe('annals show, access and events', () => {
  it('are read by people, in a process of their own', async () => {
    const shown = await runCommand(['access', `posts/${post}`, '--data', service.data]);
    assert.equal(shown.code, 0);
    const [title, what, ...lines] = shown.stdout.trimEnd().split('\n');
    assert.equal(title, `posts/${post}: version 2`);
    assert.match(what ?? '', new RegExp(`^document\\.updated at position \\d+, \\S+Z, by users/${ada}: signed off$`));
    const sha256 = createHash('sha256').update(ruleText).digest('hex');
    assert.deepEqual(lines.slice(0, 3), [
      'rule: posts.update',
      '  Editors change posts',
      `  SHA-256 ${sha256}, as recorded at position 1`,
    ]);
    assert.match(lines[3] ?? '', new RegExp(`^user: users/${ada}, version 1 at position \\d+$`));
    assert.match(lines[4] ?? '', /"role":"editor"/);
  });

  it('name a rule by the fingerprint that its configuration has', async () => {
    const { code, stdout } = await runHere(['config', 'check', '--rules', '--config', configFile]);
    const sha256 = createHash('sha256').update(ruleText).digest('hex');
    assert.deepEqual([code, stdout.includes(`\nposts.update  ${sha256}  Editors change posts\n`)], [0, true], stdout);
  });

  it('show a document, a collection and a global in lines', async () => {
    const { stdout } = await annals('show', `posts/${post}`);
    assert.match(
      stdout,
      /^posts\/\S+: version 2\ndocument\.updated .*: signed off\nid: "\S+"\n.*\n.*\ntitle: "Two"\n$/,
    );
    const list = (await annals('show', 'posts', '--as-of', '3')).stdout.trimEnd().split('\n');
    assert.deepEqual([list[0], list.length], ['posts as of position 3', 4]);
    assert.match(list[3] ?? '', new RegExp(`^${gone} +1 +\\S+Z +\\{"createdAt":.*"title":"Gone"\\}$`));
    assert.match((await annals('show', 'globals/site')).stdout, /\nmotto: "Hi"\n$/);
    assert.match((await annals('events', '--type', 'log.exported')).stdout, /^ +RECORDED.*\n\d+ .* log\.exported /);
  });

  it('name missing things, and an invalid moment, type, actor or collection', async () => {
    const refusals: [args: string[], code: number, message: RegExp][] = [
      [['show', 'posts/none'], 1, /^there is nothing about "posts\/none" in the log\n$/],
      [['show', 'pots'], 1, /^there is no collection "pots" in the log; did you mean "posts"\?\n$/],
      [['show', `posts/${post}`, '--as-of', '1'], 1, /^posts\/\S+ was not there yet at position 1\n$/],
      [['show', `posts/${erased}`], 1, /^posts\/\S+ has been erased: version 2 at position \d+, \S+Z\n$/],
      [['show', `accounts/users/${ada}`], 2, /^"accounts\/users\/\S+" has no documents; annals history shows/],
      [['show', 'posts', '--as-of', 'tomorrow'], 2, /^--as-of must be a position like 1234, .*got "tomorrow"/],
      [['show', 'posts', '--as-of', '9999'], 2, /^--as-of must be a position from 1 to \d+/],
      [['show'], 2, /^COLLECTION\[\/ID\] is missing/],
      [['access', `posts/${post}`, '--version', '9'], 1, /^there is no version 9, the last is 2\n$/],
      [
        ['events', '--type', 'document.deleted,document.erasd'],
        2,
        /^--type must be .*did you mean "document.erased"\?/,
      ],
      [['events', '--actor', 'usr'], 2, /^--actor must be one of .*did you mean "user"\?/],
      [['events', '--collection', 'pots', '--from', '0'], 2, /^--collection must be .*"posts"\?\n--from must be /],
      [['events', '--stream', 'posts/none'], 2, /^--stream must be one of the log/],
    ];
    for (const [args, code, message] of refusals) {
      const ended = await annals(...args);
      assert.deepEqual([ended.code, ended.stdout], [code, ''], `${args.join(' ')}: ${ended.stderr}`);
      assert.match(ended.stderr, message, args.join(' '));
    }
  });
});

describe('The events of a bulk call', () => {
  it('are found by its id, with a call and with a command', async () => {
    const docs = [{ title: 'Many 1' }, { title: 'Many 2' }];
    const { batch, results } = (await service.call('POST', '/api/collections/posts/bulk', { docs })).body;
    await service.call('POST', '/api/collections/posts', { title: 'By itself' });
    const streams = results.map(({ id }: Answered) => `posts/${id}`);
    for (const [type, expected] of [
      ['document.created', streams],
      ['document.deleted', []],
    ]) {
      const { body } = await get(`/api/audit/events?batch=${batch}&type=${type}`);
      const { code, stdout } = await annals('events', '--batch', batch, '--type', type, '--json');
      const printed = stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
      const streamsOf = (events: Answered[]) => events.map(({ header }) => header.stream);
      assert.deepEqual([code, streamsOf(body.docs), streamsOf(printed)], [0, expected, expected]);
    }
    const { code, stdout, stderr } = await annals('events', '--batch', 'posts');
    const message = 'batch must be the id of a bulk call, as its answer has it, got "posts"';
    assert.deepEqual([code, stdout, stderr.split('\n')[0]], [2, '', `--${message}`]);
    assert.equal((await get('/api/audit/events?batch=posts')).body.errors[0].message, message);
  });
});
