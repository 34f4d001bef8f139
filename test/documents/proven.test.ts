import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openDatabase } from '../../storage/sqlite.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { errorsOf } from '../helpers/shared.ts';

const service = useServiceHere(
  `export default {
    audit: ({ apiKey }) => apiKey !== null,
    collections: [
      {
        slug: 'posts',
        history: 'public',
        access: { read: ({ doc }) => doc?.title !== 'Hidden' },
        fields: [
          { name: 'title', type: 'text' },
          { name: 'secret', type: 'text', access: { read: ({ user }) => user !== null } },
          { name: 'parent', type: 'relationship', relationTo: 'posts' },
          { name: 'children', type: 'join', collection: 'posts', on: 'parent' },
        ],
      },
    ],
    globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
  }`,
  { verifyPercent: 0 },
);
const posts = '/api/collections/posts';
let id = '';
const get = (query: string, of = id, options = {}) =>
  service.call('GET', `${posts}/${of}?${query}`, undefined, options);

before(async () => {
  id = (await service.call('POST', posts, { title: 'One', secret: 's' })).body.id;
  await service.call('PATCH', `${posts}/${id}`, { title: 'Two' });
  await service.call('PATCH', `${posts}/${id}`, { title: 'Three' });
});

describe('A document as of then that is to be proven', () => {
  it('is the one of the read tables while these are right, without what points at it', async () => {
    for (const position of [2, 3, 4]) {
      const { children, ...told } = (await get(`asOf=${position}`)).body;
      assert.deepEqual(children, []);
      const proven = await get(`asOf=${position}&proven=true`);
      assert.deepEqual(proven.body, told);
      assert.equal(proven.headers.get('annals-position'), String(position));
      assert.deepEqual((await get(`asOf=${position}&proven=false`)).body, { ...told, children });
    }
    assert.equal((await get('asOf=1&proven=true')).status, 404);
  });

  it('is made of its events if the read tables were altered, and a 500 if an event was', async () => {
    const within = (name: string, sql: string) => {
      const db = openDatabase(join(service.data, name));
      db.exec(sql);
      db.close();
    };
    const read = readdirSync(service.data).find((name) => /^read-\w+\.db$/.test(name)) ?? '';
    within(
      read,
      `UPDATE "past texts posts" SET doc = replace(doc, '"Two"', '"Too"'); UPDATE "texts posts" SET doc = replace(doc, '"Three"', '"Tree"')`,
    );
    assert.equal((await get('asOf=3')).body.title, 'Too');
    assert.equal((await get('asOf=3&proven=true')).body.title, 'Two');
    assert.equal((await get('asOf=4&proven=true')).body.title, 'Three');
    within(
      'log.db',
      `DROP TRIGGER payloads_update; UPDATE payloads SET body = replace(body, 'Two', 'Too') WHERE position = 3`,
    );
    const { status, body } = await get('asOf=4&proven=true');
    assert.equal(status, 500);
    assert.match(body.message, /^event 3 of the log was altered/);
    within('log.db', `UPDATE payloads SET body = replace(body, 'Too', 'Two') WHERE position = 3`);
  });

  it('is shown as far as the caller may read it', async () => {
    const anonymous = { key: null };
    const { status, body } = await get('asOf=2&proven=true', id, anonymous);
    assert.deepEqual([status, body.title, 'secret' in body], [200, 'One', false]);
    const hidden = (await service.call('POST', posts, { title: 'Hidden' })).body.id;
    const { size } = (await service.call('GET', '/api/audit/log')).body;
    await service.call('PATCH', `${posts}/${hidden}`, { title: 'Seen' });
    const refusal = async () => {
      const [plain, proven] = [`asOf=${size}`, `asOf=${size}&proven=true`];
      const answer = await get(proven, hidden, anonymous);
      assert.deepEqual(answer.body, (await get(plain, hidden, anonymous)).body);
      return answer.status;
    };
    assert.equal(await refusal(), 401, 'hidden then');
    await service.call('DELETE', `${posts}/${hidden}`);
    assert.equal(await refusal(), 404, 'gone today');
    assert.equal((await get(`asOf=${size}&proven=true`, hidden)).body.title, 'Hidden');
  });

  it('is refused in words without asOf, with what is not made of its events, and on other routes', async () => {
    const refused = async (path: string) => {
      const answer = await service.call('GET', path);
      assert.equal(answer.status, 400, path);
      return errorsOf(answer);
    };
    assert.match((await refused(`${posts}/${id}?proven=true`)).proven ?? '', /^proven goes with asOf only/);
    assert.match(
      (await refused(`${posts}/${id}?asOf=3&proven=yes`)).proven ?? '',
      /^proven must be true or false, got "yes"/,
    );
    const both = await refused(`${posts}/${id}?asOf=3&proven=true&depth=1&select=title`);
    assert.deepEqual(Object.keys(both), ['depth', 'select']);
    assert.match(both.depth ?? '', /^depth cannot be used with proven/);
    for (const path of [
      `${posts}?asOf=3&`,
      `${posts}/count?asOf=3&`,
      '/api/globals/site?asOf=3&',
      '/api/schemas?asOf=3&',
    ])
      assert.match((await refused(`${path}proven=true`)).proven ?? '', /^proven is not a query parameter/);
  });
});
