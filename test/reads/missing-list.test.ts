import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import type { Where } from '../../projections/query/where.ts';
import { tablesOf } from '../../projections/tables/tables.ts';
import { missingIn, stillMissing } from '../../server/reads/missing-index.ts';
import { adviceOnMissing, nameOfMissing, openMissingList, readMissingList } from '../../server/reads/missing-list.ts';
import { temporaryFolder } from '../helpers/service.ts';

const day = 86_400_000;
const views = { collection: 'posts', field: 'views' };

describe('The list of missing indexes', () => {
  it('counts the reads of each, with the slowest, and outlives the service', async (t) => {
    const folder = temporaryFolder(t);
    const first = openMissingList(folder);
    await first.note({ collection: 'posts', field: null, milliseconds: 400 });
    await first.note({ ...views, milliseconds: 12.4 });
    first.close();
    const second = openMissingList(folder);
    await second.note({ ...views, milliseconds: 11 });
    second.close();
    const listed = readMissingList(folder, Date.now());
    assert.deepEqual(await second.all(), listed);
    assert.deepEqual(
      listed.map(({ lastAt, ...one }) => one),
      [
        { ...views, reads: 2, slowest: 12 },
        { collection: 'posts', field: null, reads: 1, slowest: 400 },
      ],
    );
    assert.deepEqual(listed.map(adviceOnMissing), [
      '2 reads took up to 12 ms by posts.views, which has no index: set index: true of that field',
      '1 read took up to 400 ms to look through all texts of posts: name the fields to search in admin.searchFields',
    ]);
  });

  it('forgets what was long ago, has a bound, and writes nothing that nothing was noted in', async (t) => {
    const folder = temporaryFolder(t);
    const list = openMissingList(folder, () => Date.now() - 31 * day);
    list.close();
    assert.deepEqual(readdirSync(folder), []);
    for (let index = 0; index < 101; index += 1) await list.note({ ...views, field: `f${index}`, milliseconds: 10 });
    const all = await list.all();
    assert.deepEqual([all.length, all.some(({ field }) => field === 'f0')], [100, false]);
    list.close();
    assert.equal(readMissingList(folder, Date.now() - 31 * day).length, 100);
    assert.deepEqual(readMissingList(folder, Date.now()), []);
    for (const text of ['', '{}', '[null, 1, {"collection": "posts"}]']) {
      writeFileSync(join(folder, 'missing-indexes.json'), text);
      assert.deepEqual(readMissingList(folder, Date.now()), [], text);
    }
  });

  it('has no longer what the configuration has made good, or has no more', () => {
    const { schema } = checkConfig({
      collections: [
        {
          slug: 'posts',
          admin: { searchFields: ['title'] },
          fields: [
            { name: 'title', type: 'text', index: true },
            { name: 'views', type: 'number' },
          ],
        },
        { slug: 'pages', fields: [{ name: 'title', type: 'text' }] },
      ],
    });
    const listed = [
      ['posts', 'title'],
      ['posts', 'gone'],
      ['posts', null],
      ['gone', 'title'],
      ['gone', null],
      ['posts', 'views'],
      ['pages', 'title'],
      ['pages', null],
    ].map(([collection, field]) => ({ collection: collection as string, field: field as string | null }));
    assert.deepEqual(stillMissing(listed, schema), listed.slice(5));
  });
});

describe('The indexes that a slow list was without', () => {
  it('are that of its order if many documents match, else that of its condition too', () => {
    const { schema } = checkConfig({
      collections: [
        {
          slug: 'posts',
          fields: [
            { name: 'status', type: 'text' },
            { name: 'views', type: 'number' },
            { name: 'place', type: 'number', index: true },
          ],
        },
      ],
    });
    const [posts] = tablesOf(schema);
    assert.ok(posts);
    const at = (name: string, kind: 'text' | 'number') => ({ steps: [], leaf: { name, kind } });
    const equals = (name: string): Where => ({ ...at(name, 'text'), operator: 'equals', values: ['x'] });
    const named = (where: Where | null, sort: string, total: number | null) => {
      const request = { where, sort: [{ ...at(sort, 'number'), isDescending: true }], limit: 10, page: 1 };
      return missingIn({ read: { kind: 'list', request }, total }, posts, false).map(nameOfMissing);
    };
    assert.deepEqual(named(equals('status'), 'views', 1001), ['posts.views']);
    assert.deepEqual(named(equals('status'), 'views', 1000), ['posts.views', 'posts.status']);
    assert.deepEqual(named(equals('status'), 'views', null), ['posts.views', 'posts.status']);
    assert.deepEqual(named(equals('status'), 'place', 5000), ['posts.status']);
    assert.deepEqual(named({ and: [equals('status'), equals('id')] }, 'place', 5000), []);
    assert.deepEqual(named(null, 'views', 100_000), ['posts.views']);
  });
});
