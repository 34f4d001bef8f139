import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, apiKey, type CallOptions } from '../helpers/service.ts';
import { errorsOf, recordedEvents, useService } from '../helpers/shared.ts';

const service = useService(
  `export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }, { name: 'code', type: 'text', unique: true }, { name: 'n', type: 'number' }] },
    {
      slug: 'notes',
      access: { read: () => true, create: () => true },
      fields: [{ name: 'post', type: 'relationship', relationTo: 'posts' }, { name: 'seenBy', type: 'text' }],
      hooks: { afterRead: ({ data, req }) => ({ ...data, seenBy: req.headers['x-who'] ?? 'unknown' }) },
    },
    {
      slug: 'drafts',
      access: {
        read: ({ req }) => req.headers['x-who'] === 'reader',
        update: ({ req }) => ['reader', 'blind'].includes(req.headers['x-who']),
      },
      fields: [{ name: 'title', type: 'text' }, { name: 'secret', type: 'text', access: { read: () => false } }],
    },
    {
      slug: 'shies',
      history: 'public',
      access: { read: () => true, update: () => true },
      fields: [{ name: 'title', type: 'text' }, { name: 'secret', type: 'text', access: { read: ({ doc }) => doc.title === 'open' } }],
    },
    { slug: 'files', upload: true, fields: [] },
    {
      slug: 'locked',
      access: { update: ({ doc }) => doc.title !== 'locked', delete: () => ({ title: { equals: 'own' } }) },
      fields: [{ name: 'title', type: 'text' }],
    },
    { slug: 'laws', requireReason: true, fields: [{ name: 'text', type: 'text', required: true }], access: { create: ({ data }) => data.text !== 'no' } },
    { slug: 'people', auth: true, requireReason: true, fields: [] },
  ],
  globals: [
    { slug: 'site', fields: [{ name: 'name', type: 'text', defaultValue: 'My site' }] },
    { slug: 'unwritten', access: { update: ({ doc }) => doc !== null }, fields: [{ name: 'name', type: 'text', defaultValue: 'x' }] },
  ],
}`,
  { ANNALS_THREADS: '2' },
);

/** The actors and reasons of the events of a stream. */
function reasonsOf(stream: string): (string | undefined)[] {
  const db = new Database(join(service.data, 'log.db'), { readonly: true });
  const rows = db.prepare('SELECT body FROM events JOIN payloads USING (position) WHERE stream = ? ORDER BY version');
  const bodies = rows.pluck().all(stream) as string[];
  db.close();
  return bodies.map((body) => JSON.parse(body).context.reason);
}

const because = (reason: string) => ({ headers: { 'x-change-reason': reason } });

