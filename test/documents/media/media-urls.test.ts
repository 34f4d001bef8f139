import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { createClient } from '../../../client/index.ts';
import { startHere, useServiceHere } from '../../helpers/embedded.ts';
import { apiKey } from '../../helpers/service.ts';
import { recordedEvents } from '../../helpers/shared.ts';

const yes = () => true;
const config = {
  collections: [
    { slug: 'pictures', upload: true, access: { read: yes }, fields: [{ name: 'alt', type: 'text' }] },
    {
      slug: 'posts',
      access: { read: yes },
      fields: [
        { name: 'url', type: 'text' },
        { name: 'cover', type: 'upload', relationTo: 'pictures' },
        { name: 'parts', type: 'array', fields: [{ name: 'picture', type: 'upload', relationTo: 'pictures' }] },
      ],
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'logo', type: 'upload', relationTo: 'pictures' }] }],
};
const pictures = '/api/collections/pictures';
const posts = '/api/collections/posts';

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
type Document = any;

async function send(url: string, method: string, name: string): Promise<Document> {
  const form = new FormData();
  form.append('file', new Blob([name]), name);
  const response = await fetch(url, { method, body: form, headers: { 'x-api-key': apiKey } });
  assert.ok(response.ok, String(response.status));
  return response.json();
}

describe('The url of a file below a mount', () => {
  const service = useServiceHere(config, { path: '/cms' });
  const get = async (path: string) => (await service.call('GET', path)).body;
  let file: Document;
  let post: Document;

  before(async () => {
    file = await send(`${service.url}${pictures}`, 'POST', 'a b.txt');
    const values = { url: '/api/media/x', cover: file.id, parts: [{ picture: file.id }, { picture: null }] };
    post = (await service.call('POST', posts, values)).body;
    await service.call('PATCH', '/api/globals/site', { logo: file.id });
  });

  it('works as it stands, wherever its document is answered', async () => {
    const { id } = file;
    const read = await service.call('GET', `${pictures}/${id}`);
    const changed = await service.call(
      'PATCH',
      `${pictures}/${id}`,
      { alt: 'x' },
      {
        headers: { 'if-match': read.headers.get('etag') ?? '' },
      },
    );
    const restored = await service.call('POST', `${pictures}/${id}/restore`, { version: 1 });
    const [list, deep, many, site] = [
      await get(pictures),
      await get(`${posts}/${post.id}?depth=2`),
      await get(`${posts}?depth=1`),
      await get('/api/globals/site?depth=1'),
    ];
    const answered = [
      file,
      read.body,
      changed.body,
      restored.body,
      list.docs[0],
      deep.cover,
      deep.parts[0].picture,
      many.docs[0].cover,
      site.logo,
    ];
    for (const [index, { url }] of answered.entries()) {
      assert.equal(url, `/cms/api/media/pictures/${id}/a%20b.txt`, String(index));
    }
    const response = await fetch(new URL(file.url, service.url));
    assert.deepEqual([response.status, await response.text()], [200, 'a b.txt']);
    const again = await service.call('GET', `${pictures}/${id}`, undefined, {
      headers: { 'if-none-match': restored.headers.get('etag') ?? '' },
    });
    assert.equal(again.status, 304);
    const gone = await send(`${service.url}${pictures}`, 'POST', 'gone.txt');
    assert.equal((await service.call('DELETE', `${pictures}/${gone.id}`)).body.url, gone.url);
  });

  it('leads to the bytes of then in what was', async () => {
    const first = await send(`${service.url}${pictures}`, 'POST', 'first.txt');
    const { headers } = await service.call('GET', `${pictures}/${first.id}?asOf=${new Date().toISOString()}`);
    const position = headers.get('annals-position');
    await send(`${service.url}${pictures}/${first.id}`, 'PATCH', 'second.txt');
    const { url } = await get(`${pictures}/${first.id}?asOf=${position}`);
    assert.equal(url, `/cms/api/media/pictures/${first.id}/first.txt?asOf=${position}`);
    const response = await fetch(new URL(url, service.url), { headers: { 'x-api-key': apiKey } });
    assert.equal(await response.text(), 'first.txt');
  });

  it('may be sent back with its document, which changes nothing', async () => {
    const document = await get(`${pictures}/${file.id}`);
    const { status, body, headers } = await service.call('PATCH', `${pictures}/${file.id}`, document);
    assert.deepEqual([status, body], [200, document]);
    assert.equal(headers.get('etag'), (await service.call('GET', `${pictures}/${file.id}`)).headers.get('etag'));
  });

  it('is stored without the path, which filters take, and recorded nowhere', async () => {
    const stored = `/api/media/pictures/${file.id}/a%20b.txt`;
    const name = readdirSync(service.data).find((one) => /^read-.*\.db$/.test(one)) ?? '';
    const db = new Database(join(service.data, name), { readonly: true });
    const texts = db.prepare('SELECT doc FROM "texts pictures"').pluck().all().join();
    db.close();
    assert.ok(texts.includes(`"url":"${stored}"`), texts);
    assert.ok(!texts.includes('/cms'));
    assert.ok(!JSON.stringify(recordedEvents(service.data)).includes('/cms'));
    const version = await get(`/api/audit/documents/pictures/${file.id}/versions/1`);
    assert.equal(version.document.url, null);
    const totalOf = async (url: string) =>
      (await get(`${pictures}?where[url][equals]=${encodeURIComponent(url)}`)).total;
    assert.deepEqual([await totalOf(stored), await totalOf(file.url)], [1, 0]);
  });

  it('is nothing that other fields of this name have', async () => {
    assert.equal((await get(`${posts}/${post.id}`)).url, '/api/media/x');
    assert.equal((await get(`${posts}/${post.id}?depth=1`)).url, '/api/media/x');
  });

  it('is the same address by the client, in both of its forms', () => {
    const client = createClient({ baseUrl: service.url });
    const whole = new URL(file.url, service.url).href;
    assert.deepEqual([client.mediaUrl(file), client.mediaUrl(file.url.slice('/cms'.length))], [whole, whole]);
    const inside = createClient({ baseUrl: 'http://10.0.0.1:4000' });
    assert.equal(inside.mediaUrl(file), `http://10.0.0.1:4000/api/media/pictures/${file.id}/a%20b.txt`);
  });
});

describe('The url of a file behind a proxy', () => {
  it('begins with the path of the base URL, whatever path the proxy calls', async (t) => {
    const { url, call } = await startHere(t, config, { baseUrl: 'https://example.org/deep/cms' });
    const file = await send(`${url}${pictures}`, 'POST', 'a.txt');
    assert.equal(file.url, `/deep/cms/api/media/pictures/${file.id}/a.txt`);
    assert.deepEqual((await call('GET', `${pictures}/${file.id}`)).body, file);
    assert.equal(await (await fetch(createClient({ baseUrl: url }).mediaUrl(file))).text(), 'a.txt');
  });

  it('is what is stored if the base URL has no path', async (t) => {
    const { url } = await startHere(t, config, { baseUrl: 'https://example.org' });
    const file = await send(`${url}${pictures}`, 'POST', 'a.txt');
    assert.equal(file.url, `/api/media/pictures/${file.id}/a.txt`);
  });
});
