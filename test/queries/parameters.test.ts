import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { bearer } from '../helpers/accounts.ts';
import { described, type OpenApi, operationsOf } from '../helpers/contract.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { request, type Sent } from '../helpers/requests.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';

const service = useServiceHere(`
  const open = { read: () => true };
  export default {
    bcryptCost: 4,
    audit: ({ user, apiKey }) => user !== null || apiKey !== null,
    collections: [
      { slug: 'posts', access: open, fields: [{ name: 'title', type: 'text' }] },
      { slug: 'files', access: open, upload: true, fields: [] },
      { slug: 'users', auth: true, fields: [] },
    ],
    globals: [{ slug: 'site', access: open, fields: [{ name: 'motto', type: 'text' }] }],
    webhooks: [{ name: 'front', url: 'http://127.0.0.1:9/', secret: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', globals: ['site'], events: ['document.deleted'] }],
  };`);

/** An operation with query parameters, as its document has it. */
type Operation = { name: string; parameters: OpenApi[] };

/** How an operation is called, so that it answers. */
type Call = { path: string; sent?: Sent };

/** Texts that a parameter takes and texts that it refuses, for parameters whose schema does not tell them apart. */
type Texts = { good: string[]; bad: string[] };

const audit = '/api/audit';
const largest = '9007199254740991';
/** Larger than that by one. */
const beyond = '9007199254740992';
const calls: Record<string, Call> = {};
const texts: Record<string, Texts> = {};
const operations: Operation[] = [];