describe('X-Change-Reason', () => {
  it('is kept in the payload of what a write records, and nowhere in its header', async () => {
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'a' }, because('  first draft '));
    const path = `/api/collections/posts/${body.id}`;
    await service.call('PATCH', path, { title: 'b' }, because('Grüße'));
    await service.call('PATCH', path, { title: 'c' }, because(Buffer.from('Größe – 大').toString('latin1')));
    await service.call('PATCH', path, { title: 'd' }, because("UTF-8''%e5%a4%a7%20%F0%9F%8C%8D"));
    await service.call('PATCH', path, { title: 'e' });
    await service.call('DELETE', path, undefined, because("utf-8'de'weg"));
    const stream = `posts/${body.id}`;
    assert.deepEqual(reasonsOf(stream), ['first draft', 'Grüße', 'Größe – 大', '大 🌍', undefined, 'weg']);
    assert.doesNotMatch(JSON.stringify(recordedEvents(service.data, stream)), /draft/);
    assert.equal((await service.call('PATCH', '/api/globals/site', { name: 'x' }, because('why not'))).status, 200);
    assert.deepEqual(reasonsOf('globals/site'), ['why not']);
  });

  it('is 400 where it is no text of 1 to 500 characters in one line', async () => {
    const wrong: Record<string, string> = {
      '   ': 'x-change-reason must not be empty',
      "UTF-8''": 'x-change-reason must not be empty',
      ['a'.repeat(501)]: 'x-change-reason must be at most 500 characters, got 501',
      "UTF-8''%ff": 'x-change-reason must be percent-encoded UTF-8 after UTF-8\'\', got "%ff"',
      "UTF-8''a%0Ab": 'x-change-reason must be one line without control characters, got "a\\nb"',
    };
    for (const [reason, message] of Object.entries(wrong)) {
      const answer = await service.call('POST', '/api/collections/posts', { title: 'a' }, because(reason));
      assert.deepEqual([answer.status, errorsOf(answer)], [400, { 'x-change-reason': message }]);
    }
    // Characters, not bytes or UTF-16 units.
    const long = `UTF-8''${encodeURIComponent('🌍'.repeat(500))}`;
    assert.equal((await service.call('POST', '/api/collections/posts', {}, because(long))).status, 201);
  });

  it('is needed where requireReason says so, by API keys too, once the caller may write at all', async () => {
    const refused = await service.call('POST', '/api/collections/laws', { text: 'a' });
    assert.equal(refused.status, 400);
    assert.deepEqual(errorsOf(refused), {
      'x-change-reason': 'x-change-reason is required: changes of laws say why, in at most 500 characters',
    });
    assert.equal((await service.call('POST', '/api/collections/laws', { text: 'no' }, { key: null })).status, 401);
    const { body } = await service.call('POST', '/api/collections/laws', { text: 'a' }, because('asked for'));
    const path = `/api/collections/laws/${body.id}`;
    assert.equal((await service.call('PATCH', path, { text: 'b' })).status, 400);
    assert.equal((await service.call('DELETE', path)).status, 400);
    assert.equal((await service.call('DELETE', path, undefined, because('repealed'))).status, 200);
    assert.deepEqual(reasonsOf(`laws/${body.id}`), ['asked for', 'repealed']);
  });

  it('is said by the service where an account is set up', async () => {
    const setupToken = /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1];
    const first = { setupToken, email: 'ada@example.com', password: 'correct horse' };
    const { status, body } = await assertRecorded(
      service,
      () => service.call('POST', '/api/collections/people/first-user', first, { key: null }),
      ['document.created', 'setup.completed', 'password.changed', 'session.started'],
    );
    assert.equal(status, 201);
    assert.deepEqual(reasonsOf(`people/${body.user.id}`), ['set up as the first user']);
  });
});

/** A request on a connection of its own, so that both threads get their share. */
const alone = (options: CallOptions = {}) => ({ ...options, headers: { connection: 'close', ...options.headers } });

