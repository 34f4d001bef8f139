import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { apiKey } from '../helpers/service.ts';
import { eventually, logLines, recordedEvents } from '../helpers/shared.ts';

const secondKey = 'second-key-ünïcode-9876543210'.replace(/[^\x20-\x7e]/g, 'u');

const service = useServiceHere(
  `const fields = [{ name: 'title', type: 'text' }, { name: 'isPublic', type: 'boolean' }];
const yes = () => true;
const no = () => false;
const bang = () => { throw new Error('rule secret: /etc/passwd'); };
const all = (rule) => ({ read: rule, create: rule, update: rule, delete: rule });
export default { collections: [
  { slug: 'public', fields, access: all(yes) },
  { slug: 'denied', fields, access: all(no) },
  { slug: 'plain', fields },
  { slug: 'readable', fields, access: { read: yes } },
  { slug: 'later', fields, access: all(async () => { await new Promise((go) => setTimeout(go, 5)); return true; }) },
  { slug: 'laterDenied', fields, access: all(async () => false) },
  { slug: 'broken', fields, access: all(bang) },
  { slug: 'brokenLater', fields, access: all(async () => bang()) },
  { slug: 'wrong', fields, access: all(() => 'yes') },
  { slug: 'ruled', fields, access: {
    read: ({ doc }) => doc?.isPublic === true,
    create: ({ data, doc, user }) => doc === null && user === null && data.title === 'open',
    update: ({ doc, data }) => doc?.isPublic === true && data?.title !== 'shut',
    delete: ({ doc }) => doc?.isPublic === true,
  } },
  { slug: 'failing', fields, access: { read: ({ doc }) => doc.title === 'bad' ? bang() : doc.isPublic } },
  { slug: 'bare', fields, access: { read: ({ doc }) => doc.isPublic, update: ({ doc }) => doc.isPublic, delete: ({ doc }) => doc.isPublic } },
  { slug: 'seen', fields, access: { read: ({ req }) => {
    const { headers, ...rest } = req;
    const secrets = Object.keys(headers).filter((name) => /key|auth|cookie/.test(name));
    return rest.method === 'GET' && rest.path === '/api/collections/seen' && rest.ip === '127.0.0.1'
      && secrets.length === 0 && headers['x-hello'] === 'world' && Object.keys(rest).join() === 'method,path,ip';
  } } },
] };`,
  { apiKeys: [apiKey, secondKey] },
);

type Caller = CallOptions;
const anonymous: Caller = { key: null };
const ids: Record<string, string> = {};

before(async () => {
  for (const slug of [
    'public',
    'denied',
    'plain',
    'readable',
    'later',
    'laterDenied',
    'broken',
    'brokenLater',
    'wrong',
    'ruled',
    'bare',
  ]) {
    ids[slug] = (await service.call('POST', `/api/collections/${slug}`, { title: 'first', isPublic: false })).body.id;
  }
});

const operations = ['list', 'read', 'create', 'update', 'delete'] as const;

/** Attempts one operation on a collection, with a document of its own if the operation would remove it. */
async function attempt(
  operation: (typeof operations)[number],
  slug: string,
  caller: Caller,
  id = ids[slug],
): Promise<Answer> {
  const path = `/api/collections/${slug}`;
  if (operation === 'list') return service.call('GET', path, undefined, caller);
  if (operation === 'read') return service.call('GET', `${path}/${id}`, undefined, caller);
  if (operation === 'create') return service.call('POST', path, { title: 'new' }, caller);
  if (operation === 'update') return service.call('PATCH', `${path}/${id}`, { title: `new ${Math.random()}` }, caller);
  return service.call('DELETE', `${path}/${id}`, undefined, caller);
}

async function statuses(slug: string, caller: Caller): Promise<Record<string, number>> {
  const result: Record<string, number> = {};
  for (const operation of operations) {
    const { body } = await service.call('POST', `/api/collections/${slug}`, { title: 'x' });
    result[operation] = (await attempt(operation, slug, caller, body.id)).status;
  }
  return result;
}

