import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { errorsOf, fieldsOf, recordedEvents } from '../helpers/shared.ts';

const service = useServiceHere(`export default {
  collections: [{ slug: 'pages', fields: [{ name: 'title', type: 'text' }] }],
  globals: [
    {
      slug: 'site',
      access: { read: () => true },
      fields: [
        { name: 'name', type: 'text', required: true, defaultValue: 'My site' },
        { name: 'theme', type: 'select', options: ['light', 'dark'], defaultValue: () => 'light' },
        { name: 'tagline', type: 'text' },
        { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url', required: true }] },
        { name: 'seo', type: 'object', fields: [{ name: 'title', type: 'text', defaultValue: 'T' }, { name: 'n', type: 'number' }] },
        { name: 'home', type: 'relationship', relationTo: 'pages' },
      ],
    },
    { slug: 'merged', fields: [{ name: 'a', type: 'number', defaultValue: 1 }, { name: 'b', type: 'number' }] },
    { slug: 'closed', fields: [{ name: 'a', type: 'text' }], access: { read: () => false, update: () => false } },
    { slug: 'broken', fields: [{ name: 'a', type: 'text' }], access: { read: () => { throw new Error('oh no') } } },
    { slug: 'ruled', fields: [{ name: 'a', type: 'text' }], access: {
      read: ({ doc, user, req }) => doc.a === null && user === null && req.method === 'GET',
      update: async ({ data }) => data.a === 'open',
    } },
  ],
}`);

const path = (slug: string) => `/api/globals/${slug}`;
const defaults = {
  createdAt: null,
  updatedAt: null,
  name: 'My site',
  theme: 'light',
  tagline: null,
  links: [],
  seo: { title: 'T', n: null },
  home: null,
};

describe('GET /api/globals/:slug (2.4, 4.3)', () => {
  it('answers the defaults before the first write, createdAt and updatedAt null, and records nothing', async () => {
    const { status, body } = await assertRecorded(service, () => service.call('GET', path('site')), []);
    assert.deepEqual([status, body], [200, defaults]);
    assert.deepEqual(Object.keys(body), Object.keys(defaults));
  });

  it('answers HEAD, 404 for a global that is not there, and 405 for other methods', async () => {
    assert.equal((await service.call('HEAD', path('site'))).status, 200);
    for (const [method, where] of [
      ['GET', 'nope'],
      ['PATCH', 'nope'],
      ['POST', 'site'],
      ['PUT', 'site'],
      ['DELETE', 'site'],
      ['GET', 'site/x'],
    ] as const) {
      const { status, body } = await service.call(method, path(where), method === 'GET' ? undefined : {});
      const [expected, name] = where === 'site' ? [405, 'Method Not Allowed'] : [404, 'Not Found'];
      assert.deepEqual([status, body.statusCode, body.error], [expected, expected, name], `${method} ${where}`);
    }
    assert.equal((await service.call('GET', '/api/globals')).status, 404);
    assert.equal((await service.call('GET', '/api/globals/pages')).status, 404);
    assert.equal((await service.call('GET', '/api/collections/site')).status, 404);
  });

  it('refuses query parameters', async () => {
    for (const name of ['depth', 'where[name][equals]', 'limit']) {
      const answer = await service.call('GET', `${path('site')}?${name}=x`);
      assert.deepEqual([answer.status, answer.body.error, fieldsOf(answer)], [400, 'Validation Error', [name]]);
    }
    assert.equal((await service.call('GET', `${path('site')}?_cb=1`)).status, 200);
    assert.equal((await service.call('PATCH', `${path('site')}?x=1`, {})).status, 400);
  });
});