describe('ETag', () => {
  const create = async (body: object) => {
    const { body: made, headers } = await service.call('POST', '/api/collections/posts', body);
    return { path: `/api/collections/posts/${made.id}`, etag: headers.get('etag') ?? '', id: made.id as string };
  };
  const match = (etag: string) => ({ headers: { 'if-match': etag } });

  it('is the same for every answer with one version of a document, and another for the next', async () => {
    const { path, etag } = await create({ title: 'a' });
    assert.match(etag, /^"1-[0-9a-f]+"$/);
    assert.equal((await service.call('GET', path)).headers.get('etag'), etag);
    const unchanged = await service.call('PATCH', path, { title: 'a' });
    assert.equal(unchanged.headers.get('etag'), etag);
    const changed = await service.call('PATCH', path, { title: 'b' });
    assert.match(changed.headers.get('etag') ?? '', /^"2-/);
    assert.equal((await service.call('GET', path)).headers.get('etag'), changed.headers.get('etag'));
    assert.equal((await service.call('DELETE', path)).headers.get('etag'), null);
  });

  it('changes with what else stands in an answer: related documents, joins and what hooks make', async () => {
    const { id } = await create({ title: 'a' });
    const { body: note } = await service.call('POST', '/api/collections/notes', { post: id });
    const path = `/api/collections/notes/${note.id}`;
    const tags = async (query = '') => (await service.call('GET', path + query)).headers.get('etag');
    const [plain, deep] = [await tags(), await tags('?depth=1')];
    assert.notEqual(plain, deep);
    await service.call('PATCH', `/api/collections/posts/${id}`, { title: 'b' });
    assert.equal(await tags(), plain);
    assert.notEqual(await tags('?depth=1'), deep);
    // Made by a hook that knows who asks.
    const anonymous = await service.call('GET', path, undefined, { key: null });
    assert.deepEqual([anonymous.status, anonymous.body.seenBy], [200, 'unknown']);
    assert.equal((await service.call('GET', path, undefined, { headers: { 'x-who': 'ada' } })).body.seenBy, 'ada');
    assert.notEqual(
      await tags(),
      (await service.call('GET', path, undefined, { headers: { 'x-who': 'ada' } })).headers.get('etag'),
    );
  });

  it('answers 304 without a body to If-None-Match, whatever a proxy made of the tag', async () => {
    const { path, etag: compressed } = await create({ title: 'a'.repeat(5000) });
    const etag = compressed.replace('-gzip', '');
    const tags = [etag, `W/${etag}`, `"x", ${etag}`, '*', compressed];
    for (const tag of tags) {
      const answer = await service.call('GET', path, undefined, { headers: { 'if-none-match': tag } });
      const named = answer.headers.get('etag')?.replace('-gzip', '');
      assert.deepEqual([answer.status, answer.body, named], [304, null, etag], tag);
      assert.equal(answer.headers.get('vary'), 'accept-encoding,authorization,cookie,x-api-key');
      assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
    }
    assert.equal((await service.call('GET', path, undefined, { headers: { 'if-none-match': '"1-x"' } })).status, 200);
    assert.equal((await service.call('HEAD', path, undefined, { headers: { 'if-none-match': etag } })).status, 304);
    // fetch asks for gzip, and a compressed answer has a tag of its own.
    const whole = await service.call('GET', path);
    assert.deepEqual([whole.headers.get('etag'), compressed === etag], [compressed, false]);
    const site = await service.call('GET', '/api/globals/site');
    const known = { 'if-none-match': site.headers.get('etag') ?? '' };
    assert.equal((await service.call('GET', '/api/globals/site', undefined, { headers: known })).status, 304);
    // A caller who may not read it is not told that it is still the same.
    const closed = await service.call('GET', path, undefined, { key: null, headers: { 'if-none-match': '*' } });
    assert.equal(closed.status, 401);
  });

  it('lets exactly one of many writers with the same If-Match win, and tells the others what differs', async () => {
    const { path, etag, id } = await create({ title: 'a', n: 0 });
    const all = () =>
      Promise.all(Array.from({ length: 12 }, (_, n) => service.call('PATCH', path, { n: n + 1 }, alone(match(etag)))));
    const answers = await assertRecorded(service, all, [`document.updated posts/${id}`]);
    const won = answers.filter(({ status }) => status === 200);
    const lost = answers.filter(({ status }) => status === 412);
    assert.deepEqual([won.length, lost.length], [1, 11]);
    const [{ body, headers }] = won as [Answer];
    for (const { body: refused } of lost) {
      assert.deepEqual(refused, {
        statusCode: 412,
        error: 'Precondition Failed',
        message: 'the document has changed: it is at version 2, which if-match does not name',
        version: 2,
        etag: headers.get('etag'),
        fields: [{ field: 'n', before: 0, current: body.n }],
      });
    }
  });

  it('tells of earlier versions what the caller may read in them and in the document as it is', async () => {
    const { body } = await service.call('POST', '/api/collections/shies', { title: 'open', secret: 'said' });
    const path = `/api/collections/shies/${body.id}`;
    await service.call('PATCH', path, { title: 'closed', secret: 'unsaid' });
    const stale = { key: null, headers: { 'if-match': '"1-x"' } };
    const { body: refused } = await service.call('PATCH', path, { title: 'x' }, stale);
    assert.deepEqual(refused.fields, [{ field: 'title', before: 'open', current: 'closed' }]);
  });

  it('is asked by DELETE and by PATCH of a global too', async () => {
    const { path, etag } = await create({ title: 'a' });
    await service.call('PATCH', path, { title: 'b' });
    const refused = await service.call('DELETE', path, undefined, match(etag));
    assert.deepEqual([refused.status, refused.body.version], [412, 2]);
    assert.equal((await service.call('DELETE', path, undefined, match(`"7-x", W/"2-gone-gzip"`))).status, 200);
    assert.equal((await service.call('PATCH', path, {}, match('*'))).status, 404);
    const { headers } = await service.call('GET', '/api/globals/site');
    const known = match(headers.get('etag') ?? '');
    assert.equal((await service.call('PATCH', '/api/globals/site', { name: 'y' }, known)).status, 200);
    assert.equal((await service.call('PATCH', '/api/globals/site', { name: 'z' }, known)).status, 412);
    assert.equal((await service.call('PATCH', '/api/globals/site', { name: 'z' }, match('*'))).status, 200);
  });

  it('is 400 where it is malformed, or promised in vain', async () => {
    const { path } = await create({ title: 'a' });
    for (const tag of ['1-x', '"1-x', '"a" "b"', '""x', '*, "a"']) {
      const answer = await service.call('PATCH', path, { title: 'b' }, match(tag));
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, ['if-match']], tag);
    }
    const posts = '/api/collections/posts';
    const login = '/api/collections/people/login';
    for (const [method, at, header] of [
      ['POST', posts, 'if-match'],
      ['GET', posts, 'if-match'],
      ['GET', path, 'if-match'],
      ['GET', '/api/globals/site', 'if-match'],
      ['POST', login, 'if-match'],
      ['POST', login, 'idempotency-key'],
      ['PATCH', path, 'if-none-match'],
      ['POST', posts, 'if-none-match'],
    ] as const) {
      const body = method === 'GET' ? undefined : {};
      const answer = await service.call(method, at, body, { headers: { [header]: '*' } });
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, [header]], `${method} ${at}`);
    }
    assert.equal((await service.call('GET', '/api/nowhere', undefined, match('*'))).status, 404);
  });

  it('tells of a document only what the caller may see of it', async () => {
    const { body } = await service.call('POST', '/api/collections/drafts', { title: 'a', secret: 'x' });
    const path = `/api/collections/drafts/${body.id}`;
    await service.call('PATCH', path, { title: 'b', secret: 'y' });
    const change = (who: string) => {
      return service.call(
        'PATCH',
        path,
        { title: 'c' },
        { key: null, headers: { 'x-who': who, ...match('"1-x"').headers } },
      );
    };
    const blind = await change('blind');
    assert.deepEqual(Object.keys(blind.body).sort(), ['error', 'message', 'statusCode', 'version']);
    const reader = await change('reader');
    assert.deepEqual(reader.body.fields, [{ field: 'title', current: 'b' }]);
    assert.equal((await change('stranger')).status, 401);
    // Far from any version that there was.
    for (const tag of ['"9-x"', '"0-x"', '"x"', `"${'9'.repeat(400)}-x"`]) {
      const answer = await service.call('PATCH', path, {}, match(tag));
      assert.deepEqual([answer.status, answer.body.version, answer.body.fields], [412, 2, undefined], tag);
    }
  });

  it('refuses a file before its bytes are kept', async () => {
    const send = (method: string, at: string, text: string, headers: Record<string, string> = {}) => {
      const form = new FormData();
      form.set('file', new Blob([text]), 'a.txt');
      return fetch(`${service.url}${at}`, { method, body: form, headers: { 'x-api-key': apiKey, ...headers } });
    };
    const made = (await (await send('POST', '/api/collections/files', 'one')).json()) as { id: string };
    const path = `/api/collections/files/${made.id}`;
    const { status } = await send('PATCH', path, 'two', { 'if-match': '"7-x"' });
    const sha256 = createHash('sha256').update('two').digest('hex');
    const kept = readdirSync(join(service.data, 'blobs'), { recursive: true }).map(String);
    assert.deepEqual([status, kept.filter((name) => name.endsWith(sha256))], [412, []]);
    assert.equal((await send('PATCH', path, 'two', { 'if-match': '"1-x"' })).status, 200);
  });
});