const allowed = { list: 200, read: 200, create: 201, update: 200, delete: 200 };
const refused = (status: number) => ({ list: status, read: status, create: status, update: status, delete: status });

describe('The API key (5)', () => {
  it('is trusted: access rules are not asked', async () => {
    for (const slug of ['public', 'denied', 'plain', 'broken', 'brokenLater', 'wrong', 'laterDenied']) {
      assert.deepEqual(await statuses(slug, { key: apiKey }), allowed, slug);
    }
  });

  it('may be any of several, and events tell which without showing it', async () => {
    const first = await service.call('POST', '/api/collections/plain', { title: '1' }, { key: apiKey });
    const second = await service.call('POST', '/api/collections/plain', { title: '2' }, { key: secondKey });
    assert.deepEqual([first.status, second.status], [201, 201]);
    const actors = [first, second].map(({ body }) => recordedEvents(service.data, `plain/${body.id}`)[0]?.actor);
    assert.deepEqual(
      actors.map((actor) => actor?.type),
      ['apiKey', 'apiKey'],
    );
    const [one = '', two = ''] = actors.map((actor) => actor?.id);
    assert.notEqual(one, two);
    for (const key of [apiKey, secondKey]) assert.ok(!JSON.stringify(actors).includes(key));
    assert.match(one, /^[0-9a-f]{16}$/);
  });

  it('that is wrong is refused with 401 everywhere, on public routes too', async () => {
    const wrong = [
      '',
      'wrong',
      `${apiKey}x`,
      apiKey.slice(0, -1),
      apiKey.toUpperCase(),
      `${apiKey},${secondKey}`,
      'x'.repeat(8000),
    ];
    for (const key of wrong) {
      for (const slug of ['public', 'plain']) {
        for (const operation of operations) {
          const { status, body } = await attempt(operation, slug, { key });
          const expected = {
            statusCode: 401,
            error: 'Unauthorized',
            code: 'invalid_api_key',
            message: 'the API key is not valid',
          };
          assert.deepEqual([status, body], [401, expected], `${operation} ${slug} ${key.slice(0, 30)}`);
        }
      }
    }
  });

  it('is not taken from the query or the Authorization header', async () => {
    const query = await service.call('GET', `/api/collections/plain?x-api-key=${apiKey}`, undefined, anonymous);
    assert.equal(query.status, 401);
    for (const scheme of ['Bearer', 'ApiKey', 'Basic']) {
      const headers = { authorization: `${scheme} ${apiKey}` };
      assert.equal(
        (await service.call('GET', '/api/collections/plain', undefined, { key: null, headers })).status,
        401,
      );
    }
  });
});

describe('Authorization: Bearer (5)', () => {
  it('is refused with 401 while no token is valid, on public routes and beside a good key too', async () => {
    for (const authorization of ['Bearer x', 'Bearer a.b.c', 'Bearer', '', 'Basic dXNlcjpwYXNz']) {
      for (const key of [null, apiKey]) {
        for (const operation of operations) {
          const { status, body } = await attempt(operation, 'public', { key, headers: { authorization } });
          const message = 'the token is not valid, or its session has ended';
          const expected = { statusCode: 401, error: 'Unauthorized', code: 'invalid_token', message };
          assert.deepEqual([status, body], [401, expected], `${operation} ${authorization} ${key}`);
        }
      }
    }
  });
});

