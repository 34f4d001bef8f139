import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import Hapi from '@hapi/hapi';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { keyRouteOf, keyRoutes } from '../../server/callers/key-routes.ts';
import { routes } from '../../server/running/app/routes.ts';
import { anonymous, bearer, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { withApp } from '../helpers/openapi.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { recordedData, recordedEvents } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';
import { all, make, of, ofGlobals, password, type Rights } from './made-keys.ts';

const never = '0'.repeat(16);

/** Rules say no nearly everywhere: a key is not asked about them. */
const config = `const no = () => false;
const title = { name: 'title', type: 'text' };
export default {
  bcryptCost: 4,
  collections: [
    { slug: '__admins', auth: true, fields: [] },
    { slug: 'staff', auth: true, access: { read: no, update: no, delete: no }, fields: [] },
    { slug: 'members', auth: { useAPIKey: true }, access: { read: no }, fields: [] },
    { slug: 'tags', access: { read: no }, fields: [title] },
    { slug: 'open', access: { read: () => true, create: () => true }, history: 'public', fields: [title] },
    { slug: 'files', upload: true, fields: [] },
    { slug: 'posts', access: { read: no, update: no }, fields: [
      title,
      { name: 'secret', type: 'text', access: { read: no, update: no } },
      { name: 'tag', type: 'relationship', relationTo: 'tags' },
      { name: 'file', type: 'upload', relationTo: 'files' },
    ] },
  ],
  globals: [{ slug: 'site', fields: [title] }, { slug: 'front', fields: [title] }],
};`;

const here = useServiceHere(config);
let admin: LoggedIn;
let staff: LoggedIn;
const ids: Record<string, string> = {};

async function created(slug: string, body: object): Promise<string> {
  const answer = await here.call('POST', `/api/collections/${slug}`, body, slug === 'staff' ? admin.as : {});
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

before(async () => {
  assert.equal((await here.call('POST', '/api/keys', { name: 'x' }, anonymous)).status, 401);
  const [, setupToken] = /token=([\w-]+)/.exec(here.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.org', password };
  const { body } = await here.call('POST', '/api/collections/__admins/first-user', first, anonymous);
  admin = { token: body.token, id: body.user.id, as: bearer(body.token) };
  ids.tags = await created('tags', { title: 'a tag' });
  const form = new FormData();
  form.set('file', new Blob(['some text']), 'a.txt');
  const headers = { 'x-api-key': 'test-key-0123456789' };
  const sent = await fetch(`${here.url}/api/collections/files`, { method: 'POST', headers, body: form });
  const file = (await sent.json()) as { id: string; url: string };
  ids.files = file.id;
  ids.url = file.url;
  ids.posts = await created('posts', { title: 'One', secret: 'hidden', tag: ids.tags, file: file.id });
  ids.open = await created('open', { title: 'for everybody' });
  ids.members = await created('members', { email: 'mia@example.org', password });
  ids.staff = await created('staff', { email: 'sam@example.org', password });
  staff = await loggedIn(here, 'staff', 'sam@example.org', password);
});

describe('API keys', () => {
  it('are made, listed and revoked, each time with an event', async () => {
    const rights = { scopes: [of(['files'], 'read')], audit: ['headers'], expiresAt: '2999-01-01T01:00:00+01:00' };
    const { body: key } = await assertRecorded(
      here,
      async () => {
        const answer = await here.call('POST', '/api/keys', { name: ' The web server ', ...rights }, admin.as);
        assert.deepEqual([answer.status, answer.headers.get('cache-control')], [201, 'no-store']);
        return answer;
      },
      ({ body: { id } }) => [
        {
          type: 'apikey.created',
          stream: 'system/api-keys',
          actor: { type: 'user', id: `__admins/${admin.id}` },
          data: {
            id,
            name: 'The web server',
            scopes: [{ collections: ['files'], globals: [], operations: ['read'] }],
            audit: ['headers'],
            expiresAt: '2999-01-01T00:00:00.000Z',
            credential: credentialIn(id),
          },
        },
      ],
    );
    const { id, secret, createdAt } = key;
    assert.match(id, /^[\da-f]{16}$/);
    assert.match(secret, new RegExp(`^annals_${id}_[\\w-]{43}$`));
    assert.equal(new Date(createdAt).toISOString(), createdAt);
    const shown = {
      id,
      name: 'The web server',
      scopes: [{ collections: ['files'], globals: [], operations: ['read'] }],
      audit: ['headers'],
      createdAt,
      createdBy: { type: 'user', id: `__admins/${admin.id}` },
      expiresAt: '2999-01-01T00:00:00.000Z',
      lastUsedAt: null,
    };
    assert.deepEqual(key, { ...shown, secret });
    const { body: list } = await here.call('GET', '/api/keys', undefined, admin.as);
    assert.deepEqual([list.docs, list.total], [[shown], 1]);
    const revoked = await assertRecorded(here, () => here.call('DELETE', `/api/keys/${id}`, undefined, admin.as), [
      { type: 'apikey.revoked', stream: 'system/api-keys', data: { id } },
    ]);
    assert.deepEqual([revoked.status, revoked.body], [200, shown]);
    assert.deepEqual((await here.call('GET', '/api/keys')).body.docs, []);
    assert.equal((await here.call('DELETE', `/api/keys/${id}`)).status, 404);
  });

  const credentialIn = (id: string) =>
    recordedData(here.data, 'system/api-keys').find((one) => one.id === id)?.credential;

  it('have no right by default', async () => {
    const { as, id } = await make(here);
    const { body } = await here.call('GET', '/api/keys?limit=100');
    const { scopes, audit, expiresAt, createdBy } = body.docs.find((one: { id: string }) => one.id === id);
    assert.deepEqual([scopes, audit, expiresAt, createdBy.type], [[], [], null, 'apiKey']);
    assert.equal((await here.call('GET', '/api/collections/posts', undefined, as)).status, 403);
  });

  it('leave read tables that are what the log makes of them', async () => {
    await make(here);
    const { code, stdout } = await runHere(['verify', '--data', here.data]);
    assert.equal(code, 0, stdout);
  });

  it('are known by when they were used last, to the minute', async () => {
    const { as, id } = await make(here, { scopes: [of(['posts'], 'read')] });
    const start = Math.floor(Date.now() / 60_000) * 60_000;
    await here.call('GET', '/api/collections/posts', undefined, as);
    const { body } = await here.call('GET', '/api/keys?limit=100');
    const { lastUsedAt } = body.docs.find((one: { id: string }) => one.id === id);
    assert.match(lastUsedAt, /:00\.000Z$/);
    assert.ok(Date.parse(lastUsedAt) >= start && Date.parse(lastUsedAt) <= Date.now(), lastUsedAt);
  });

  it('stand neither in the log nor in any other file, nor in what the service prints', async () => {
    const { as, secret } = await make(here, { scopes: [all] });
    await here.call('POST', '/api/collections/posts', { title: 'x' }, as);
    await here.call('GET', `/api/collections/posts?x=1`, undefined, as);
    const random = secret.slice(-43);
    for (const name of readdirSync(here.data, { recursive: true, encoding: 'utf8' })) {
      if (/\.db(-wal)?$/.test(name)) assert.ok(!readFileSync(join(here.data, name)).includes(random), name);
    }
    assert.ok(!JSON.stringify(here.lines()).includes(random));
    const [last] = recordedEvents(here.data).slice(-1);
    assert.deepEqual(last?.actor, { type: 'apiKey', id: secret.split('_')[1] });
  });

  it('are refused with one answer, whatever is wrong with them', async () => {
    const { secret, id } = await make(here, { scopes: [all] });
    const soon = Date.now() + 2000;
    const expired = await make(here, { scopes: [all], expiresAt: new Date(soon).toISOString() });
    const { status: before } = await here.call('GET', '/api/collections/posts', undefined, expired.as);
    assert.ok(before === 200 || Date.now() >= soon);
    const revoked = await make(here, { scopes: [all] });
    await here.call('DELETE', `/api/keys/${revoked.id}`);
    await setTimeout(Math.max(soon - Date.now(), 0) + 10);
    const wrong = [
      secret.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      secret.replace(id, never),
      `${secret}x`,
      secret.toUpperCase(),
      secret.replace('annals_', ''),
      `annals_${id}_`,
      `annals_${id}_${'%00'.repeat(20)}`,
      `annals_${'../'.repeat(5)}x_${'A'.repeat(43)}`,
      expired.secret,
      revoked.secret,
    ];
    const answers = new Set<string>();
    for (const key of wrong) {
      for (const path of ['/api/collections/posts', '/api/collections/open', '/api/none', '/api/schemas']) {
        const { status, body, headers } = await here.call('GET', path, undefined, { key });
        answers.add(JSON.stringify([status, body, headers.get('cache-control'), headers.get('vary')]));
      }
      const beside = { key, headers: admin.as.headers ?? {} };
      assert.equal((await here.call('GET', '/api/collections/posts', undefined, beside)).status, 401);
    }
    const body = {
      statusCode: 401,
      error: 'Unauthorized',
      message: 'the API key is not valid',
      code: 'invalid_api_key',
    };
    assert.equal(answers.size, 1);
    assert.ok([...answers][0]?.startsWith(JSON.stringify([401, body]).slice(0, -1)), [...answers][0]);
  });

  it('are refused as soon as they are revoked, also those that were used a moment ago', async () => {
    const { id, as } = await make(here, { scopes: [all] });
    const status = async () => (await here.call('GET', '/api/collections/posts?limit=1', undefined, as)).status;
    assert.equal(await status(), 200);
    assert.equal((await here.call('DELETE', `/api/keys/${id}`)).status, 200);
    assert.equal(await status(), 401);
  });

  it('add nothing to the rights of a user beside them, and take nothing from those', async () => {
    const { secret } = await make(here);
    const headers = admin.as.headers ?? {};
    const me = await here.call('GET', '/api/collections/__admins/me', undefined, { key: secret, headers });
    assert.equal(me.status, 200);
    const keys = await here.call('GET', '/api/keys', undefined, { key: secret, headers });
    assert.equal(keys.status, 200);
    const full = await make(here, { scopes: [all] });
    const asStaff = { key: full.secret, headers: staff.as.headers ?? {} };
    assert.equal((await here.call('GET', '/api/collections/tags', undefined, asStaff)).status, 403);
  });

  it('of which there is something wrong are refused by name', async () => {
    const cases: [body: unknown, field: string, message: RegExp][] = [
      [{}, 'name', /^name is required$/],
      [{ name: '' }, 'name', /must be one line of 1 to 100 characters, got ""$/],
      [{ name: 'a\nb' }, 'name', /one line/],
      [{ name: 'x'.repeat(101) }, 'name', /1 to 100/],
      [{ name: 5 }, 'name', /must be a text, got 5/],
      [{ name: '\u202eevil' }, 'name', /^name must not hold U\+202E, which changes .*, got "\\u202eevil"$/],
      [{ name: 'a\u061c' }, 'name', /U\+061C/],
      [{ name: 'a\u2066b' }, 'name', /U\+2066/],
      [{ name: 'x', scope: [] }, 'scope', /is not a field; did you mean "scopes"\?$/],
      [{ name: 'x', scopes: 'posts' }, 'scopes', /must be a list/],
      [{ name: 'x', scopes: ['posts'] }, 'scopes.0', /must be an object/],
      [{ name: 'x', scopes: [{}] }, 'scopes.0.operations', /is required/],
      [{ name: 'x', scopes: [of(['posts'])] }, 'scopes.0', /at least one operation/],
      [{ name: 'x', scopes: [{ operations: ['read'] }] }, 'scopes.0', /at least one collection or global/],
      [{ name: 'x', scopes: [of(['post'], 'read')] }, 'scopes.0.collections', /"post" is not; did you mean "posts"\?/],
      [{ name: 'x', scopes: [of(['site'], 'read')] }, 'scopes.0.collections', /allowed: "__admins", "staff"/],
      [{ name: 'x', scopes: [of(['posts', 'posts'], 'read')] }, 'scopes.0.collections', /each slug once/],
      [{ name: 'x', scopes: [of('**' as '*', 'read')] }, 'scopes.0.collections', /must be "\*" or a list/],
      [{ name: 'x', scopes: [ofGlobals(['sites'], 'read')] }, 'scopes.0.globals', /did you mean "site"\?/],
      [{ name: 'x', scopes: [of('*', 'write')] }, 'scopes.0.operations.0', /must be one of "read", "create"/],
      [{ name: 'x', scopes: [of('*', 'read', 'read')] }, 'scopes.0.operations.1', /not be listed twice/],
      [{ name: 'x', scopes: [{ ...all, fields: [] }] }, 'scopes.0.fields', /is not a field/],
      [{ name: 'x', scopes: Array.from({ length: 101 }, () => all) }, 'scopes', /at most 100 scopes/],
      [{ name: 'x', audit: ['payload'] }, 'audit.0', /did you mean "payloads"\?/],
      [{ name: 'x', expiresAt: 'tomorrow' }, 'expiresAt', /must be a date and time with a zone/],
      [{ name: 'x', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt', /must be in the future/],
    ];
    for (const [body, field, message] of cases) {
      const answer = await here.call('POST', '/api/keys', body);
      assert.equal(answer.status, 400, JSON.stringify([body, answer.body]));
      assert.equal(answer.body.errors[0].field, field, JSON.stringify(answer.body));
      assert.match(answer.body.errors[0].message, message);
    }
    const { id } = await make(here);
    for (const overlapSeconds of [-1, 604_801, 1.5, '60', null]) {
      const { status, body } = await here.call('POST', `/api/keys/${id}/rotate`, { overlapSeconds });
      assert.deepEqual([status, body.errors?.[0].field], [400, 'overlapSeconds'], JSON.stringify(body));
    }
    for (const text of ['null', '[]', '"x"', '0', 'false']) {
      const { status, body } = await here.call('POST', `/api/keys/${id}/rotate`, text);
      assert.deepEqual([status, body.message], [400, 'the body must be a JSON object'], text);
    }
    assert.equal((await here.call('GET', '/api/keys?limit=x')).status, 400);
    for (const id of [never, '__proto__', '../keys', 'x'.repeat(5000)]) {
      const path = `/api/keys/${encodeURIComponent(id)}`;
      assert.ok([404, 414].includes((await here.call('DELETE', path)).status), id);
      assert.ok([404, 414].includes((await here.call('POST', `${path}/rotate`, {})).status), id);
    }
  });
});

describe('A new secret of an API key', () => {
  it('is given to a key with every right by the key of the environment, not by a user', async () => {
    const full = await make(here, { scopes: [all] });
    assert.equal((await here.call('POST', `/api/keys/${full.id}/rotate`, {}, admin.as)).status, 403);
    assert.equal((await here.call('POST', `/api/keys/${full.id}/rotate`, {})).status, 200);
  });

  const lists = async (key: string) => (await here.call('GET', '/api/collections/posts', undefined, { key })).status;

  it('ends the one before at once, unless both are to be valid for a while', async () => {
    const { id, secret } = await make(here, { scopes: [of(['posts'], 'read')] }, 'kept');
    assert.equal(await lists(secret), 200);
    const { body: second } = await assertRecorded(here, () => here.call('POST', `/api/keys/${id}/rotate`), [
      'apikey.rotated system/api-keys',
    ]);
    assert.deepEqual([second.id, second.name], [id, 'kept']);
    assert.deepEqual([await lists(secret), await lists(second.secret)], [401, 200]);
    const { body: third } = await here.call('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 60 });
    assert.deepEqual([await lists(second.secret), await lists(third.secret)], [200, 200]);
    const { body: fourth } = await here.call('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 604_800 });
    const each = await Promise.all([secret, second.secret, third.secret, fourth.secret].map(lists));
    assert.deepEqual(each, [401, 401, 200, 200], 'two of them are valid at a time');
    await here.call('DELETE', `/api/keys/${id}`);
    assert.deepEqual([await lists(third.secret), await lists(fourth.secret)], [401, 401]);
    assert.equal((await here.call('POST', `/api/keys/${id}/rotate`)).status, 404);
  });

  it('leaves the one before valid for as long as it was told, and no longer', async () => {
    const { id, secret } = await make(here, { scopes: [of(['posts'], 'read')] });
    const start = Date.now();
    await here.call('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 2 });
    const status = await lists(secret);
    assert.ok(status === 200 || Date.now() - start >= 2000);
    await setTimeout(2010);
    assert.equal(await lists(secret), 401);
  });

  it('is not for a key that has expired', async () => {
    const soon = Date.now() + 1000;
    const { id } = await make(here, { expiresAt: new Date(soon).toISOString() });
    await setTimeout(Math.max(soon - Date.now(), 0) + 10);
    const { status, body } = await here.call('POST', `/api/keys/${id}/rotate`);
    assert.deepEqual([status, body.message], [409, `the API key "${id}" has expired: make another`]);
    assert.equal((await here.call('DELETE', `/api/keys/${id}`)).status, 200);
  });

  it('is one of several that are asked for at once, of which each answer was true', async () => {
    const { id } = await make(here, { scopes: [of(['posts'], 'read')] });
    const calls = Array.from({ length: 5 }, () => here.call('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 60 }));
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    const valid = await Promise.all(answers.map(({ body }) => lists(body.secret)));
    assert.equal(valid.filter((status) => status === 200).length, 2);
  });
});

/** A step: of a new key, or of one that there is, by its place among all. */
type Step = { kind: 'make' | 'rotate' | 'keep' | 'revoke'; at: number };

describe('API keys under any sequence of changes', () => {
  it('are valid by their last secret, by the one before if that was kept, and by no other', async () => {
    const step: fc.Arbitrary<Step> = fc.record({
      kind: fc.constantFrom('make', 'make', 'rotate', 'keep', 'revoke'),
      at: fc.nat(9),
    });
    const property = fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const model: { id: string; secrets: string[]; valid: string[] }[] = [];
      for (const { kind, at } of steps) {
        const key = model[at % Math.max(model.length, 1)];
        if (kind === 'make') {
          const { id, secret } = await make(here, { scopes: [of(['posts'], 'read')] });
          model.push({ id, secrets: [secret], valid: [secret] });
        } else if (key && kind === 'revoke') {
          const { status } = await here.call('DELETE', `/api/keys/${key.id}`);
          assert.equal(status, key.valid.length > 0 ? 200 : 404);
          key.valid = [];
        } else if (key) {
          const overlapSeconds = kind === 'keep' ? 600 : 0;
          const { status, body } = await here.call('POST', `/api/keys/${key.id}/rotate`, { overlapSeconds });
          assert.equal(status, key.valid.length > 0 ? 200 : 404);
          if (status === 404) continue;
          key.valid = kind === 'keep' ? [body.secret, String(key.valid[0])] : [body.secret];
          key.secrets.push(body.secret);
        }
      }
      for (const { secrets, valid } of model) {
        for (const key of secrets) {
          const { status } = await here.call('GET', '/api/collections/posts?limit=1', undefined, { key });
          assert.equal(status, valid.includes(key) ? 200 : 401);
        }
      }
      const { body } = await here.call('GET', '/api/keys?limit=100');
      const listed = new Set(body.docs.map(({ id }: { id: string }) => id));
      for (const { id, valid } of model) assert.equal(listed.has(id), valid.length > 0);
    });
    await fc.assert(property, { numRuns: Number(process.env.TEST_RUNS ?? 8) });
  });
});

describe('The scopes of an API key', () => {
  // The service keeps the document once it is made; making it takes longer than any test of scopes.
  before(async () => assert.equal((await here.call('GET', '/api/openapi.json')).status, 200));

  const get = (path: string, as: CallOptions) => here.call('GET', path, undefined, as);

  it('hold each operation on each collection and global by itself', async () => {
    const operations = ['read', 'create', 'update', 'delete'] as const;
    const attempt = async (operation: string, target: string, as: CallOptions): Promise<number> => {
      const isGlobal = target === 'site';
      const path = isGlobal ? '/api/globals/site' : '/api/collections/tags';
      if (operation === 'create') return (await here.call('POST', path, { title: 'x' }, as)).status;
      const one = isGlobal ? path : `${path}/${await created('tags', { title: 'x' })}`;
      if (operation === 'read') {
        const list = (await get(path, as)).status;
        assert.equal((await get(one, as)).status, list);
        return list;
      }
      if (operation === 'update') return (await here.call('PATCH', one, { title: `${Math.random()}` }, as)).status;
      return (await here.call('DELETE', one, undefined, as)).status;
    };
    for (const given of operations) {
      for (const scope of [of(['tags'], given), of('*', given), of(['posts'], given), ofGlobals('*', given)]) {
        const { as } = await make(here, { scopes: [scope] });
        const isOfTags = 'collections' in scope && (scope.collections === '*' || scope.collections.includes('tags'));
        for (const asked of operations) {
          const isRight = isOfTags && asked === given;
          const status = await attempt(asked, 'tags', as);
          assert.equal(status < 300, isRight, `${asked} with ${JSON.stringify(scope)}: ${status}`);
          if (!isRight) assert.equal(status, 403);
        }
        for (const asked of ['read', 'update'] as const) {
          const isRight = 'globals' in scope && asked === given;
          assert.equal(await attempt(asked, 'site', as), isRight ? 200 : 403, `${asked} with ${JSON.stringify(scope)}`);
        }
      }
    }
    const { as } = await make(here, { scopes: [of(['posts'], 'read'), of(['tags'], 'create')] });
    assert.equal(await attempt('read', 'tags', as), 403, 'scopes do not mix');
    assert.equal(await attempt('create', 'tags', as), 201);
  });

  it('show nothing outside themselves: not even whether it exists, or is public', async () => {
    const { as } = await make(here, { scopes: [of(['tags'], 'read')] });
    const outside = { statusCode: 403, error: 'Forbidden', code: 'forbidden' };
    for (const id of [ids.posts, ids.open, never, '../x']) {
      const slug = id === ids.open ? 'open' : 'posts';
      const path = `/api/collections/${slug}/${encodeURIComponent(String(id))}`;
      const answers: [verb: string, answer: Answer][] = [
        ['read', await get(path, as)],
        ['update', await here.call('PATCH', path, { title: 'x' }, as)],
        ['delete', await here.call('DELETE', path, undefined, as)],
      ];
      for (const [verb, { body }] of answers) {
        const message = `you may not ${verb} ${slug}: the scopes of this API key do not hold it`;
        assert.deepEqual(body, { ...outside, message });
      }
    }
    assert.equal((await get('/api/collections/open', as)).status, 403);
    assert.equal((await get('/api/collections/open', anonymous)).status, 200);
  });

  it('are needed for bulk calls too, also for those that come to nothing, and the refusal says so', async () => {
    const { as } = await make(here, { scopes: [of(['tags'], 'read')] });
    const none = { where: { title: { equals: never } } };
    const calls: [verb: string, path: string, body: object][] = [
      ['create', '', { docs: [] }],
      ['create', '', { docs: [{ title: 'x' }] }],
      ['update', '/update', { ...none, data: { title: 'x' } }],
      ['update', '/update?dryRun=true', { ids: [], data: { title: 'x' } }],
      ['delete', '/delete', none],
      ['delete', '/delete', { ids: [ids.tags] }],
    ];
    for (const [verb, path, body] of calls) {
      const answer = await here.call('POST', `/api/collections/tags/bulk${path}`, body, as);
      assert.equal(answer.status, 403, JSON.stringify(answer.body));
      assert.equal(answer.body.message, `you may not ${verb} tags: the scopes of this API key do not hold it`);
    }
    const staff = await here.call('POST', '/api/collections/staff/bulk', { docs: [{ email: 'x@example.org' }] });
    assert.equal(staff.status, 403);
    assert.equal(
      staff.body.message,
      'you may not create staff: an API key counts here only where auth.useAPIKey is true',
    );
  });

  it('are asked and not the rules, of fields neither', async () => {
    const { as } = await make(here, { scopes: [of(['posts'], 'read', 'update')] });
    const { body } = await get(`/api/collections/posts/${ids.posts}`, as);
    assert.equal(body.secret, 'hidden');
    const changed = await here.call('PATCH', `/api/collections/posts/${ids.posts}`, { secret: 'known' }, as);
    assert.equal(changed.body.secret, 'known');
  });

  it('hold what relations lead to', async () => {
    const { as } = await make(here, { scopes: [of(['posts'], 'read')] });
    const both = await make(here, { scopes: [of(['posts', 'tags'], 'read')] });
    const path = `/api/collections/posts/${ids.posts}?depth=2`;
    const { body } = await get(path, as);
    assert.deepEqual([body.tag, body.file], [ids.tags, ids.files]);
    assert.equal((await get(path, both.as)).body.tag.title, 'a tag');
    const through = '/api/collections/posts?where[tag.title][equals]=a%20tag';
    assert.equal((await get(through, as)).status, 400);
    assert.equal((await get(through, both.as)).body.total, 1);
    assert.equal((await get('/api/collections/posts?sort=tag.title', as)).status, 400);
  });

  it('hold files, schemas and the description of the API', async () => {
    const file = String(ids.url);
    const [{ as }, other] = [
      await make(here, { scopes: [of(['files'], 'read')] }),
      await make(here, { scopes: [of(['posts'], 'read')] }),
    ];
    const headers = (caller: CallOptions) => ({ headers: { 'x-api-key': String(caller.key) } });
    assert.equal(await (await fetch(here.url + file, headers(as))).text(), 'some text');
    assert.equal((await fetch(here.url + file, headers(other.as))).status, 403);
    const slugs = async (caller: CallOptions) => {
      const { body } = await get('/api/schemas', caller);
      return [...body.collections, ...body.globals].map(({ slug }) => slug);
    };
    assert.deepEqual(await slugs(as), ['files']);
    assert.deepEqual(await slugs((await make(here)).as), []);
    const whole = await make(here, { scopes: [of('*', 'read'), ofGlobals('*', 'read')] });
    assert.equal((await slugs(whole.as)).length, 9);
    assert.equal((await get('/api/openapi.json', as)).status, 403);
    assert.equal((await get('/api/openapi.json', whole.as)).status, 200);
  });

  it('of accounts count only with useAPIKey, as for the key of the environment', async () => {
    const { as } = await make(here, { scopes: [all] });
    for (const [slug, status] of Object.entries({ staff: 403, members: 200, __admins: 403 })) {
      assert.equal((await get(`/api/collections/${slug}`, as)).status, status, slug);
    }
    const posts = await make(here, { scopes: [of(['posts'], 'read')] });
    assert.equal((await get('/api/collections/members', posts.as)).status, 403);
    for (const path of ['members/me', 'members/sessions', 'staff/me']) {
      assert.equal((await get(`/api/collections/${path}`, as)).status, 401, path);
    }
  });

  it('must hold what a restore and a preview do', async () => {
    const made = await created('posts', { title: 'One' });
    const path = `/api/collections/posts/${made}`;
    await here.call('PATCH', path, { title: 'Two' });
    const restore = (as: CallOptions) => here.call('POST', `${path}/restore`, { version: 1 }, as);
    const status = async (audit: string[], ...operations: string[]) => {
      const { as } = await make(here, { scopes: [of(['posts'], ...operations)], audit });
      return (await restore(as)).status;
    };
    assert.equal(await status([], 'read', 'update'), 403, 'without the past');
    assert.equal(await status(['payloads'], 'read', 'create'), 403, 'without the right to update');
    assert.equal(await status(['payloads'], 'update'), 403, 'without the right to read');
    assert.equal(await status(['payloads'], 'read', 'update'), 200);
    await here.call('DELETE', path);
    assert.equal(await status(['payloads'], 'read', 'update'), 403, 'it creates now');
    assert.equal(await status(['payloads'], 'read', 'create'), 200);
    const draft = { collection: 'posts', id: made, data: { title: 'x' } };
    const preview = async (...operations: string[]) => {
      const { as } = await make(here, { scopes: [of(['posts'], ...operations)] });
      return (await here.call('POST', '/api/preview-token', draft, as)).status;
    };
    assert.deepEqual([await preview('read'), await preview('update')], [403, 200]);
  });
});

describe('The history under an API key', () => {
  const get = (path: string, as: CallOptions) => here.call('GET', path, undefined, as);

  it('is what its audit scopes say, with payloads only within its scopes', async () => {
    const { as } = await make(here, { scopes: [of(['posts', 'staff', 'members'], 'read')], audit: ['payloads'] });
    const { body } = await get('/api/audit/events?limit=1000', as);
    const withheld = (one: { withheld?: true }) => one.withheld === true;
    const streams = (events: { header: { stream: string } }[]) =>
      new Set(events.map(({ header }) => header.stream.replace(/^((accounts\/)?[^/]+).*/, '$1')));
    assert.deepEqual([...streams(body.docs.filter((one: object) => !withheld(one)))].sort(), [
      'accounts/members',
      'members',
      'posts',
    ]);
    const hidden = streams(body.docs.filter(withheld));
    for (const stream of ['system', 'tags', 'staff', 'accounts/staff', 'files', 'globals'])
      assert.ok(hidden.has(stream), stream);
    for (const { data, context, withheld } of body.docs) if (withheld) assert.deepEqual([data, context], [null, null]);
    const feed = await get('/api/audit/feed?limit=1000', as);
    assert.deepEqual(feed.body.docs.filter(withheld).length, body.docs.filter(withheld).length);
    const whole = await make(here, { scopes: [of('*', 'read'), ofGlobals('*', 'read')], audit: ['payloads'] });
    const all = await get('/api/audit/events?limit=1000', whole.as);
    const others = streams(all.body.docs.filter(withheld));
    assert.deepEqual([...others].sort(), ['__admins', 'accounts/__admins', 'accounts/staff', 'staff']);
  });

  it('has no payload for a scope that only writes, and none at all without the audit scope', async () => {
    const path = `/api/audit/documents/posts/${ids.posts}`;
    const cases: [Rights, head: number, version: number][] = [
      [{ scopes: [all] }, 403, 403],
      [{ scopes: [all], audit: ['headers'] }, 200, 403],
      [{ scopes: [all], audit: ['erase', 'export'] }, 403, 403],
      [{ scopes: [of('*', 'update', 'delete')], audit: ['payloads'] }, 200, 403],
      [{ scopes: [of(['tags'], 'read')], audit: ['payloads'] }, 200, 403],
      [{ scopes: [of(['posts'], 'read')], audit: ['payloads'] }, 200, 200],
    ];
    for (const [rights, head, version] of cases) {
      const { as } = await make(here, rights);
      const answers = [await get(path, as), await get(`${path}/versions/1`, as), await get(`${path}/diff`, as)];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [head, version, version],
        JSON.stringify(rights),
      );
      const { status } = await get(`/api/collections/posts/${ids.posts}?asOf=1000000`, as);
      assert.equal(status, version === 200 ? 400 : 403, JSON.stringify(rights));
    }
  });

  it('is not taken out without the scope export, and withholds there too', async () => {
    const ndjson = async (audit: string[]) => {
      const { as } = await make(here, { scopes: [of(['posts'], 'read')], audit });
      const headers = { 'x-api-key': String(as.key) };
      const response = await fetch(`${here.url}/api/audit/export`, { headers });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, files: response.ok ? unzip(bytes) : new Map<string, Buffer>() };
    };
    assert.equal((await ndjson(['payloads'])).status, 403);
    const { status, files } = await ndjson(['payloads', 'export']);
    assert.equal(status, 200);
    const lines = [...files.values()].map(String).join('').split('\n');
    const events = lines.filter((line) => line.includes('"header":')).map((line) => JSON.parse(line));
    const shown = events.filter(({ payload }) => payload !== null);
    assert.ok(shown.length > 1 && shown.length < events.length);
    for (const { header, payload, withheld } of events) {
      const isOfPosts = header.stream.startsWith('posts/');
      assert.deepEqual([payload !== null, withheld === true], [isOfPosts, !isOfPosts], header.stream);
    }
    const bundle = await make(here, { scopes: [of(['posts'], 'read')], audit: ['payloads'] });
    assert.equal((await get(`/api/audit/bundles/tags/${ids.tags}`, bundle.as)).status, 403);
  });

  it('is erased only with the right to, within a scope that deletes', async () => {
    const erase = async (rights: Rights) => {
      const id = await created('tags', { title: 'x' });
      const { as } = await make(here, rights);
      return (await here.call('POST', '/api/audit/erasures', { collection: 'tags', id, reason: 'asked for' }, as))
        .status;
    };
    assert.equal(await erase({ scopes: [all] }), 403);
    assert.equal(await erase({ scopes: [all], audit: ['headers', 'payloads', 'export'] }), 403);
    assert.equal(await erase({ scopes: [of('*', 'read', 'update')], audit: ['erase'] }), 403);
    assert.equal(await erase({ scopes: [of(['posts'], 'delete')], audit: ['erase'] }), 403);
    assert.equal(await erase({ scopes: [of(['tags'], 'delete')], audit: ['erase'] }), 201);
  });
});

describe('Managing API keys', () => {
  const asked = (service: { call: typeof here.call }, as: CallOptions) => {
    return Promise.all([
      service.call('GET', '/api/keys', undefined, as),
      service.call('POST', '/api/keys', { name: 'x' }, as),
      service.call('POST', `/api/keys/${never}/rotate`, {}, as),
      service.call('DELETE', `/api/keys/${never}`, undefined, as),
    ]);
  };
  const statuses = async (...args: Parameters<typeof asked>) => (await asked(...args)).map(({ status }) => status);
  const [may, mayNot, unknown] = [
    [200, 201, 404, 404],
    [403, 403, 403, 403],
    [401, 401, 401, 401],
  ];

  it('is for users of __admins and the key of the environment, and never for a key that was made', async () => {
    assert.deepEqual(await statuses(here, admin.as), may);
    assert.deepEqual(await statuses(here, {}), may);
    assert.deepEqual(await statuses(here, anonymous), unknown);
    assert.deepEqual(await statuses(here, staff.as), mayNot);
    const { as } = await make(here, { scopes: [all], audit: ['headers', 'payloads', 'export', 'erase'] });
    const answers = await asked(here, as);
    for (const { body } of answers) assert.equal(body.message, 'no API key that was made here may manage API keys');
    assert.deepEqual(
      answers.map(({ status }) => status),
      mayNot,
    );
  });

  it('is not for users of another admin collection, unless the rule keys says so, which says all then', async (t) => {
    const users = { slug: 'users', auth: true, fields: [{ name: 'isChief', type: 'boolean' }] } as const;
    const started = async (rule: object) => {
      const service = await startHere(t, { bcryptCost: 4, collections: [users], ...rule } as never);
      await service.call('GET', '/health');
      const [, setupToken] = /token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
      const first = { setupToken, email: 'ada@example.org', password, isChief: true };
      const { body } = await service.call('POST', '/api/collections/users/first-user', first, anonymous);
      return { service, user: bearer(body.token) };
    };
    const plain = await started({});
    assert.deepEqual(await statuses(plain.service, plain.user), mayNot);
    assert.deepEqual(await statuses(plain.service, {}), may);

    type Args = { user: { isChief?: boolean } | null; apiKey: string | null; req: { headers: Record<string, string> } };
    const answers: Record<string, (args: Args) => unknown> = {
      chief: ({ user }) => user?.isChief,
      key: async ({ apiKey }) => apiKey !== null,
      all: () => true,
      bang: () => {
        throw new Error('a secret path');
      },
      where: () => ({ id: { equals: 'x' } }),
    };
    const { service, user } = await started({
      keys: (args: Args) => answers[args.req.headers['x-rule'] ?? '']?.(args),
    });
    const under = (rule: string, { key, headers }: CallOptions): CallOptions => {
      return { ...(key === undefined ? {} : { key }), headers: { ...headers, 'x-rule': rule } };
    };
    assert.deepEqual(await statuses(service, under('chief', user)), may);
    assert.deepEqual(await statuses(service, under('chief', {})), mayNot, 'it is asked about the key too');
    assert.deepEqual(await statuses(service, under('key', {})), may);
    assert.deepEqual(await statuses(service, under('all', anonymous)), unknown);
    const { as } = await make({ call: (...[a, b, c]) => service.call(a, b, c, under('all', {})) });
    assert.deepEqual(await statuses(service, under('all', as)), mayNot);
    assert.deepEqual(await statuses(service, under('bang', user)), mayNot);
    assert.deepEqual(await statuses(service, under('where', user)), mayNot);
    const told = service.lines().filter(({ msg }) => msg === 'the rule keys failed: it admits no caller');
    assert.equal(told.length, 8);
  });
});

describe('Every route', () => {
  it('says what decides there for an API key that was made at run time', async () => {
    const upload = { slug: 'files', upload: true, fields: [] };
    const configuration = {
      collections: [{ slug: 'users', auth: true, fields: [] }, upload, { slug: 'posts', drafts: true, fields: [] }],
      globals: [{ slug: 'site', drafts: true, fields: [] }],
    };
    await withApp(configuration, async (app) => {
      const server = Hapi.server({ debug: false });
      await server.register({ plugin: routes, options: { app } });
      const looked = server.table().filter(({ settings }) => settings.auth?.strategies?.[0] === 'annals');
      const names = new Set(looked.map(keyRouteOf));
      const unclassified = [...names].filter((name) => !Object.hasOwn(keyRoutes, name));
      assert.deepEqual(unclassified, [], 'server/callers/key-routes.ts says what decides on each route');
      const gone = Object.keys(keyRoutes).filter((name) => !names.has(name) && !name.startsWith('OPTIONS'));
      assert.deepEqual(gone, [], 'routes that are no longer there');
    });
  });
});

describe('API keys of a log', () => {
  it('outlast a new start, and read tables that are made anew', async (t) => {
    const config = `export default { collections: [{ slug: 'posts', fields: [] }] };`;
    const first = await startHere(t, config);
    const kept = await make(first, { scopes: [of(['posts'], 'read')] });
    const revoked = await make(first, { scopes: [all] });
    await first.call('DELETE', `/api/keys/${revoked.id}`);
    const { body: before } = await first.call('GET', '/api/keys');
    await first.stop();
    const other = `export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };`;
    const second = await startHere(t, other, { data: first.data });
    assert.equal((await second.call('GET', '/api/collections/posts', undefined, kept.as)).status, 200);
    assert.equal((await second.call('GET', '/api/collections/posts', undefined, revoked.as)).status, 401);
    const { body: after } = await second.call('GET', '/api/keys');
    assert.deepEqual({ ...after.docs[0], lastUsedAt: null }, before.docs[0]);
    await second.stop();
    const { code, stdout, stderr } = await runHere(['verify', '--data', first.data]);
    assert.equal(code, 0, stdout + stderr);
    const [file = ''] = readdirSync(first.data).filter((name) => /^read-.*\.db$/.test(name));
    const tables = new Database(join(first.data, file));
    tables.exec(`UPDATE api_keys SET scopes = '[{"collections":"*","globals":"*","operations":["read"]}]'`);
    tables.close();
    const altered = await runHere(['verify', '--data', first.data]);
    assert.deepEqual([altered.code, /table "api_keys"/.test(altered.stdout)], [1, true], altered.stdout);
  });
});
