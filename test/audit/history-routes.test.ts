import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { applyPatch, type Operation } from 'rfc6902';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf, fieldsOf, recordedEvents, sendRaw } from '../helpers/shared.ts';

const service = useServiceHere(`export default {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'tags', type: 'json' },
        { name: 'note', type: 'text' },
        { name: 'author', type: 'relationship', relationTo: 'users' },
      ],
    },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'machines', auth: { useAPIKey: true }, fields: [] },
    { slug: '__proto__x', fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text', defaultValue: 'Hi' }, { name: 'n', type: 'number' }] }],
  bcryptCost: 4,
  audit: ({ user, apiKey, req }) => {
    const scopes = req.headers['x-scopes'];
    if (scopes === 'none') throw new Error('there are no scopes');
    if (scopes !== undefined) return scopes === '' ? [] : scopes.split(',');
    return apiKey !== null || user !== null;
  },
}`);

const posts = '/api/collections/posts';
const audit = '/api/audit';
let id = '';
let ada = '';
let token = '';

const get = (path: string, options?: CallOptions) => service.call('GET', audit + path, undefined, options);
const asHeaders: CallOptions = { headers: { 'x-scopes': 'headers' } };
const asNobody: CallOptions = { headers: { 'x-scopes': '' } };
const asUser = (): CallOptions => ({ key: null, headers: { authorization: `Bearer ${token}` } });
const reason = (text: string): CallOptions => ({ headers: { 'x-change-reason': text } });

before(async () => {
  id = (await service.call('POST', posts, { title: 'One', tags: ['a'] })).body.id;
  await service.call('PATCH', `${posts}/${id}`, { title: 'Two', tags: ['a', 'b'] }, reason('a new title'));
  await service.call('PATCH', `${posts}/${id}`, { note: 'x' });
  await service.call('PATCH', '/api/globals/site', { n: 1 });
  await service.call('PATCH', '/api/globals/site', { n: 2 });
  const [, setupToken = ''] = /setup\?token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.com', password: 'a long password', name: 'Ada' };
  const made = await service.call('POST', '/api/collections/users/first-user', first, { key: null });
  ({ token } = made.body);
  ada = made.body.user.id;
  await service.call('PATCH', `${posts}/${id}`, { title: 'Three' }, asUser());
});

