import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apiKey } from '../helpers/service.ts';
import { sendRaw, useService } from '../helpers/shared.ts';

const service = useService(
  `export default { collections: [
    { slug: 'authors', fields: [{ name: 'name', type: 'text' }], access: { read: () => true } },
    { slug: 'posts', fields: [
      { name: 'title', type: 'text', index: true },
      { name: 'mark', type: 'number' },
      { name: 'author', type: 'relationship', relationTo: 'authors' },
    ], access: { read: ({ req }) => req.headers['x-all'] ? true : { title: { not_equals: 'hidden' } } } },
  ] };`,
  { ANNALS_THREADS: '2' },
);
const posts = '/api/collections/posts';
const authors = '/api/collections/authors';

/** A read on a connection of its own, by either thread. */
async function read(path: string, headers = '') {
  const { body, status } = await sendRaw(
    service.url,
    `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}connection: close\r\n\r\n`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Reads over enough connections that both threads keep the answer. */
async function readOften(path: string, headers = '') {
  const answers = await Promise.all(Array.from({ length: 12 }, () => read(path, headers)));
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  return answers[0];
}

async function write(method: string, path: string, body?: object) {
  const answer = await service.call(method, path, body, { key: apiKey });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

const titles = (body: { docs: { title: string }[] }) => body.docs.map(({ title }) => title);

describe('A read that was kept', () => {
  it('shows each write that was answered, of a document and in lists, in all threads', async () => {
    const { id } = await write('POST', posts, { title: 'counted', mark: 0 });
    const list = `${posts}?where[title][equals]=counted&limit=5`;
    for (let mark = 1; mark <= 8; mark += 1) {
      await write('PATCH', `${posts}/${id}`, { mark });
      const [one, many] = await Promise.all([readOften(`${posts}/${id}`), readOften(list)]);
      assert.deepEqual([one.mark, many.docs[0].mark, many.total], [mark, mark, 1]);
    }
    await write('POST', posts, { title: 'counted', mark: 100 });
    assert.deepEqual([(await readOften(list)).total, (await readOften(posts)).docs[0].mark], [2, 100]);
    await write('DELETE', `${posts}/${id}`);
    assert.equal((await readOften(list)).total, 1);
    const gone = await service.call('GET', `${posts}/${id}`);
    assert.equal(gone.status, 404);
  });

  it('is not that of a list that asks for other documents: their changes count', async () => {
    const one = await write('POST', authors, { name: 'Ada' });
    const other = await write('POST', authors, { name: 'Bob' });
    await write('POST', posts, { title: 'first', author: one.id });
    await write('POST', posts, { title: 'second', author: other.id });
    const sorted = `${posts}?where[author][exists]=true&sort=author.name&limit=5`;
    const filtered = `${posts}?where[author.name][equals]=Ada&limit=5`;
    const populated = `${posts}?where[title][equals]=first&depth=1&limit=5`;
    assert.deepEqual(titles(await readOften(sorted)), ['first', 'second']);
    assert.deepEqual(titles(await readOften(filtered)), ['first']);
    assert.equal((await readOften(populated)).docs[0].author.name, 'Ada');
    await write('PATCH', `${authors}/${one.id}`, { name: 'Zoe' });
    assert.deepEqual(titles(await readOften(sorted)), ['second', 'first']);
    assert.deepEqual(titles(await readOften(filtered)), []);
    assert.equal((await readOften(populated)).docs[0].author.name, 'Zoe');
  });

  it('is for those who may see it: another caller has a page of their own', async () => {
    await write('POST', posts, { title: 'hidden' });
    for (let count = 0; count < 2; count += 1) {
      const few = await readOften(`${posts}?limit=100`);
      const all = await readOften(`${posts}?limit=100`, 'x-all: 1\r\n');
      assert.ok(!titles(few).includes('hidden') && titles(all).includes('hidden'));
      assert.equal(all.total, few.total + 1);
    }
  });

  it('is no longer there when it was erased', async () => {
    const { id } = await write('POST', posts, { title: 'secret of a person' });
    assert.equal((await readOften(`${posts}/${id}`)).title, 'secret of a person');
    const erased = await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    assert.ok(erased.status < 300, JSON.stringify(erased.body));
    const texts = await Promise.all(Array.from({ length: 12 }, () => read(`${posts}?limit=100`)));
    assert.ok(texts.every((body) => !JSON.stringify(body).includes('secret of a person')));
    assert.equal((await service.call('GET', `${posts}/${id}`)).status, 404);
  });
});