describe('Anonymous callers (5, 7)', () => {
  it('may do what the rules allow, and are recorded as anonymous', async () => {
    assert.deepEqual(await statuses('public', anonymous), allowed);
    await assertRecorded(
      service,
      () => attempt('create', 'public', anonymous),
      ({ body }) => [{ type: 'document.created', stream: `public/${body.id}`, actor: { type: 'anonymous' } }],
    );
  });

  it('get 401 if a rule says no, and without a rule', async () => {
    for (const slug of ['denied', 'plain', 'laterDenied']) {
      assert.deepEqual(await statuses(slug, anonymous), refused(401), slug);
    }
    const { body } = await attempt('create', 'plain', anonymous);
    assert.deepEqual(body, {
      statusCode: 401,
      error: 'Unauthorized',
      code: 'unauthorized',
      message: 'an API key or a token is needed',
    });
  });

  it('may read without writing if only read is open', async () => {
    assert.deepEqual(await statuses('readable', anonymous), { ...refused(401), list: 200, read: 200 });
  });

  it('wait for rules that answer later', async () => {
    assert.deepEqual(await statuses('later', anonymous), allowed);
  });

  it('leave nothing behind when they are refused', async () => {
    for (const slug of ['denied', 'plain', 'broken']) {
      for (const operation of operations) await assertRecorded(service, () => attempt(operation, slug, anonymous), []);
    }
  });

  it('are judged by the document, the data and nothing else', async () => {
    const create = (title: string) => service.call('POST', '/api/collections/ruled', { title }, anonymous);
    assert.deepEqual([(await create('open')).status, (await create('shut')).status], [201, 401]);
    const hidden = ids.ruled;
    const shown = (await service.call('POST', '/api/collections/ruled', { isPublic: true })).body.id;
    for (const operation of ['read', 'update', 'delete'] as const) {
      assert.equal((await attempt(operation, 'ruled', anonymous, hidden)).status, 401, operation);
      assert.equal((await attempt(operation, 'ruled', anonymous, shown)).status, 200, operation);
    }
    const again = (await service.call('POST', '/api/collections/ruled', { isPublic: true })).body.id;
    const shut = await service.call('PATCH', `/api/collections/ruled/${again}`, { title: 'shut' }, anonymous);
    assert.equal(shut.status, 401);
  });

  it('are refused before their body or query is judged', async () => {
    const wrong = await service.call('POST', '/api/collections/plain', { nonsense: 1 }, anonymous);
    assert.equal(wrong.status, 401);
    assert.equal(
      (await service.call('PATCH', `/api/collections/plain/${ids.plain}`, { nonsense: 1 }, anonymous)).status,
      401,
    );
    assert.equal((await service.call('GET', '/api/collections/plain?nonsense=1', undefined, anonymous)).status, 401);
  });

  it('show rules a request without credentials', async () => {
    const headers = { 'x-hello': 'world', cookie: 'a=b' };
    assert.equal((await service.call('GET', '/api/collections/seen', undefined, { key: null, headers })).status, 200);
    assert.equal((await service.call('GET', '/api/collections/seen', undefined, anonymous)).status, 401);
  });
});

describe('Whether a document exists', () => {
  const missing = '01890000-0000-7000-8000-000000000000';

  it('is not told to anonymous callers of closed collections', async () => {
    for (const slug of ['plain', 'denied', 'laterDenied', 'ruled', 'bare']) {
      for (const operation of ['read', 'update', 'delete'] as const) {
        const there = await attempt(operation, slug, anonymous);
        const gone = await attempt(operation, slug, anonymous, missing);
        assert.equal(there.status, 401, `${operation} ${slug}`);
        assert.deepEqual([gone.status, gone.body], [there.status, there.body], `${operation} ${slug}`);
      }
    }
  });

  it('is told if the collection is open', async () => {
    for (const operation of ['read', 'update', 'delete'] as const) {
      assert.equal((await attempt(operation, 'public', anonymous, missing)).status, 404);
      assert.equal((await attempt(operation, 'plain', { key: apiKey }, missing)).status, 404);
    }
  });
});