describe('The history of a document', () => {
  it('lists its versions: who, when, why, and which fields', async () => {
    const { status, body } = await get(`/documents/posts/${id}`);
    assert.equal(status, 200);
    const headers = recordedEvents(service.data, `posts/${id}`);
    assert.deepEqual(body.document, {
      stream: `posts/${id}`,
      exists: true,
      erased: false,
      version: 4,
      position: headers[3]?.position,
    });
    assert.equal(body.next, null);
    assert.deepEqual(
      body.docs,
      headers.map(({ version, position, type, recordedAt, actor }, index) => ({
        ...{ version, position, type, recordedAt, actor },
        reason: index === 1 ? 'a new title' : null,
        rule: ['apiKey', 'apiKey', 'apiKey', 'posts.update (default)'][index],
        changed: [['title', 'tags'], ['title', 'tags'], ['note'], ['title']][index],
      })),
    );
    assert.deepEqual(body.docs[3].actor, { type: 'user', id: `users/${ada}` });
  });

  it('comes in pages', async () => {
    const one = await get(`/documents/posts/${id}?limit=3`);
    assert.deepEqual([one.body.docs.length, one.body.next], [3, 3]);
    const two = await get(`/documents/posts/${id}?limit=3&next=3`);
    assert.deepEqual([two.body.docs.map((entry: { version: number }) => entry.version), two.body.next], [[4], null]);
    assert.deepEqual((await get(`/documents/posts/${id}?next=99`)).body.docs, []);
  });

  it('shows the document as it was, and what is told about that event', async () => {
    const { body } = await get(`/documents/posts/${id}/versions/2`);
    const header = recordedEvents(service.data, `posts/${id}`)[1];
    assert.deepEqual([body.stream, body.version, body.position], [`posts/${id}`, 2, header?.position]);
    const { createdAt, updatedAt, ...rest } = body.document;
    assert.ok(createdAt < updatedAt);
    assert.deepEqual(rest, { id, title: 'Two', tags: ['a', 'b'], note: null, author: null });
    assert.deepEqual(body.event.header, header);
    assert.deepEqual(body.event.data.set, { title: 'Two', tags: ['a', 'b'], updatedAt });
    assert.equal(body.event.context.reason, 'a new title');
    assert.equal('salt' in body.event, false);
    for (const [version, status] of [
      ['5', 404],
      ['0', 400],
      ['x', 400],
      ['1.5', 400],
    ] as const) {
      assert.equal((await get(`/documents/posts/${id}/versions/${version}`)).status, status, version);
    }
  });

  it('tells what differs between two versions, field by field and as a JSON Patch', async () => {
    const last = await get(`/documents/posts/${id}/diff`);
    assert.deepEqual([last.body.from.version, last.body.to.version], [3, 4]);
    assert.deepEqual(last.body.fields, [{ field: 'title', before: 'Two', after: 'Three' }]);
    const all = await get(`/documents/posts/${id}/diff?from=1&to=4`);
    assert.deepEqual(all.body.fields, [
      { field: 'title', before: 'One', after: 'Three' },
      { field: 'tags', before: ['a'], after: ['a', 'b'] },
      { field: 'note', before: null, after: 'x' },
    ]);
    const [first, now] = [
      await get(`/documents/posts/${id}/versions/1`),
      await get(`/documents/posts/${id}/versions/4`),
    ];
    applyPatch(first.body.document, all.body.patch as Operation[]);
    assert.deepEqual(first.body.document, now.body.document);
    const begin = await get(`/documents/posts/${id}/diff?from=0&to=1`);
    assert.deepEqual([begin.body.from, begin.body.fields.length, begin.body.patch[0].path], [null, 2, '']);
    assert.deepEqual((await get(`/documents/posts/${id}/diff?from=2&to=2`)).body.fields, []);
    assert.deepEqual(errorsOf(await get(`/documents/posts/${id}/diff?from=9`)), {
      from: 'from must be at most 4, the newest version, got 9',
    });
  });

  it('tells for each field which event gave it its value', async () => {
    const { body } = await get(`/documents/posts/${id}/blame`);
    const headers = recordedEvents(service.data, `posts/${id}`);
    assert.equal(body.version, 4);
    const found = body.fields.map(({ field, value, version, position, reason }: Record<string, unknown>) => {
      return [field, value, version, position, reason];
    });
    assert.deepEqual(found, [
      ['title', 'Three', 4, headers[3]?.position, null],
      ['tags', ['a', 'b'], 2, headers[1]?.position, 'a new title'],
      ['note', 'x', 3, headers[2]?.position, null],
      ['author', null, null, undefined, undefined],
    ]);
    assert.deepEqual(body.fields[0].actor, { type: 'user', id: `users/${ada}` });
    const early = await get(`/documents/posts/${id}/blame?version=1`);
    assert.deepEqual([early.body.fields[0].value, early.body.fields[0].version], ['One', 1]);
  });

  it('is there after the document has been deleted', async () => {
    const gone = (await service.call('POST', posts, { title: 'Gone' })).body.id;
    await service.call('DELETE', `${posts}/${gone}`);
    const { body } = await get(`/documents/posts/${gone}`);
    assert.deepEqual([body.document.exists, body.docs[1].type, body.docs[1].changed], [false, 'document.deleted', []]);
    assert.equal((await get(`/documents/posts/${gone}/versions/1`)).body.document.title, 'Gone');
    assert.equal((await get(`/documents/posts/${gone}/versions/2`)).body.document, null);
    const { body: diff } = await get(`/documents/posts/${gone}/diff`);
    assert.deepEqual(diff.fields, [{ field: 'title', before: 'Gone', after: null }]);
    assert.deepEqual(diff.patch, [{ op: 'replace', path: '', value: null }]);
    assert.deepEqual((await get(`/documents/posts/${gone}/blame`)).body.fields, []);
  });

  it('compares large lists as wholes, in bounded time', async () => {
    const list = Array.from({ length: 5000 }, (_, index) => index);
    const large = (await service.call('POST', posts, { tags: list })).body.id;
    await service.call('PATCH', `${posts}/${large}`, { tags: list.map((n) => n + 1) });
    const { body } = await get(`/documents/posts/${large}/diff`);
    assert.deepEqual(
      body.patch.map(({ op, path }: Operation) => [op, path]).filter(([, path]: string[]) => path !== '/updatedAt'),
      [['replace', '/tags']],
    );
  });
});