describe('PATCH /api/globals/:slug (2.4, 4.3)', () => {
  it('merges what is sent, answers the whole global, and records it', async () => {
    const change = (body: object) => () => service.call('PATCH', path('merged'), body);
    const first = await assertRecorded(service, change({ b: 2 }), (answer) => [
      { type: 'global.updated', stream: 'globals/merged', data: { set: answer.body } },
    ]);
    assert.equal(first.status, 200);
    const { createdAt, updatedAt, ...rest } = first.body;
    assert.deepEqual(rest, { a: 1, b: 2 });
    assert.match(createdAt, /^\d{4}-.*Z$/);
    assert.equal(updatedAt, createdAt);
    const second = await assertRecorded(service, change({ a: null }), (answer) => [
      { type: 'global.updated', data: { set: { a: null, updatedAt: answer.body.updatedAt } } },
    ]);
    assert.deepEqual(second.body, { createdAt, updatedAt: second.body.updatedAt, a: null, b: 2 });
    assert.ok(second.body.updatedAt > updatedAt);
    assert.deepEqual((await service.call('GET', path('merged'))).body, second.body);
  });

  it('appends nothing for {} or for what is there, written or not', async () => {
    const unchanged = (slug: string, body: object) =>
      assertRecorded(service, () => service.call('PATCH', path(slug), body), []);
    assert.deepEqual((await unchanged('site', {})).body, defaults);
    const { body } = await service.call('GET', path('merged'));
    const again = await unchanged('merged', { b: body.b });
    assert.deepEqual([again.status, again.body], [200, body]);
    assert.deepEqual((await unchanged('merged', body)).body, body);
  });

  it('refuses wrong fields with 400, each named, and changes nothing', async () => {
    const { body: before } = await service.call('GET', path('site'));
    const answer = await service.call('PATCH', path('site'), {
      name: null,
      tagine: 'x',
      theme: 'drk',
      links: [{ url: 'https://a.example' }, { url: 'x' }],
      seo: [],
    });
    assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error']);
    assert.deepEqual(errorsOf(answer), {
      name: 'name is required, got null',
      theme: 'theme must be one of "light", "dark", got "drk"; did you mean "dark"?',
      'links.1.url': 'links.1.url must be an absolute http or https URL, got "x"',
      seo: 'seo must be an object, got a list of 0',
      tagine: 'tagine is not a field; did you mean "tagline"?',
    });
    const missing = await service.call('PATCH', path('site'), { home: 'unknown' });
    assert.deepEqual([missing.status, fieldsOf(missing)], [400, ['home']]);
    assert.deepEqual((await service.call('GET', path('site'))).body, before);
  });

  it('refuses bodies that are no JSON objects, and other types', async () => {
    for (const text of ['[]', 'null', '"x"', '']) {
      const answer = await service.call('PATCH', path('site'), text);
      assert.equal(answer.status, 400, text);
      assert.deepEqual(errorsOf(answer), { '': 'the body must be a JSON object' }, text);
    }
    assert.match((await service.call('PATCH', path('site'), '{')).body.message, /not valid JSON/);
    assert.equal(
      (await service.call('PATCH', path('site'), '{}', { headers: { 'content-type': 'text/plain' } })).status,
      415,
    );
    assert.equal((await service.call('PATCH', path('site'), { tagline: 'x'.repeat(1_100_000) })).status, 413);
  });

  it('lets concurrent changes of different fields all survive', async () => {
    const answers = await Promise.all([
      service.call('PATCH', path('site'), { name: 'Concurrent' }),
      service.call('PATCH', path('site'), { tagline: 'too' }),
      service.call('PATCH', path('site'), { theme: 'dark' }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    const { body } = await service.call('GET', path('site'));
    assert.deepEqual([body.name, body.tagline, body.theme], ['Concurrent', 'too', 'dark']);
    assert.equal(recordedEvents(service.data, 'globals/site').length, 3);
  });
});

describe('Access to globals (5, 7)', () => {
  const anonymous = { key: null };

  it('lets any caller read if the rule allows it, and refuses writes without a credential', async () => {
    assert.equal((await service.call('GET', path('site'), undefined, anonymous)).status, 200);
    for (const [method, slug] of [
      ['PATCH', 'site'],
      ['GET', 'merged'],
      ['PATCH', 'merged'],
      ['GET', 'closed'],
      ['PATCH', 'closed'],
    ] as const) {
      const body = method === 'PATCH' ? { a: 'x' } : undefined;
      const answer = await service.call(method, path(slug), body, anonymous);
      const { message, ...rest } = answer.body;
      assert.deepEqual(
        [answer.status, rest],
        [401, { statusCode: 401, error: 'Unauthorized', code: 'unauthorized' }],
        `${method} ${slug}`,
      );
      assert.match(message, /API key/);
    }
  });

  it('gives rules the document, the data and the request', async () => {
    assert.equal((await service.call('GET', path('ruled'), undefined, anonymous)).status, 200);
    assert.equal((await service.call('PATCH', path('ruled'), { a: 'shut' }, anonymous)).status, 401);
    const open = () => service.call('PATCH', path('ruled'), { a: 'open' }, anonymous);
    const opened = await assertRecorded(service, open, [{ type: 'global.updated', actor: { type: 'anonymous' } }]);
    assert.deepEqual([opened.status, opened.body.a], [200, 'open']);
    assert.equal((await service.call('GET', path('ruled'), undefined, anonymous)).status, 401);
  });

  it('does not ask the rules when the API key is there', async () => {
    for (const slug of ['closed', 'broken', 'ruled']) assert.equal((await service.call('GET', path(slug))).status, 200);
    assert.equal((await service.call('PATCH', path('closed'), { a: 'x' })).status, 200);
  });

  it('answers 403 if a rule throws', async () => {
    const { status, body } = await service.call('GET', path('broken'), undefined, anonymous);
    assert.deepEqual(
      [status, body],
      [403, { statusCode: 403, error: 'Forbidden', code: 'forbidden', message: 'you may not read broken' }],
    );
  });

  it('answers 401 for a bad key, also if any caller may read', async () => {
    assert.equal((await service.call('GET', path('site'), undefined, { key: 'wrong' })).status, 401);
  });
});

describe('The ETag of a global (4.3)', () => {
  it('is the same of a read, a write, the same write again and a restore to the same values', async () => {
    const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag');
    const key = { headers: { 'idempotency-key': crypto.randomUUID() } };
    const first = await service.call('PATCH', path('merged'), { b: 7 }, key);
    const again = await service.call('PATCH', path('merged'), { b: 7 }, key);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    const version = Number(/^"(\d+)-/.exec(tagOf(first) ?? '')?.[1]);
    const restored = await service.call('POST', `${path('merged')}/restore`, { version });
    const read = await service.call('GET', path('merged'));
    assert.deepEqual([again, restored, read].map(tagOf), Array(3).fill(tagOf(first)));
  });
});