describe('A rule that fails', () => {
  it('answers 403 when it throws, without its words, and leaves them in the log under the request id', async () => {
    for (const slug of ['broken', 'brokenLater']) {
      assert.deepEqual(await statuses(slug, anonymous), refused(403), slug);
      const { headers, body } = await attempt('read', slug, anonymous);
      assert.deepEqual(body, {
        statusCode: 403,
        error: 'Forbidden',
        code: 'forbidden',
        message: `you may not read ${slug}`,
      });
      const requestId = headers.get('x-request-id');
      const line = await eventually(() =>
        logLines(service).find((one) => one.requestId === requestId && one.level === 50),
      );
      assert.equal(line.msg, `the read rule of ${slug} threw`);
      assert.equal(line.err.message, 'rule secret: /etc/passwd');
    }
  });

  it('leaves documents out of a list over which it throws, and the list goes on', async () => {
    const path = '/api/collections/failing';
    for (const [title, isPublic] of Object.entries({ first: true, bad: true, hidden: false, last: true }))
      await service.call('POST', path, { title, isPublic });
    for (const query of ['', '?count=none', '?next=&limit=3']) {
      const { status, body } = await service.call('GET', path + query, undefined, anonymous);
      assert.equal(status, 200);
      assert.deepEqual(
        body.docs.map(({ title }: { title: string }) => title),
        ['last', 'first'],
        query,
      );
      assert.equal(body.totalDocs ?? 2, 2);
    }
  });

  it('answers a bare 500 when it returns an invalid value, and leaves why in the log', async () => {
    assert.deepEqual(await statuses('wrong', anonymous), refused(500));
    const { headers, body } = await attempt('list', 'wrong', anonymous);
    assert.deepEqual(body, {
      statusCode: 500,
      error: 'Internal Server Error',
      code: 'internal',
      message: 'An internal server error occurred',
    });
    const requestId = headers.get('x-request-id');
    const line = await eventually(() =>
      logLines(service).find((one) => one.requestId === requestId && one.level === 50),
    );
    assert.match(line.err.message, /the read rule of wrong returned string/);
  });
});

describe('The headers for caches', () => {
  const caller = 'authorization,cookie,x-api-key';
  const told = ({ headers }: Answer) => [headers.get('cache-control'), headers.get('vary')];
  const withCookie: Caller = { key: null, headers: { cookie: 'theirs=1' } };
  const calls = ['', `/${'0'.repeat(8)}`].map((rest) => `/api/collections/public${rest}`);

  it('of an answer to a credential or a cookie, a refusal too: it is for that caller alone', async () => {
    for (const path of [...calls, '/api/collections/plain', '/api/schemas', '/api/nothing']) {
      for (const as of [{}, { key: 'wrong' }, withCookie]) {
        assert.deepEqual(told(await service.call('GET', path, undefined, as)), ['private, no-cache', caller], path);
      }
    }
    const made = await service.call('POST', '/api/collections/public', { title: 'x' });
    assert.deepEqual([made.status, ...told(made)], [201, 'private, no-cache', caller]);
    const again = await service.call('GET', `/api/collections/public/${made.body.id}`, undefined, {
      headers: { 'if-none-match': made.headers.get('etag') ?? '' },
    });
    assert.deepEqual([again.status, ...told(again)], [304, 'private, no-cache', `accept-encoding,${caller}`]);
  });

  it('of an anonymous answer allow keeping it with revalidation, and never for a caller with a credential', async () => {
    for (const path of [...calls, '/api/collections/plain', '/api/schemas'])
      assert.deepEqual(told(await service.call('GET', path, undefined, anonymous)), ['no-cache', caller], path);
  });

  it('of what is the same for all: nothing of callers', async () => {
    for (const path of ['/health', '/ready', '/api/docs']) {
      const { status, headers } = await fetch(service.url + path, { headers: { 'x-api-key': apiKey } });
      assert.deepEqual([status, headers.get('vary')?.includes('x-api-key') ?? false], [200, false], path);
    }
  });
});

describe('Keys in the log', () => {
  it('are nowhere, neither right nor wrong ones', async () => {
    await service.call('GET', '/api/collections/plain', undefined, { key: 'a-wrong-key-of-no-use' });
    await eventually(() => logLines(service).length > 100);
    const { stdout, stderr } = service.output();
    for (const key of [apiKey, secondKey, 'a-wrong-key-of-no-use']) assert.ok(!(stdout + stderr).includes(key));
  });
});