describe('The history of a global and of an account', () => {
  it('of a global is that of a document', async () => {
    const { body } = await get('/globals/site');
    assert.deepEqual([body.global.stream, body.global.version], ['globals/site', 2]);
    assert.deepEqual(
      body.docs.map(({ changed }: { changed: string[] }) => changed),
      [['motto', 'n'], ['n']],
    );
    const { document } = (await get('/globals/site/versions/1')).body;
    assert.deepEqual(Object.keys(document), ['createdAt', 'updatedAt', 'motto', 'n']);
    assert.deepEqual((await get('/globals/site/diff')).body.fields, [{ field: 'n', before: 1, after: 2 }]);
    assert.deepEqual(
      (await get('/globals/site/blame')).body.fields.map(({ field, version }: { field: string; version: number }) => [
        field,
        version,
      ]),
      [
        ['motto', 1],
        ['n', 2],
      ],
    );
  });

  it('of an account tells what happened; to a key without what that held', async () => {
    const { body } = await get(`/accounts/users/${ada}`, asUser());
    assert.deepEqual(
      body.docs.map(({ type }: { type: string }) => type),
      ['password.changed', 'session.started'],
    );
    assert.equal('changed' in body.docs[0], false);
    const event = await get(`/accounts/users/${ada}/versions/2`, asUser());
    assert.match(event.body.event.data.sid, /^[0-9a-f-]{36}$/);
    assert.equal((await get('/accounts/users/setup', asUser())).body.docs[0].type, 'setup.completed');
    assert.equal((await get(`/accounts/users/${ada}/diff`, asUser())).status, 404);

    const byKey = await get(`/accounts/users/${ada}`);
    assert.deepEqual([byKey.status, 'reason' in byKey.body.docs[0]], [200, false]);
    for (const path of [
      `/accounts/users/${ada}/versions/1`,
      `/documents/users/${ada}/blame`,
      '/documents/users/none/diff',
    ]) {
      assert.equal((await get(path)).status, 403, path);
    }
    assert.equal((await get(`/documents/users/${ada}/blame`, asUser())).body.fields[0].value, 'ada@example.com');
  });
});

describe('GET /api/audit/events', () => {
  const positionsOf = (body: { docs: { header: { position: number } }[] }) =>
    body.docs.map(({ header }) => header.position);

  it('gives all events page by page, each as it was recorded', async () => {
    const headers = recordedEvents(service.data);
    const found: object[] = [];
    let after: number | null = 0;
    while (after !== null) {
      const { body }: { body: { docs: { header: object }[]; next: number | null; size: number } } = await get(
        `/events?next=${after}&limit=5`,
        asUser(),
      );
      assert.equal(body.size, headers.length);
      found.push(...body.docs.map(({ header }) => header));
      after = body.next;
    }
    assert.deepEqual(found, headers);
  });

  it('filters by stream, collection, type, actor and time', async () => {
    const headers = recordedEvents(service.data);
    const expected = (test: (header: (typeof headers)[number]) => boolean) =>
      headers.filter(test).map(({ position }) => position);
    const at = headers[4]?.recordedAt ?? '';
    const cases: [query: string, positions: number[]][] = [
      [`stream=posts/${id}`, expected(({ stream }) => stream === `posts/${id}`)],
      [
        `stream=posts/${id}&type=document.created`,
        expected(({ stream, version }) => stream === `posts/${id}` && version === 1),
      ],
      ['collection=posts', expected(({ stream }) => stream.startsWith('posts/'))],
      ['collection=accounts', expected(({ stream }) => stream.startsWith('accounts/'))],
      ['collection=globals/site&type=global.updated', expected(({ stream }) => stream === 'globals/site')],
      [`actor=users/${ada}`, expected(({ actor }) => actor.id === `users/${ada}`)],
      ['actor=system', expected(({ actor }) => actor.type === 'system')],
      ['from=3&to=4', [3, 4]],
      [`from=${at}&to=${at}`, expected(({ recordedAt }) => recordedAt === at)],
      ['collection=machines', []],
      [`stream=nothing`, []],
    ];
    for (const [query, positions] of cases) {
      const { status, body } = await get(`/events?${query}&limit=1000`, asUser());
      assert.deepEqual([status, positionsOf(body), body.next], [200, positions, null], query);
    }
  });

  it('withholds what may not be seen, and says so', async () => {
    const { body } = await get('/events?limit=1000');
    for (const { header, data, context, withheld } of body.docs) {
      const isClosed = /^(accounts\/)?users\//.test(header.stream);
      assert.deepEqual(
        [withheld ?? false, data === null, context === null],
        [isClosed, isClosed, isClosed],
        header.stream,
      );
    }
    const bare = await get('/events?limit=1000', asHeaders);
    assert.ok(bare.body.docs.every(({ data, withheld }: { data: null; withheld: true }) => data === null && withheld));
    assert.deepEqual(positionsOf(bare.body), positionsOf(body));
  });

  it('refuses what it does not know, with the nearest word', async () => {
    const answer = await get(
      '/events?type=document.create&actor=systm&collection=post&to=99999&limit=0&next=x&form=1&stream=',
    );
    assert.equal(answer.status, 400);
    const errors = errorsOf(answer);
    assert.deepEqual(Object.keys(errors).sort(), [
      'actor',
      'collection',
      'form',
      'limit',
      'next',
      'stream',
      'to',
      'type',
    ]);
    assert.match(errors.type ?? '', /did you mean "document.created"\?$/);
    assert.match(errors.actor ?? '', /did you mean "system"\?$/);
    assert.match(errors.collection ?? '', /did you mean "posts"\?$/);
    assert.match(errors.form ?? '', /did you mean "from"\?; allowed: "stream"/);
    assert.deepEqual(fieldsOf(await get('/events?type=a&type=b')), ['type']);
  });
});

