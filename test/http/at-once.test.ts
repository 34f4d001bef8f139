import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apiKey } from '../helpers/service.ts';
import { dial, eventually, logLines, received, useService } from '../helpers/shared.ts';

const service = useService(
  `export default {
    cors: ['https://app.example.org'],
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text' }], access: { read: () => true } },
      { slug: 'users', auth: { cookies: {}, useAPIKey: true }, fields: [] },
    ],
  };`,
  { ANNALS_THREADS: '1' },
);
const posts = '/api/collections/posts';

/** Names and values of the headers of an answer, in any order, without those that differ from answer to answer. */
async function headersOf(path: string, headers: Record<string, string> = {}) {
  const answer = await service.call('GET', path, undefined, { key: null, headers });
  const all = [...answer.headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  return { shown: [answer.status, ...all.sort()], body: answer.body, id: answer.headers.get('x-request-id') };
}

describe('An answer that is sent at once', () => {
  it('has the headers and the body of one that goes through all of hapi', async () => {
    const short = (await service.call('POST', posts, { title: 'short ä €' })).body;
    const long = (await service.call('POST', posts, { title: 'ä'.repeat(3000) })).body;
    const paths = [
      `${posts}/${short.id}`,
      `${posts}/${long.id}`,
      posts,
      `${posts}?limit=1&sort=createdAt`,
      '/api/docs.json',
    ];
    const identity = { 'accept-encoding': 'identity' };
    for (const path of paths) {
      for (const others of [{}, { origin: 'https://app.example.org' }, { 'x-api-key': apiKey }] as Record<
        string,
        string
      >[]) {
        const atOnce = await headersOf(path, { ...identity, ...others });
        // hapi compares a tag.
        const usual = await headersOf(path, { ...identity, ...others, 'if-none-match': '"another"' });
        assert.deepEqual(atOnce.shown, usual.shown, path);
        assert.deepEqual(atOnce.body, usual.body);
        assert.ok(atOnce.id !== null && usual.id !== null && atOnce.id !== usual.id);
      }
    }
  });

  it('is not sent to a client that has the document', async () => {
    const made = await service.call('POST', posts, { title: 'known' });
    const headers = { 'accept-encoding': 'identity', 'if-none-match': made.headers.get('etag') ?? '' };
    const again = await service.call('GET', `${posts}/${made.body.id}`, undefined, { key: null, headers });
    assert.deepEqual([again.status, again.headers.get('etag')], [304, made.headers.get('etag')]);
  });

  it('sets the cookie of a log-in', async () => {
    const account = { email: 'ada@example.com', password: 'a long password' };
    assert.equal((await service.call('POST', '/api/collections/users', account)).status, 201);
    const { status, headers } = await service.call('POST', '/api/collections/users/login', account);
    assert.equal(status, 200);
    assert.match(headers.get('set-cookie') ?? '', /^annals-users=/);
  });

  it('has its line in the log, with its status', async () => {
    const { body } = await service.call('POST', posts, { title: 'logged' });
    const { id } = await headersOf(`${posts}/${body.id}`, { 'accept-encoding': 'identity' });
    const line = await eventually(() => logLines(service).find(({ requestId }) => requestId === id));
    assert.deepEqual([line.status, line.path, typeof line.milliseconds], [200, `${posts}/${body.id}`, 'number']);
  });

  it('comes in its turn on a connection with several requests ahead, also after a longer one and an error', async () => {
    const { body } = await service.call('POST', posts, { title: 'last of all' });
    const many = await Promise.all(
      Array.from({ length: 30 }, (_, n) => service.call('POST', posts, { title: `${n} ${'x'.repeat(2000)}` })),
    );
    assert.ok(many.every(({ status }) => status === 201));
    const paths = [
      `${posts}?limit=100`,
      `${posts}/none`,
      `${posts}/${body.id}`,
      `${posts}?limit=1`,
      `${posts}/${body.id}`,
    ];
    const last = `GET ${posts}/${body.id} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nconnection: close\r\n\r\n`;
    const all = paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n\r\n`);
    const text = received(dial(service.url, all.join('') + last));
    await eventually(() => text().match(/HTTP\/1\.1 /g)?.length === 6 && text().endsWith(JSON.stringify(body)));
    const statuses = [...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    assert.deepEqual(statuses, ['200', '404', '200', '200', '200', '200']);
  });

  it('is not sent to a client that asks for its head alone', async () => {
    const { body } = await service.call('POST', posts, { title: 'head' });
    const answer = await service.call('HEAD', `${posts}/${body.id}`);
    assert.equal(answer.headers.get('content-length'), String(Buffer.byteLength(JSON.stringify(body))));
  });
});