describe('Idempotency-Key', () => {
  const posts = '/api/collections/posts';
  const named = (key: string, headers: Record<string, string> = {}) => ({
    headers: { ...headers, 'idempotency-key': key },
  });
  const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';

  it('gives the first answer again, for whatever write, also when the document has changed or gone since', async () => {
    const first = await service.call('POST', posts, { title: 'a', n: 1 }, named('create'));
    const repeated = (method: string, at: string, body: object | undefined, options: CallOptions) =>
      assertRecorded(service, () => service.call(method, at, body, options), []);
    const again = await repeated('POST', posts, { n: 1, title: 'a' }, named('create'));
    assert.deepEqual([again.status, again.body], [201, first.body]);
    assert.deepEqual([isReplayed(first), isReplayed(again)], [false, true]);
    assert.equal(again.headers.get('etag'), first.headers.get('etag'));

    const path = `${posts}/${first.body.id}`;
    const match = { 'if-match': first.headers.get('etag') ?? '' };
    const changed = await service.call('PATCH', path, { title: 'b' }, named('change', match));
    const nothing = await repeated('PATCH', path, { title: 'b' }, named('nothing'));
    await service.call('PATCH', path, { title: 'c' });
    const changedAgain = await repeated('PATCH', path, { title: 'b' }, named('change', match));
    assert.deepEqual([changedAgain.status, changedAgain.body, isReplayed(changedAgain)], [200, changed.body, true]);
    const nothingAgain = await repeated('PATCH', path, { title: 'b' }, named('nothing'));
    assert.deepEqual([nothingAgain.body, isReplayed(nothingAgain)], [nothing.body, true]);
    assert.equal((await service.call('GET', path)).body.title, 'c');

    const gone = await service.call('DELETE', path, undefined, named('end'));
    const goneAgain = await repeated('DELETE', path, undefined, named('end'));
    assert.deepEqual([goneAgain.status, goneAgain.body, isReplayed(goneAgain)], [200, gone.body, true]);
    const patched = await repeated('PATCH', path, { title: 'b' }, named('change', match));
    assert.deepEqual([patched.status, patched.body], [200, changed.body]);

    const site = await service.call('PATCH', '/api/globals/site', { name: 'k' }, named('site'));
    await service.call('PATCH', '/api/globals/site', { name: 'l' });
    const siteAgain = await repeated('PATCH', '/api/globals/site', { name: 'k' }, named('site'));
    assert.deepEqual([siteAgain.body, isReplayed(siteAgain)], [site.body, true]);
  });

  it('gives the defaults again of a global that was never written, also when it was since', async () => {
    const path = '/api/globals/unwritten';
    const send = () => service.call('PATCH', path, {}, named('nothing'));
    const [nothing, again] = await assertRecorded(service, async () => [await send(), await send()] as const, []);
    assert.deepEqual([again.status, again.body, isReplayed(again)], [200, nothing.body, true]);
    assert.deepEqual(again.body, { createdAt: null, updatedAt: null, name: 'x' });
    await service.call('PATCH', path, { name: 'y' });
    assert.deepEqual((await service.call('PATCH', path, {}, named('nothing'))).body, nothing.body);
  });

  it('is 422 with another body, reason or condition, and another key on another route', async () => {
    const body = { title: 'x' };
    const { body: made } = await service.call('POST', posts, body, named('other'));
    assert.equal((await service.call('POST', posts, { title: 'y' }, named('other'))).status, 422);
    assert.equal((await service.call('POST', posts, body, named('other', { 'x-change-reason': 'so' }))).status, 422);
    const path = `${posts}/${made.id}`;
    assert.equal((await service.call('PATCH', path, body, named('other'))).status, 200);
    assert.equal((await service.call('PATCH', path, body, named('other', { 'if-match': '*' }))).status, 422);
  });

  it('executes one of many at once, in whatever thread they arrive, and all get its answer', async () => {
    const many = (send: () => Promise<Answer>, type: string) =>
      assertRecorded(service, () => Promise.all(Array.from({ length: 10 }, send)), [type]);
    const answers = await many(
      () => service.call('POST', posts, { code: 'once' }, alone(named('race'))),
      'document.created',
    );
    const ids = new Set(answers.map(({ body }) => body.id));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.deepEqual([ids.size, answers.filter((one) => !isReplayed(one)).length], [1, 1]);
    const path = `${posts}/${[...ids][0]}`;
    const etag = answers[0]?.headers.get('etag') ?? '';
    const changes = await many(
      () => service.call('PATCH', path, { n: 5 }, alone(named('n', { 'if-match': etag }))),
      'document.updated',
    );
    assert.deepEqual(
      changes.map(({ status, body }) => [status, body.n]),
      Array(10).fill([200, 5]),
    );
    const ends = await many(() => service.call('DELETE', path, undefined, alone(named('end'))), 'document.deleted');
    assert.deepEqual(
      ends.map(({ status }) => status),
      Array(10).fill(200),
    );
  });

  it('keeps nothing of what was refused', async () => {
    assert.equal((await service.call('POST', posts, { title: 3 }, named('refused'))).status, 400);
    assert.equal((await service.call('POST', posts, { title: 'ok' }, named('refused'))).status, 201);
  });

  it('asks again whether the caller may', async () => {
    const body = { title: 'a' };
    const { body: made } = await service.call('POST', '/api/collections/locked', body);
    const path = `/api/collections/locked/${made.id}`;
    const login = { email: 'ada@example.com', password: 'correct horse' };
    const { body: session } = await service.call('POST', '/api/collections/people/login', login, { key: null });
    const asAda = { key: null, headers: { authorization: `Bearer ${session.token}`, 'idempotency-key': 'k' } };
    assert.equal((await service.call('PATCH', path, { title: 'b' }, asAda)).status, 200);
    assert.equal((await service.call('PATCH', path, { title: 'b' }, asAda)).status, 200);
    // Another caller's key is another key.
    assert.equal(isReplayed(await service.call('PATCH', path, { title: 'b' }, named('k'))), false);
    await service.call('PATCH', path, { title: 'locked' });
    assert.equal((await service.call('PATCH', path, { title: 'b' }, asAda)).status, 403);
    assert.equal((await service.call('DELETE', path, undefined, { ...asAda })).status, 403);
    await service.call('PATCH', path, { title: 'own' });
    const end = await service.call('DELETE', path, undefined, asAda);
    const again = await service.call('DELETE', path, undefined, asAda);
    assert.deepEqual([end.status, again.status, again.body, isReplayed(again)], [200, 200, end.body, true]);
  });

  it('is 400 where it cannot be, of an anonymous caller, and beside a password', async () => {
    for (const key of ['', 'a b', 'ä', 'a'.repeat(256)]) {
      const answer = await service.call('POST', posts, {}, named(key));
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, ['idempotency-key']], key);
    }
    assert.equal((await service.call('POST', posts, {}, named('~'.repeat(255)))).status, 201);
    const anonymous = await service.call('POST', '/api/collections/notes', {}, { key: null, ...named('k') });
    assert.equal(anonymous.status, 400);
    const account = { email: 'x@example.com', password: 'correct horse' };
    const secret = await service.call('POST', '/api/collections/people', account, named('k'));
    assert.equal(secret.status, 400);
  });

  it('keeps neither keys nor bodies, but hashes that cannot be tried', async () => {
    await service.call('POST', posts, { title: 'plain words' }, named('plain-key'));
    const db = new Database(join(service.data, 'log.db'), { readonly: true });
    const rows = db.prepare('SELECT key, fingerprint FROM commands').all() as { key: string; fingerprint: string }[];
    db.close();
    assert.ok(rows.length > 5);
    for (const row of rows) assert.match(`${row.key} ${row.fingerprint}`, /^[\w-]{43} [\w-]{43}$/);
  });

  it('holds for files, by their bytes', async () => {
    const send = async (text: string) => {
      const form = new FormData();
      form.set('file', new Blob([text]), 'a.txt');
      const headers = { 'x-api-key': apiKey, 'idempotency-key': 'file' };
      const response = await fetch(`${service.url}/api/collections/files`, { method: 'POST', body: form, headers });
      return { status: response.status, body: (await response.json()) as { id: string } };
    };
    const [first, again, other] = await assertRecorded(
      service,
      async () => [await send('same'), await send('same'), await send('else')] as const,
      ['document.created'],
    );
    assert.deepEqual([again.status, again.body, other.status], [201, first.body, 422]);
  });
});