describe('GET /api/audit/log', () => {
  it('says what the log is', async () => {
    const { status, body } = await get('/log');
    const headers = recordedEvents(service.data);
    assert.equal(status, 200);
    assert.deepEqual(
      [body.origin, body.size, body.recordedAt, Buffer.from(body.root, 'base64').length],
      [headers[0]?.log, headers.length, headers.at(-1)?.recordedAt, 32],
    );
    assert.ok(body.verifierKey.startsWith(`${body.origin}+`));
    assert.ok(Array.isArray(body.checkpoints));
    assert.deepEqual(fieldsOf(await get('/log?limit=1')), ['limit']);
  });
});

describe('A caller who may not read the history', () => {
  const paths = () => [
    `/documents/posts/${id}`,
    '/documents/posts/nothing',
    '/documents/nothing/x?odd=1',
    `/documents/posts/${id}/versions/1`,
    '/documents/posts/none/versions/x',
    `/documents/posts/${id}/diff?from=99`,
    '/documents/posts/none/blame',
    '/globals/site',
    '/globals/none',
    `/accounts/users/${ada}`,
    '/accounts/none/none/versions/9',
    '/accounts/users/invites/none',
    '/events?type=odd',
    '/log?odd=1',
  ];

  it('gets one answer, whatever is asked for: 401 without a credential, 403 with one', async () => {
    const refusals = new Map<number, Set<string>>();
    for (const path of paths()) {
      const anonymous = await get(path, { key: null });
      const refused = await get(path, asNobody);
      assert.deepEqual([anonymous.status, refused.status], [401, 403], path);
      for (const { status, body } of [anonymous, refused]) {
        refusals.set(status, (refusals.get(status) ?? new Set()).add(body.message.replace(/headers|payloads/, '')));
      }
    }
    assert.deepEqual(
      [...refusals.values()].map((messages) => messages.size),
      [1, 1],
    );
  });

  it('is every caller while the rule throws, or answers with something that is no right', async () => {
    for (const scopes of ['none', 'headers,payload', 'headers, payloads']) {
      for (const path of ['/events', `/documents/posts/${id}`, `/documents/posts/${id}/versions/1`]) {
        const { status, body } = await get(path, { headers: { 'x-scopes': scopes } });
        assert.deepEqual([status, body.statusCode], [403, 403], `${scopes} ${path}`);
        assert.doesNotMatch(body.message, /there are no scopes/);
      }
    }
  });

  it('is told with the headers alone neither reasons nor fields, nor anything that an event holds', async () => {
    const { body } = await get(`/documents/posts/${id}`, asHeaders);
    assert.deepEqual(Object.keys(body.docs[1]), ['version', 'position', 'type', 'recordedAt', 'actor']);
    for (const path of ['/versions/1', '/diff', '/blame']) {
      assert.equal((await get(`/documents/posts/${id}${path}`, asHeaders)).status, 403, path);
      assert.equal((await get(`/documents/posts/none${path}`, asHeaders)).status, 403, path);
    }
  });
});

describe('An unknown name', () => {
  it('is not found, and names nothing else', async () => {
    const long = 'x'.repeat(10_000);
    const names = [
      'posts/none',
      `accounts/users%2F${ada}`,
      'globals/site',
      'system/schema',
      `accounts%2Fusers/${ada}`,
      '..%2Fposts/x',
      `posts%2F${id}/x`,
      'posts/%00',
      'posts/..%2F..%2Fetc%2Fpasswd',
      '__proto__/constructor',
      'constructor/__proto__',
      `posts/${long}`,
      `${long}/x`,
      "posts/';DROP TABLE events;--",
      'posts/%E2%80%AE%F0%9F%92%A9',
    ];
    for (const name of names) {
      const { status, text } = await sendRaw(
        service.url,
        `GET ${audit}/documents/${name.replaceAll("'", '%27').replaceAll(' ', '%20')}/blame HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${token}\r\n\r\n`,
      );
      assert.equal(status, 404, name.slice(0, 50));
      assert.ok(text.length < 1500 && !/SQL|\.ts|\/work/.test(text), name.slice(0, 50));
    }
    for (const path of [
      '/globals/..%2Fposts',
      '/globals/__proto__',
      '/accounts/users/invites/..%2Fx',
      '/accounts/users/invites%2Fx',
    ]) {
      assert.equal((await get(path)).status, 404, path);
    }
    // The slug of a collection, of which there may be no such document.
    assert.equal((await get('/documents/__proto__x/toString')).status, 404);
  });
});
