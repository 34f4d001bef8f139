import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { assertRecorded } from '../../helpers/recorded.ts';
import { type Answer, apiKey, type CallOptions } from '../../helpers/service.ts';
import { errorsOf, eventually, useService } from '../../helpers/shared.ts';
import { alone } from './connections.ts';

const service = useService(
  `export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }, { name: 'code', type: 'text', unique: true }, { name: 'n', type: 'number' }] },
    { slug: 'notes', access: { read: () => true, create: () => true }, fields: [] },
    { slug: 'files', upload: true, fields: [] },
    {
      slug: 'locked',
      access: { update: ({ doc }) => doc.title !== 'locked', delete: () => ({ title: { equals: 'own' } }) },
      fields: [{ name: 'title', type: 'text' }],
    },
    { slug: 'people', auth: true, fields: [] },
  ],
  globals: [
    { slug: 'site', fields: [{ name: 'name', type: 'text', defaultValue: 'My site' }] },
    { slug: 'unwritten', access: { update: ({ doc }) => doc !== null }, fields: [{ name: 'name', type: 'text', defaultValue: 'x' }] },
  ],
}`,
  { ANNALS_THREADS: '2' },
);

describe('Idempotency-Key', () => {
  const posts = '/api/collections/posts';
  const named = (key: string, headers: Record<string, string> = {}) => ({
    headers: { ...headers, 'idempotency-key': key },
  });
  const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';

  before(async () => {
    const setupToken = await eventually(() => /setup\?token=([\w-]+)/.exec(service.output().stdout)?.[1]);
    const first = { setupToken, email: 'ada@example.com', password: 'correct horse' };
    const { status } = await service.call('POST', '/api/collections/people/first-user', first, { key: null });
    assert.equal(status, 201);
  });

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

  it('makes one API key of many at once, in whatever thread they arrive, and all get its secret', async () => {
    const make = () => service.call('POST', '/api/keys', { name: 'once' }, alone(named('of-all-the-threads')));
    const answers = await assertRecorded(service, () => Promise.all(Array.from({ length: 10 }, make)), [
      'apikey.created',
    ]);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal(new Set(answers.map(({ body }) => body.secret)).size, 1);
    assert.equal(answers.filter((one) => !isReplayed(one)).length, 1);
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

  it('is 400 if it is malformed, of an anonymous caller, and beside a password', async () => {
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
