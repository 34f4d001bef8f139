import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { anonymous, bearer, type LoggedIn, loggedIn } from '../../helpers/accounts.ts';
import { remainsIn } from '../../helpers/leftovers.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';
import { errorsOf, eventually, logLines, useFolder, useService } from '../../helpers/shared.ts';

const config = `export default {
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: true, fields: [] },
    { slug: 'writers', auth: { useAPIKey: true }, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'posts',
      access: {
        read: () => true,
        update: ({ user, doc, data }) => user?.collection === 'users' || doc.owner === user?.id || data.sesame === 'open',
      },
      fields: [{ name: 'title', type: 'text', required: true, maxLength: 20 }, { name: 'owner', type: 'text' }],
      hooks: { beforeChange: ({ operation }) => {
        if (operation === 'update') throw new Error('no hook runs for a draft');
      } } },
    { slug: 'open', access: { read: () => true, update: () => true }, fields: [{ name: 'title', type: 'text' }] },
    { slug: 'files', upload: true, fields: [] },
  ],
};`;

const password = 'correct horse battery';
const data = join(useFolder(), 'data');
const service = useService(config, { ANNALS_THREADS: '1' }, data);
let admin: LoggedIn;
let writer: LoggedIn;
let post = '';
let owned = '';
let open = '';

before(async () => {
  await service.call('POST', '/api/collections/writers', { email: 'w@example.org', password });
  const setupToken = /setup\?token=(\S+)/.exec(service.output().stdout)?.[1];
  const first = { setupToken, email: 'a@example.org', password };
  await service.call('POST', '/api/collections/users/first-user', first, anonymous);
  admin = await loggedIn(service, 'users', 'a@example.org', password);
  writer = await loggedIn(service, 'writers', 'w@example.org', password);
  const create = async (slug: string, values: object): Promise<string> =>
    (await service.call('POST', `/api/collections/${slug}`, values)).body.id;
  post = await create('posts', { title: 'stored' });
  owned = await create('posts', { title: 'hers', owner: writer.id });
  open = await create('open', { title: 'open' });
});

const ask = (body: unknown, options?: CallOptions) => service.call('POST', '/api/preview-token', body, options);
const show = (token: string, options: CallOptions = anonymous) =>
  service.call('GET', `/api/preview-data?token=${token}`, undefined, options);

async function tokenOf(body: unknown, options?: CallOptions): Promise<string> {
  const { status, body: answer } = await ask(body, options);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer.token;
}

/** The claims of a token, with any signature. */
function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

