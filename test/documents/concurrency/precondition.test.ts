import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertRecorded } from '../../helpers/recorded.ts';
import { type Answer, apiKey } from '../../helpers/service.ts';
import { errorsOf, useService } from '../../helpers/shared.ts';
import { alone } from './connections.ts';

const service = useService(
  `export default {
  bcryptCost: 4,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }, { name: 'n', type: 'number' }] },
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
    { slug: 'people', auth: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text', defaultValue: 'My site' }] }],
}`,
  { ANNALS_THREADS: '2' },
);

describe('If-Match', () => {
  const create = async (body: object) => {
    const { body: made, headers } = await service.call('POST', '/api/collections/posts', body);
    return { path: `/api/collections/posts/${made.id}`, etag: headers.get('etag') ?? '', id: made.id as string };
  };
  const match = (etag: string) => ({ headers: { 'if-match': etag } });

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
        code: 'stale',
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

  it('is 400 if it is malformed, or promised in vain', async () => {
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
    assert.deepEqual(Object.keys(blind.body).sort(), ['code', 'error', 'message', 'statusCode', 'version']);
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