before(async () => {
  const { call } = service;
  const made = async (method: string, path: string, body: unknown, options?: CallOptions) => {
    const answer = await call(method, path, body, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  // By now the service listens, so it has printed the address at which the first user is made.
  const post = await made('POST', '/api/collections/posts', { title: 'One' });
  const [, setupToken = ''] = /setup\?token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.org', password: 'a long password' };
  const { user, token } = await made('POST', '/api/collections/users/first-user', first, { key: null });
  await made('POST', '/api/collections/users/invite', { email: 'bob@example.org' }, bearer(token));
  await made('PATCH', `/api/collections/posts/${post.id}`, { title: 'Two' });
  await made('PATCH', '/api/globals/site', { motto: 'Ho' });
  await made('PATCH', '/api/globals/site', { motto: 'Hum' });
  const form = new FormData();
  form.append('file', new Blob(['a text']), 'a.txt');
  const upload = { body: form };
  const { body: file } = await request(service.url, 'POST', '/api/collections/files', upload);
  const draft = await made('POST', '/api/preview-token', { collection: 'posts', id: post.id, data: {} });
  const { docs: events, size } = await made('GET', `${audit}/events?type=invite.created`, undefined);
  const invitation = events[0].header.stream.split('/').at(-1);

  const admin = bearer(token);
  const gone = await made('POST', '/api/collections/posts', { title: 'Gone' });
  const wanted = { collection: 'posts', id: gone.id, reason: 'asked for' };
  const erased = await made('POST', `${audit}/erasures`, wanted);
  const { batch } = await made('POST', '/api/collections/posts/bulk', { docs: [{ title: 'Undone' }] });
  const back = { body: { version: 1 } };
  const erase = { body: { collection: 'posts', id: post.id, reason: 'asked for' } };
  Object.assign(calls, {
    'GET /api/collections/posts': { path: '/api/collections/posts' },
    'GET /api/collections/files': { path: '/api/collections/files' },
    'GET /api/collections/users': { path: '/api/collections/users', sent: admin },
    'GET /api/collections/posts/{id}': { path: `/api/collections/posts/${post.id}` },
    'GET /api/collections/files/{id}': { path: `/api/collections/files/${file.id}` },
    'GET /api/collections/users/{id}': { path: `/api/collections/users/${user.id}`, sent: admin },
    'GET /api/collections/posts/{id}/references': { path: `/api/collections/posts/${post.id}/references` },
    'GET /api/collections/files/{id}/references': { path: `/api/collections/files/${file.id}/references` },
    'GET /api/collections/users/{id}/references': {
      path: `/api/collections/users/${user.id}/references`,
      sent: admin,
    },
    'GET /api/collections/posts/trash': { path: '/api/collections/posts/trash' },
    'GET /api/collections/files/trash': { path: '/api/collections/files/trash' },
    'GET /api/collections/users/trash': { path: '/api/collections/users/trash', sent: admin },
    'GET /api/trash': { path: '/api/trash' },
    'POST /api/collections/posts/{id}/restore': { path: `/api/collections/posts/${post.id}/restore`, sent: back },
    'POST /api/collections/files/{id}/restore': { path: `/api/collections/files/${file.id}/restore`, sent: back },
    'POST /api/collections/users/{id}/restore': {
      path: `/api/collections/users/${user.id}/restore`,
      sent: { ...admin, ...back },
    },
    ...Object.fromEntries(
      ['posts', 'users'].flatMap((slug) => {
        const many = `/api/collections/${slug}/bulk`;
        const sent = (body: object) => (slug === 'users' ? { ...admin, body } : { body });
        return [
          [`POST ${many}`, { path: many, sent: sent({ docs: [] }) }],
          [`POST ${many}/update`, { path: `${many}/update`, sent: sent({ ids: [], data: {} }) }],
          [`POST ${many}/delete`, { path: `${many}/delete`, sent: sent({ ids: [] }) }],
        ];
      }),
    ),
    'GET /api/media/files/{id}/{filename}': { path: file.url },
    'GET /api/globals/site': { path: '/api/globals/site' },
    'POST /api/globals/site/restore': { path: '/api/globals/site/restore', sent: back },
    'GET /api/collections/posts/count': { path: '/api/collections/posts/count' },
    'GET /api/collections/files/count': { path: '/api/collections/files/count' },
    'GET /api/collections/users/count': { path: '/api/collections/users/count', sent: admin },
    ...Object.fromEntries(
      ['posts', 'files', 'users'].flatMap((slug) => {
        const sent = slug === 'users' ? { sent: admin } : {};
        const path = `/api/collections/${slug}`;
        return [
          [`GET ${path}/aggregate`, { path: `${path}/aggregate?groupBy=createdAt,updatedAt,id`, ...sent }],
          [`GET ${path}/distinct`, { path: `${path}/distinct?field=id`, ...sent }],
        ];
      }),
    ),
    'GET /api/batches/{batch}': { path: `/api/batches/${batch}` },
    'POST /api/batches/{batch}/undo': { path: `/api/batches/${batch}/undo`, sent: { body: { force: true } } },
    'GET /api/keys': { path: '/api/keys' },
    'GET /api/drafts': { path: '/api/drafts', sent: admin },
    'GET /api/collections/users/sessions': { path: '/api/collections/users/sessions', sent: admin },
    'GET /api/collections/users/invitations': { path: '/api/collections/users/invitations', sent: admin },
    'GET /api/webhooks': { path: '/api/webhooks' },
    'GET /api/webhooks/{name}/deliveries': { path: '/api/webhooks/front/deliveries' },
    'GET /api/counts': { path: '/api/counts' },
    'GET /api/schemas': { path: '/api/schemas' },
    'GET /api/search': { path: '/api/search?q=a' },
    'GET /api/preview-data': { path: `/api/preview-data?token=${draft.token}` },
    [`GET ${audit}/documents/{slug}/{id}`]: { path: `${audit}/documents/posts/${post.id}` },
    [`GET ${audit}/documents/{slug}/{id}/diff`]: { path: `${audit}/documents/posts/${post.id}/diff` },
    [`GET ${audit}/documents/{slug}/{id}/blame`]: { path: `${audit}/documents/posts/${post.id}/blame` },
    [`GET ${audit}/globals/{slug}`]: { path: `${audit}/globals/site` },
    [`GET ${audit}/globals/{slug}/diff`]: { path: `${audit}/globals/site/diff` },
    [`GET ${audit}/globals/{slug}/blame`]: { path: `${audit}/globals/site/blame` },
    [`GET ${audit}/accounts/{slug}/{id}`]: { path: `${audit}/accounts/users/${user.id}` },
    [`GET ${audit}/accounts/{slug}/invites/{id}`]: { path: `${audit}/accounts/users/invites/${invitation}` },
    [`GET ${audit}/documents/{slug}/{id}/versions/{version}`]: {
      path: `${audit}/documents/posts/${post.id}/versions/1`,
    },
    [`GET ${audit}/documents/{slug}/{id}/versions/{version}/access`]: {
      path: `${audit}/documents/posts/${post.id}/versions/1/access`,
    },
    [`GET ${audit}/globals/{slug}/versions/{version}`]: { path: `${audit}/globals/site/versions/1` },
    [`GET ${audit}/globals/{slug}/versions/{version}/access`]: { path: `${audit}/globals/site/versions/1/access` },
    [`GET ${audit}/accounts/{slug}/{id}/versions/{version}`]: {
      path: `${audit}/accounts/users/${user.id}/versions/1`,
      sent: admin,
    },
    [`GET ${audit}/accounts/{slug}/{id}/versions/{version}/access`]: {
      path: `${audit}/accounts/users/${user.id}/versions/1/access`,
      sent: admin,
    },
    [`GET ${audit}/accounts/{slug}/invites/{id}/versions/{version}`]: {
      path: `${audit}/accounts/users/invites/${invitation}/versions/1`,
      sent: admin,
    },
    [`GET ${audit}/accounts/{slug}/invites/{id}/versions/{version}/access`]: {
      path: `${audit}/accounts/users/invites/${invitation}/versions/1/access`,
      sent: admin,
    },
    [`GET ${audit}/events`]: { path: `${audit}/events` },
    [`GET ${audit}/feed`]: { path: `${audit}/feed` },
    [`GET ${audit}/stamps`]: { path: `${audit}/stamps` },
    [`GET ${audit}/proofs/{position}`]: { path: `${audit}/proofs/1` },
    [`GET ${audit}/consistency`]: { path: `${audit}/consistency?from=0` },
    [`GET ${audit}/bundles/{slug}/{id}`]: { path: `${audit}/bundles/posts/${post.id}` },
    [`GET ${audit}/bundles/globals/{slug}`]: { path: `${audit}/bundles/globals/site` },
    [`GET ${audit}/bundles/accounts/{slug}/{id}`]: { path: `${audit}/bundles/accounts/users/${user.id}`, sent: admin },
    [`GET ${audit}/export`]: { path: `${audit}/export` },
    [`GET ${audit}/erasures/{position}`]: { path: `${audit}/erasures/${erased.position}` },
    [`GET ${audit}/erasures`]: { path: `${audit}/erasures` },
    [`POST ${audit}/erasures`]: { path: `${audit}/erasures?dryRun=true`, sent: erase },
  } satisfies Record<string, Call>);
  const today = new Date().toISOString().slice(0, 10);
  const moments = { good: ['1', '2020-02-29', '2020-02-29T12:00:00Z'], bad: ['0', '-1', 'now', '9999-12-31', largest] };
  Object.assign(texts, {
    asOf: { ...moments, good: [String(size), today] },
    from: moments,
    to: { ...moments, good: [today] },
    sort: { good: ['createdAt', '-updatedAt,id'], bad: ['nothing', '-', ','] },
    select: { good: ['createdAt', 'createdAt,updatedAt'], bad: ['nothing', '-createdAt', 'createdAt,'] },
    where: { good: [JSON.stringify({ id: { equals: post.id } })], bad: ['x', '{}x', '[]', '{"nothing":{"equals":1}}'] },
    q: { good: ['a', '"a phrase" wo', '!'], bad: ['x'.repeat(201)] },
    collections: { good: ['posts', 'posts,files'], bad: ['post', ',', 'posts,'] },
    groupBy: { good: ['createdAt', 'id,updatedAt.month'], bad: ['nothing', 'createdAt.', 'id,id'] },
    sum: { good: [], bad: ['nothing', 'createdAt'] },
    avg: { good: [], bad: ['nothing', 'createdAt'] },
    min: { good: ['createdAt', 'createdAt,updatedAt'], bad: ['nothing', 'id'] },
    max: { good: ['updatedAt'], bad: ['nothing', 'updatedAt,'] },
    field: { good: ['createdAt', 'createdAt.day'], bad: ['nothing', 'createdAt,id'] },
    next: { good: [''], bad: ['x', '1', 'A'.repeat(100)] },
    stream: { good: [`posts/${post.id}`], bad: [] },
    collection: { good: ['posts', 'globals/site', 'system'], bad: ['post', 'Posts'] },
    type: { good: ['document.created', 'document.created,global.updated'], bad: ['document', 'document.created,'] },
    actor: { good: ['user', `users/${user.id}`, '0123456789abcdef'], bad: ['users', 'users/', '0123456789abcdeg'] },
    batch: { good: [post.id], bad: ['x', post.id.toUpperCase(), `${post.id}0`] },
    token: { good: [draft.token], bad: [] },
  } satisfies Record<string, Texts>);

  for (const path of ['/api/openapi.json', `${audit}/openapi.json`]) {
    const document = await made('GET', path, undefined);
    for (const name of operationsOf(document)) {
      const { parameters = [] } = described(document, name);
      const ofQuery = parameters.filter((one: OpenApi) => one.in === 'query');
      if (ofQuery.length > 0) operations.push({ name, parameters: ofQuery });
    }
  }
});

/** Calls an operation with these parameters, in the place of those of their names that it is called with. */
async function ask({ name }: Operation, ...pairs: [name: string, value: string][]): Promise<Answer> {
  const { path, sent } = calls[name] ?? assert.fail(`${name} has query parameters: how is it called?`);
  const [place = '', given = ''] = path.split('?');
  const query = new URLSearchParams(given);
  for (const [parameter] of pairs) query.delete(parameter);
  for (const [parameter, value] of pairs) query.append(parameter, value);
  return request(service.url, name.split(' ')[0] ?? '', `${place}?${query}`, sent);
}

async function accepts(operation: Operation, ...pairs: [string, string][]): Promise<void> {
  const { status, body } = await ask(operation, ...pairs);
  assert.ok(status < 300, `${operation.name} ${JSON.stringify(pairs)}: ${status} ${JSON.stringify(body)}`);
}

/** Asserts a 400 that names the first of the parameters. */
async function refuses(operation: Operation, ...pairs: [string, string][]): Promise<string> {
  const { asked, messageOf } = await refused(operation, pairs);
  return messageOf(pairs[0]?.[0] ?? '') ?? assert.fail(asked);
}

/**
 * Asserts a 400 that names the parameter, for each of these: of all at once, and alone of one that is only looked at
 * after others.
 */
async function refusesEach(operation: Operation, pairs: [string, string][]): Promise<void> {
  if (pairs.length === 0) return;
  const { messageOf } = await refused(operation, pairs);
  for (const pair of pairs) if (messageOf(pair[0]) === undefined) await refuses(operation, pair);
}

async function refused(operation: Operation, pairs: [string, string][]) {
  const { status, body } = await ask(operation, ...pairs);
  const asked = `${operation.name} ${JSON.stringify(pairs)}: ${status} ${JSON.stringify(body).slice(0, 500)}`;
  assert.equal(status, 400, asked);
  function messageOf(name: string): string | undefined {
    const found = body.errors.find(({ field }: { field: string }) => field === name || field.startsWith(`${name}[`));
    assert.ok(!found || found.message.startsWith(found.field), asked);
    return found?.message;
  }
  return { asked, messageOf };
}

/** Every parameter of every operation, one by one. */
async function each(run: (operation: Operation, parameter: OpenApi) => Promise<void>): Promise<void> {
  assert.ok(operations.length >= 30);
  for (const operation of operations) for (const parameter of operation.parameters) await run(operation, parameter);
}

const isText = (schema: OpenApi) => schema.oneOf || (schema.type === 'string' && !schema.enum);

describe('A query parameter is what the OpenAPI documents say of it', () => {
  it('as a whole number: from its least to its largest', () =>
    each(async (operation, { name, schema }) => {
      if (schema.type !== 'integer') return;
      const { minimum, maximum } = schema;
      await accepts(operation, [name, String(minimum)]);
      await accepts(operation, [name, `00${minimum}`]);
      assert.equal(String(maximum), largest);
      // If the log or the document ends before, the message says so.
      const { status, body } = await ask(operation, [name, largest]);
      if (status >= 300)
        assert.match(body.message, /must (be at most|not be beyond|not be after|not be less)/, operation.name);
    }));

  it('as a whole number: none that is less or more, and no other text', async () => {
    for (const operation of operations) {
      const numbers = operation.parameters.filter(({ schema }) => schema.type === 'integer');
      const sent = (wrong: (least: number) => string) =>
        numbers.map(({ name, schema }): [string, string] => [name, wrong(schema.minimum)]);
      await refusesEach(
        operation,
        sent((least) => String(least - 1)),
      );
      for (const wrong of [beyond, 'x', '1.5', '', ' 1', '1e1', '0x1'])
        await refusesEach(
          operation,
          sent(() => wrong),
        );
    }
  });

  it('as a truth', () =>
    each(async (operation, { name, schema }) => {
      if (schema.type !== 'boolean') return;
      const beside: [string, string][] = name === 'proven' ? [['asOf', texts.asOf?.good[0] ?? '']] : [];
      await accepts(operation, [name, 'true'], ...beside);
      // Without it, a document is gone.
      if (operation.name !== `POST ${audit}/erasures`) await accepts(operation, [name, 'false']);
      for (const wrong of ['1', 'yes', '', 'null']) await refuses(operation, [name, wrong]);
      for (const wrong of ['TRUE', 'fals']) assert.match(await refuses(operation, [name, wrong]), /; did you mean "/);
    }));

  it('as a word of several', () =>
    each(async (operation, { name, schema }) => {
      for (const word of schema.enum ?? []) {
        await accepts(operation, [name, word]);
        const message = await refuses(operation, [name, `${word}x`]);
        assert.ok(message.endsWith(`; did you mean ${JSON.stringify(word)}?`), message);
      }
      for (const wrong of schema.enum ? ['', 'qqqqqqqq'] : []) await refuses(operation, [name, wrong]);
    }));

  it('as a list: each item, and how many', () =>
    each(async (operation, { name, schema }) => {
      if (schema.type !== 'array') return;
      const { items, maxItems } = schema;
      const times = (count: number) =>
        Array.from({ length: count }, (): [string, string] => [name, String(items.minimum)]);
      await accepts(operation, ...times(1));
      await accepts(operation, ...times(maxItems));
      await refuses(operation, ...times(maxItems + 1));
      for (const wrong of [items.minimum - 1, 'x', '', '1.5', beyond]) await refuses(operation, [name, String(wrong)]);
      await refuses(operation, ...times(1), [name, 'x']);
    }));

  it('as a text of its own form', () =>
    each(async (operation, { name, schema }) => {
      if (!isText(schema)) return;
      const { good, bad } = texts[name] ?? assert.fail(`${operation.name}: what does ${name} take?`);
      for (const text of good) await accepts(operation, [name, text]);
      if (!schema.pattern) return;
      for (const text of [...good, ...bad])
        assert.equal(new RegExp(schema.pattern).test(text), good.includes(text), text);
    }));

  it('as a text of no other form', async () => {
    for (const operation of operations) {
      const own = operation.parameters.filter(({ schema }) => isText(schema)).map(({ name }) => name);
      const wrongs = own.map((name) => {
        const { good = [], bad = [] } = texts[name] ?? {};
        return (good.includes('') ? bad : [...bad, '']).map((text): [string, string] => [name, text]);
      });
      for (let index = 0; wrongs.some((list) => index < list.length); index += 1)
        await refusesEach(
          operation,
          wrongs.flatMap((list) => list.slice(index, index + 1)),
        );
    }
  });

  it('as a filter in brackets', () =>
    each(async (operation, { name, schema }) => {
      if (!schema.oneOf) return;
      await accepts(operation, [`${name}[id][exists]`, 'true'], [`${name}[createdAt][greater_than]`, '2020-01-01']);
      await refuses(operation, [`${name}[id][exist]`, 'true']);
    }));

  it('and is given once, unless it is a list', () =>
    each(async (operation, { name, schema }) => {
      if (schema.type === 'array') return;
      const value = String(schema.minimum ?? schema.enum?.[0] ?? texts[name]?.good[0] ?? true);
      await refuses(operation, [name, value], [name, value]);
    }));

  it('and stands for its default if it is missing', async () => {
    let compared = 0;
    await each(async (operation, { name, schema }) => {
      const isRead = operation.name.startsWith('GET') && !/bundles|export/.test(operation.name);
      if (schema.default === undefined || !isRead) return;
      compared += 1;
      const [missing, given] = [await ask(operation), await ask(operation, [name, String(schema.default)])];
      assert.deepEqual(given.body, missing.body, `${operation.name} ${name}`);
    });
    assert.ok(compared >= 20);
  });

  it('and is required if it is said to be', () =>
    each(async (operation, { name, required = false }) => {
      const { path, sent } = calls[operation.name] ?? assert.fail();
      if (!path.includes(`${name}=`) || !operation.name.startsWith('GET')) return;
      const { status, body } = await request(service.url, 'GET', path.split('?')[0] ?? '', sent);
      assert.equal(status === 400, required, operation.name);
      if (required) assert.match(body.message, new RegExp(`^${name} must .*, it is missing$`));
    }));

  it('and is taken for the largest that is said to be, above that', async () => {
    const capped = new Set<string>();
    await each(async (operation, { name, description }) => {
      const [, most, taken] = /; above (\d+) is (\d+)\.$/.exec(description) ?? [];
      if (most === undefined) return;
      capped.add(name);
      assert.equal(most, taken);
      const [at, above] = [await ask(operation, [name, most]), await ask(operation, [name, String(Number(most) + 1)])];
      assert.deepEqual(above.body, at.body);
      if (at.body.limit !== undefined) assert.equal(above.body.limit, Number(most));
    });
    assert.deepEqual([...capped].sort(), ['depth', 'limit']);
  });

  it('and under another name is refused, with the right one', () =>
    each(async (operation, { name }) => {
      const message = await refuses(operation, [`${name}x`, '1']);
      const names = operation.parameters.map((one) => one.name);
      // For a name of one letter, every other one is as far away.
      const meant = name.length > 1 ? `; did you mean "${name}"\\?` : '';
      assert.match(message, new RegExp(`^${name}x is not a query parameter${meant}; allowed: `));
      for (const one of names) assert.ok(message.includes(JSON.stringify(one)), message);
    }));
});