describe('A preview (2.6, 4.6)', () => {
  it('shows a draft as it came, whatever the fields are, to every holder of the token, for 15 minutes', async () => {
    const draft = {
      title: ['no text', null, 1e21, -0.5, { deep: { er: [] } }],
      titel: 'no field \0 "quoted" \u2028 \ud800 🎉',
      id: 'another',
      constructor: 'x',
      '': false,
    };
    const answer = await ask({ collection: 'posts', id: post, data: draft }, admin.as);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(Object.keys(answer.body), ['token']);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const { preview, iat, exp, ...others } = claimsOf(answer.body.token);
    assert.deepEqual([typeof preview, Number(exp) - Number(iat), others], ['string', 900, {}]);

    const shown = await show(answer.body.token);
    assert.equal(shown.status, 200);
    assert.deepEqual(shown.body, { collection: 'posts', id: post, data: draft });
    assert.equal(shown.headers.get('cache-control'), 'no-store');
    assert.match(shown.headers.get('content-type') ?? '', /^application\/json/);
    // The preview has written nothing.
    assert.equal((await service.call('GET', `/api/collections/posts/${post}`)).body.title, 'stored');
    assert.equal((await show(answer.body.token, writer.as)).status, 200);
    assert.equal((await service.call('HEAD', `/api/preview-data?token=${answer.body.token}`)).status, 200);
  });

  it('is kept up to the limit of a body, and no further', async () => {
    const envelope = JSON.stringify({ collection: 'posts', id: post, data: { title: '' } });
    const body = envelope.replace('""', `"${'x'.repeat(1_048_576 - envelope.length)}"`);
    const token = await tokenOf(body);
    assert.equal((await show(token)).body.data.title.length, 1_048_576 - envelope.length);
    assert.equal((await ask(body.replace('x', 'xx'))).status, 413);
  });

  const refusals: [who: string, status: number, ask: () => Promise<Answer>][] = [
    [
      'an anonymous caller, where a rule lets no one in',
      401,
      () => ask({ collection: 'posts', id: post, data: {} }, anonymous),
    ],
    [
      'an anonymous caller, where a rule lets everybody in',
      401,
      () => ask({ collection: 'open', id: open, data: {} }, anonymous),
    ],
    ['an anonymous caller, whatever there is', 401, () => ask({ collection: 'nothing', id: 3 }, anonymous)],
    ['a user whom the rule lets in', 200, () => ask({ collection: 'posts', id: owned, data: {} }, writer.as)],
    ['a user whom it refuses by the document', 403, () => ask({ collection: 'posts', id: post, data: {} }, writer.as)],
    ['a user by the draft', 200, () => ask({ collection: 'posts', id: post, data: { sesame: 'open' } }, writer.as)],
    ['a user, of their own account', 200, () => ask({ collection: 'writers', id: writer.id, data: {} }, writer.as)],
    ['a user, of another account', 403, () => ask({ collection: 'users', id: admin.id, data: {} }, writer.as)],
    ['a key, which is trusted', 200, () => ask({ collection: 'posts', id: post, data: {} })],
    ['a key, of accounts', 403, () => ask({ collection: 'users', id: admin.id, data: {} })],
    ['a key, of accounts where it may', 200, () => ask({ collection: 'writers', id: writer.id, data: {} })],
  ];
  for (const [who, status, run] of refusals) {
    it(`is ${status === 200 ? 'for' : `${status} for`} ${who}`, async () => {
      const answer = await assertRecorded({ data }, run, []);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
    });
  }

  it('needs a document that is there, of a collection', async () => {
    const typo = await ask({ collection: 'pots', id: post, data: {} }, writer.as);
    assert.deepEqual([typo.status, typo.body.message], [404, 'there is no collection "pots"; did you mean "posts"?']);
    const missing = await ask({ collection: 'posts', id: randomUUID(), data: {} }, writer.as);
    assert.deepEqual([missing.status, missing.body.error], [404, 'Not Found']);
    assert.match(missing.body.message, /^there is no document "[0-9a-f-]{36}" in posts$/);
    assert.equal((await ask({ collection: 'posts', id: open, data: {} })).status, 404);
  });

  const nested = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
  const hostile: [body: unknown, status: number, errors: Record<string, string> | RegExp][] = [
    ['{}', 400, { collection: 'collection is required', id: 'id is required', data: 'data is required' }],
    [
      { colection: 'posts', id: 3, data: [1, 2] },
      400,
      {
        collection: 'collection is required',
        id: 'id must be a text, got 3',
        data: 'data must be an object, got a list of 2',
        colection: 'colection is not a field; did you mean "collection"?',
      },
    ],
    [
      { collection: null, id: { equals: 'x' }, data: null },
      400,
      {
        collection: 'collection is required, got null',
        id: 'id must be a text, got an object',
        data: 'data is required, got null',
      },
    ],
    [
      { collection: 'posts', id: 'x', data: 'text', expiresIn: 60 },
      400,
      { data: 'data must be an object, got "text"', expiresIn: 'expiresIn is not a field' },
    ],
    [
      `{"collection":"posts","id":"x","data":{"a":${nested}}}`,
      400,
      { data: 'data must be nested at most 1000 levels deep, got an object' },
    ],
    [
      '{"collection":"posts","id":"x","data":{"a":1e400}}',
      400,
      { data: 'data must hold only finite numbers, got an object' },
    ],
    ['{"collection":"posts","id":"x","data":{"a":[12345678901234567890]}}', 400, /^data\.a\.0 must be a number that/],
    ['[]', 400, { '': 'the body must be a JSON object' }],
    ['"posts"', 400, { '': 'the body must be a JSON object' }],
    ['', 400, { '': 'the body must be a JSON object' }],
    ['{"collection":', 400, /not valid JSON/],
    ['{"collection":"posts","id":"x","data":{"__proto__":{"x":1}}}', 400, /must not hold the key "__proto__"/],
    ['{"__proto__":{"collection":"posts"}}', 400, /must not hold the key "__proto__"/],
  ];
  for (const [body, status, errors] of hostile) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    it(`is refused with all that is wrong: ${text.slice(0, 60)}`, async () => {
      const answer = await ask(body, { headers: { 'content-type': 'application/json' } });
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      if (errors instanceof RegExp) assert.match(answer.body.message, errors);
      else assert.deepEqual(errorsOf(answer), errors);
    });
  }

  it('takes no query, no other type, and no header that would promise something in vain', async () => {
    const body = { collection: 'posts', id: post, data: {} };
    const query = await service.call('POST', '/api/preview-token?depth=1', body);
    assert.deepEqual([query.status, Object.keys(errorsOf(query))], [400, ['depth']]);
    for (const name of ['if-match', 'if-none-match']) {
      const answer = await ask(body, { headers: { [name]: '"1"' } });
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, [name]]);
    }
    assert.equal((await ask('{}', { headers: { 'content-type': 'text/plain' } })).status, 415);
  });
});

describe('The draft of a preview', () => {
  it('needs one token, and nothing else', async () => {
    const wrong = [
      ['', { token: 'token must be that of a preview, it is missing' }],
      ['?token=', { token: 'token must be that of a preview, got ""' }],
      ['?token=a&token=b', { token: 'token must be that of a preview, got 2 values' }],
      ['?tokn=a', { tokn: 'tokn is not a query parameter; did you mean "token"?; allowed: "token"' }],
    ] as const;
    for (const [query, errors] of wrong) {
      const answer = await service.call('GET', `/api/preview-data${query}`, undefined, anonymous);
      assert.equal(answer.status, 400);
      const told = errorsOf(answer);
      for (const [field, message] of Object.entries(errors)) assert.equal(told[field], message);
    }
  });

  it('is shown by no other token, and all of them are told the same', async () => {
    const token = await tokenOf({ collection: 'posts', id: post, data: {} });
    const [head = '', body = '', signature = ''] = token.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const none = `${encode({ alg: 'none', typ: 'JWT' })}.${body}.`;
    const later = encode({ ...claimsOf(token), exp: 4_000_000_000 });
    const tokens = ['x', 'a.b.c', admin.token, none, `${head}.${later}.${signature}`, `${head}.${body}.`, `${token}A`];
    for (const other of tokens) {
      const answer = await show(other);
      assert.deepEqual(
        [answer.status, answer.body],
        [
          401,
          {
            statusCode: 401,
            error: 'Unauthorized',
            code: 'invalid_token',
            message: 'the preview token is not valid, or has expired',
          },
        ],
      );
    }
    // Beside it, a credential that is wrong is refused as everywhere.
    assert.equal((await show(token, { key: 'wrong' })).body.message, 'the API key is not valid');
    assert.equal((await show(token, bearer('wrong'))).status, 401);
    assert.equal((await show(token)).status, 200);
  });

  it('has a token that is no login, wherever it is put', async () => {
    const token = await tokenOf({ collection: 'posts', id: post, data: {} }, admin.as);
    const paths = [
      '/api/collections/users/me',
      '/api/collections/posts',
      '/api/schemas',
      `/api/media/files/${post}/x.png`,
      '/api/audit/events',
      '/api/audit/checkpoints',
      `/api/preview-data?token=${token}`,
    ];
    for (const path of paths) {
      assert.equal((await service.call('GET', path, undefined, bearer(token))).status, 401, path);
      assert.equal((await service.call('GET', path, undefined, { key: token })).status, 401, path);
    }
    for (const slug of ['users', 'writers']) {
      const cookie = { key: null, headers: { cookie: `annals-${slug}=${token}` } };
      assert.equal((await service.call('GET', `/api/collections/${slug}/me`, undefined, cookie)).status, 401);
      assert.equal((await service.call('GET', '/api/audit/events', undefined, cookie)).status, 401);
    }
  });

  it('leaves a password out', async () => {
    const draft = { name: 'Ada', password: 'her-new-password' };
    const token = await tokenOf({ collection: 'writers', id: writer.id, data: draft }, writer.as);
    assert.deepEqual((await show(token)).body.data, { name: 'Ada' });
    assert.deepEqual(remainsIn(data, ['her-new-password']), []);
  });

  it('is never in the log, nor is it in the lines about requests, nor its token', async () => {
    const draft = { collection: 'posts', id: post, data: { title: 'a-text-of-a-draft' } };
    const token = await assertRecorded({ data }, () => tokenOf(draft), []);
    const shown = await assertRecorded({ data }, () => show(token), []);
    assert.equal(shown.body.data.title, 'a-text-of-a-draft');
    const { headers } = await show('not.a.token');
    const sought = headers.get('x-request-id');
    await eventually(() => logLines(service).some(({ requestId }) => requestId === sought));
    const lines = JSON.stringify(logLines(service));
    assert.doesNotMatch(lines, /a-text-of-a-draft|not\.a\.token/);
    assert.ok(!lines.includes(token));
    const found = remainsIn(data, ['a-text-of-a-draft']).map((remain) => remain.split(':')[0]);
    assert.ok(found.length > 0 && found.every((file) => file?.startsWith('vault.db')), found.join());
  });

  it('goes with its document when that is erased, to the last byte', async () => {
    const { id } = (await service.call('POST', '/api/collections/posts', { title: 'to be erased' })).body;
    const token = await tokenOf({ collection: 'posts', id, data: { title: 'a-draft-to-be-erased' } });
    const other = await tokenOf({ collection: 'posts', id: post, data: { title: 'stays' } });
    const erasure = { collection: 'posts', id, reason: 'asked for' };
    const late = { collection: 'posts', id, data: { title: 'a-draft-to-be-erased' } };
    const [erased, ...asked] = await Promise.all([
      service.call('POST', '/api/audit/erasures', erasure),
      ...Array.from({ length: 20 }, () => ask(late)),
    ]);
    assert.equal(erased.status, 201);
    // Previews that were asked for at the same time came before the erasure, or too late.
    for (const { status, body } of asked) if (status === 200) assert.equal((await show(body.token)).status, 401);
    assert.equal((await show(token)).status, 401);
    assert.deepEqual(remainsIn(data, ['a-draft-to-be-erased']), []);
    assert.equal((await show(other)).body.data.title, 'stays');
    assert.equal((await ask({ collection: 'posts', id, data: {} })).status, 404);
  });

  it('is for no page of another origin, if none is let in', async () => {
    const headers = { origin: 'https://app.example.org', 'access-control-request-method': 'POST' };
    for (const method of ['OPTIONS', 'GET', 'POST'] as const) {
      const answer = await service.call(method, '/api/preview-token', undefined, { headers });
      const told = [...answer.headers].flat().filter((text) => /^access-control-|origin/.test(text));
      assert.deepEqual([answer.status, told], [{ OPTIONS: 204, GET: 405, POST: 400 }[method], []]);
    }
  });
});
