import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import type { Upcaster } from '../../events/facts/upcasters.ts';
import { matchedAt } from '../../projections/past/past.ts';
import { openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import { oldestFirst, openJoin } from '../../projections/query/joins.ts';
import { preparer } from '../../projections/query/lists.ts';
import type { Bound, Where } from '../../projections/query/where.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables, type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { readSort, type SearchReach } from '../../server/queries/paths.ts';
import { readWhereObject } from '../../server/queries/where.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { category } from '../helpers/category.ts';

/** The collections of the benchmark, and fields of the kinds that it has none of. */
const configWith = (index: boolean): Config => ({
  collections: [
    {
      slug: 'authors',
      fields: [
        { name: 'name', type: 'text' },
        { name: 'email', type: 'email', unique: true },
        { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
        { name: 'edited', type: 'join', collection: 'posts', on: 'editors' },
      ],
    },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'slug', type: 'text', unique: true },
        { name: 'body', type: 'textarea' },
        { name: 'status', type: 'select', options: ['draft', 'published'], index },
        { name: 'views', type: 'number', index },
        { name: 'publishedAt', type: 'datetime', index },
        { name: 'day', type: 'date', index },
        { name: 'isOpen', type: 'boolean', index },
        { name: 'link', type: 'url', index },
        { name: 'seo', type: 'object', fields: [{ name: 'code', type: 'text', index }] },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'editors', type: 'relationship', relationTo: 'authors', hasMany: true },
      ],
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
});

const count = 600;

/** An id of the form that the service makes, one to a millisecond. */
function idOf(index: number): string {
  const time = (Date.UTC(2026, 0, 1) + index).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

function author(index: number): JsonObject {
  return { name: `Author ${index}`, email: `a${index}@example.com` };
}

function post(index: number): JsonObject {
  const time = new Date(Date.UTC(2025, 0, 1 + ((index * 7) % count))).toISOString();
  return {
    title: `Title ${(index * 31) % count} of this`,
    slug: `post-${index}`,
    body: 'The body',
    status: index % 10 < 7 ? 'published' : 'draft',
    views: (index * 13) % count,
    publishedAt: index % 50 === 0 ? null : time,
    day: time.slice(0, 10),
    isOpen: index % 2 === 0,
    link: `https://example.com/${index % 9}`,
    seo: { code: `Code ${index}` },
    author: idOf(index % 10),
    editors: [idOf(index % 10), idOf((index + 1) % 10)],
  };
}

/** A service's read file with documents in it. */
function openWorld(index: boolean) {
  const model = checkConfig(configWith(index));
  const db = openDatabase(':memory:', { durability: 'off' });
  registerFunctions(db);
  const tables = tablesOf(model.schema);
  createTables(db, tables);
  createIndexes(db, tables);
  const documents = [
    ...Array.from({ length: 10 }, (_, at) => ['authors', idOf(at), author(at)] as const),
    ...Array.from({ length: count }, (_, at) => ['posts', idOf(10 + at), post(at)] as const),
  ];
  const events = documents.map(([slug, id, values], at) => {
    const time = new Date(Date.UTC(2026, 0, 1) + at).toISOString();
    const stream = documentStream(category(slug), id);
    const header = { stream, type: 'document.created', version: 1, position: at + 1, actor: { type: 'system' } };
    return { header, data: { id, createdAt: time, updatedAt: time, ...values } };
  });
  const set = { createdAt: '2026-01-02T00:00:00.000Z', updatedAt: '2026-01-02T00:00:00.000Z', motto: 'x' };
  const position = events.length + 1;
  const actor = { type: 'system' };
  const header = { stream: 'globals/site', type: 'global.updated', version: 1, position, actor };
  const all: object[] = [...events, { header, data: { set } }];
  const upcaster = { upcast: (_key, _header, data) => data } as Upcaster;
  openProjector(db, { tables, upcaster }).apply(all as RecordedEvent[], Buffer.alloc(32));

  const tablesAt = (slug: string) => tables.find(({ key }) => key === slug) as Tables;
  const reach = (slug: string): SearchReach => ({
    tables: tablesAt(slug),
    fields: model.collections.get(slug)?.fields ?? [],
    related: async (other) => ({ reach: reach(other), filter: null }),
  });
  return { db, tablesAt, reach };
}

const worlds = { plain: openWorld(false), indexed: openWorld(true) };
type World = typeof worlds.plain;

/** A database that keeps the text of every statement that is prepared in it. */
function listening(db: Sqlite): { db: Sqlite; heard: string[] } {
  const heard: string[] = [];
  const prepare = (sql: string) => {
    heard.push(sql);
    return db.prepare(sql);
  };
  return { db: { prepare } as unknown as Sqlite, heard };
}

/** How SQLite runs a statement: one line per table, with the indexes named as we name them. */
function planOf({ db }: World, sql: string): string {
  const values = (sql.match(/\?/g) ?? []).map(() => null);
  const named = sql.includes('@position') ? [{ position: 1, id: '' }] : [];
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values, ...named) as { detail: string }[];
  return steps
    .map(({ detail }) => detail.replace(/sqlite_autoindex_documents (\w+)_1/, 'documents $1 id'))
    .filter((detail) => !/^(CO-ROUTINE|SCAN page|SCALAR SUBQUERY|LIST SUBQUERY|SCAN CONSTANT ROW)/.test(detail))
    .join('\n');
}

type Asked = { where?: object; sort?: string; limit?: number; page?: number; after?: readonly Bound[]; count?: 'none' };

/** The plans of a list: of its page and of its total; the latter is empty if nothing is counted. */
async function plansOf(world: World, { where, sort = '-createdAt', limit = 1, page = 1, after, count }: Asked) {
  const { db, heard } = listening(world.db);
  const documents = openDocuments(db, world.tablesAt('posts'));
  const prepared = heard.length;
  const { texts } = documents.list({
    where: where ? await readWhereObject(where, world.reach('posts')) : null,
    sort: (await readSort(sort, world.reach('posts'))).keys,
    limit,
    page,
    ...(after ? { after: { mark: after, isEach: false } } : {}),
    ...(count ? { count } : {}),
  });
  assert.ok(texts.length > 0, 'an empty page is not asked for');
  const asked = heard.slice(prepared).filter((sql) => !sql.endsWith('FROM "documents posts" AS d WHERE d.id = ?'));
  const total = asked.find((sql) => sql.startsWith('SELECT count(*)'));
  return { page: planOf(world, asked.at(-1) ?? ''), total: total ? planOf(world, total) : '' };
}

/** A walk in the order of an index of `documents posts`, then the texts of the page. */
const walks = (index: string) =>
  new RegExp(
    `^SCAN d USING (COVERING )?INDEX documents posts ${index}\nSEARCH t USING INTEGER PRIMARY KEY \\(rowid=\\?\\)$`,
  );
/** A search in an index of `documents posts`; a pattern ends in `$` if nothing may be sorted after it. */
const finds = (index: string, condition: string) =>
  new RegExp(`^SEARCH d USING (COVERING )?INDEX documents posts ${index} \\(${condition}\\)\n`);
const sorts = /^USE TEMP B-TREE FOR ORDER BY$/m;

const benchmark: Record<string, Asked> = {
  R2: {},
  R3: { where: { status: { equals: 'published' }, views: { greater_than: count / 2 } }, sort: '-publishedAt' },
  R4: { where: { title: { like: 'TITLE 3' } } },
  R5: { where: { or: [{ status: { equals: 'draft' } }, { views: { greater_than: count * 0.9 } }] } },
  R7: { page: 500 },
  R8: { limit: 100 },
};

describe('a document as of a position', () => {
  it('is asked about by look-ups alone, whatever is indexed and what it points at', async () => {
    for (const world of Object.values(worlds)) {
      for (const where of [
        { status: { equals: 'draft' }, 'seo.code': { equals: 'Code 1' } },
        { 'author.name': { equals: 'Author 1' } },
        { 'author.email': { equals: 'a1@example.com' } },
        { 'editors.name': { like: 'author' }, editors: { contains: idOf(1) } },
        { 'author.id': { not_equals: idOf(1) } },
      ]) {
        const { db, heard } = listening(world.db);
        const asked = await readWhereObject(where, world.reach('posts'));
        assert.equal(typeof matchedAt(preparer(db), world.tablesAt('posts'), asked)(5, idOf(12)), 'boolean');
        const plan = planOf(world, heard.at(-1) ?? '');
        assert.match(plan, /^SEARCH versions posts USING INTEGER PRIMARY KEY \(rowid=\?\)$/m);
        if (Object.keys(where).some((path) => path.startsWith('author')))
          assert.match(plan, /^SEARCH documents authors USING INDEX documents authors id \(id=\?\)$/m);
        // But of one row, and of the items of a list.
        assert.doesNotMatch(plan, /^SCAN (?!(d|t\d+)$|t\d+ (EXISTS )?VIRTUAL TABLE)|AUTOMATIC/m, JSON.stringify(where));
      }
    }
  });
});

describe("the benchmark's lists", () => {
  it('walk by id if that is their order, whatever is indexed, and read the texts of one page', async () => {
    for (const world of Object.values(worlds)) {
      for (const name of ['R2', 'R4', 'R5', 'R7', 'R8']) {
        assert.match((await plansOf(world, benchmark[name] ?? {})).page, walks('id'), name);
      }
    }
  });

  it('of many by an indexed order walk in it, past the indexes of conditions that most documents meet (R3)', async () => {
    assert.match((await plansOf(worlds.indexed, benchmark.R3 ?? {})).page, walks('f.publishedAt'));
    assert.match((await plansOf(worlds.plain, benchmark.R3 ?? {})).page, sorts);
  });

  it('without a condition count nothing: how many documents there are is kept (R2, R7, R8)', async () => {
    for (const world of Object.values(worlds)) {
      for (const name of ['R2', 'R7', 'R8'])
        assert.equal((await plansOf(world, benchmark[name] ?? {})).total, '', name);
      const { db, heard } = listening(world.db);
      const documents = openDocuments(db, world.tablesAt('posts'));
      for (const where of [null, { and: [] }]) {
        assert.equal(documents.list({ where, sort: [], limit: 1, page: 1 }).total, count);
      }
      assert.deepEqual(
        heard.filter((sql) => sql.includes('count(*)')),
        [],
      );
      const lookup = heard.find((sql) => sql.includes('FROM counts')) ?? '';
      assert.equal(planOf(world, lookup), 'SEARCH counts USING PRIMARY KEY (key=?)');
    }
  });

  it('are counted in one index if it holds all that is asked (R5)', async () => {
    const { total } = await plansOf(worlds.indexed, benchmark.R5 ?? {});
    assert.match(total, /SEARCH d USING (COVERING )?INDEX documents posts f\.status \(k\.status=\?\)/);
    assert.match(total, /SEARCH d USING (COVERING )?INDEX documents posts f\.views \(f\.views>\?\)/);
  });

  it('look up a document, and those of its relations, by their ids (R1, R6)', () => {
    const { db, heard } = listening(worlds.plain.db);
    const documents = openDocuments(db, worlds.plain.tablesAt('authors'));
    assert.equal(documents.some([idOf(1), idOf(3)], null).size, 2);
    const byId = heard.filter((sql) => / id = (\?|\(SELECT \?\))| d\.id IN /.test(sql));
    assert.equal(byId.length, 5);
    for (const sql of byId) {
      const plan = planOf(worlds.plain, sql);
      assert.match(
        plan,
        /SEARCH (d|documents authors|v) USING (COVERING )?INDEX (documents|versions) authors id \(id=\?( AND rowid>\?)?\)/,
      );
      assert.doesNotMatch(plan, /SCAN (?!json_each)/);
    }
  });

  it('are counted no further than the choice of a plan needs, if their total is not asked for', async () => {
    const { db, heard } = listening(worlds.plain.db);
    const documents = openDocuments(db, worlds.plain.tablesAt('posts'));
    const where = await readWhereObject({ views: { greater_than: -1 } }, worlds.plain.reach('posts'));
    const page = documents.list({ where, sort: [], limit: 1, page: 1, count: 'none' });
    assert.deepEqual([page.total < count, page.hasNext], [true, true]);
    assert.match(heard.find((sql) => sql.startsWith('SELECT count(*)')) ?? '', / LIMIT \? \+ 0\)$/);
  });

  it('are counted once for as long as nothing is written', async () => {
    const { db } = worlds.plain;
    let counted = 0;
    const prepare = (sql: string) => {
      const statement = db.prepare(sql);
      const get = statement.get.bind(statement);
      statement.get = (...values) => {
        if (sql.startsWith('SELECT count(*)')) counted += 1;
        return get(...values);
      };
      return statement;
    };
    const documents = openDocuments({ prepare } as unknown as Sqlite, worlds.plain.tablesAt('posts'));
    const where = await readWhereObject({ status: { equals: 'draft' } }, worlds.plain.reach('posts'));
    for (let page = 1; page <= 3; page += 1) documents.list({ where, sort: [], limit: 1, page });
    assert.equal(counted, 1);
  });
});

describe('a kept total', () => {
  it('is brought forward by look-ups of what has changed, whatever is indexed and asked', async () => {
    const related = { author: { equals: idOf(1) }, editors: { contains: idOf(1) } };
    const wheres = [
      { status: { equals: 'published' }, views: { greater_than: 5 } },
      { or: [{ slug: { equals: 'post-1' } }, { body: { like: 'body' } }, related] },
      { id: { in: [idOf(12)] }, createdAt: { greater_than: '2026-01-01T00:00:00.000Z' } },
    ];
    for (const world of [openWorld(false), openWorld(true)]) {
      for (const where of wheres) {
        const { db, heard } = listening(world.db);
        const documents = openDocuments(db, world.tablesAt('posts'));
        const asked = await readWhereObject(where, world.reach('posts'));
        const total = documents.count(asked);
        world.db.exec('UPDATE checkpoint SET position = position + 1');
        assert.equal(documents.count(asked), total);
        const plan = planOf(world, heard.at(-1)?.replaceAll('@since', '5') ?? '');
        assert.match(plan, /^SEARCH d USING INTEGER PRIMARY KEY \(rowid=\?\)$/m);
        assert.match(plan, /^SEARCH documents posts USING INTEGER PRIMARY KEY \(rowid>\?\)$/m);
        assert.match(plan, /^SEARCH v USING INTEGER PRIMARY KEY \(rowid>\?\)$/m);
        assert.match(plan, /^SEARCH versions posts USING INTEGER PRIMARY KEY \(rowid>\?\)$/m);
        assert.doesNotMatch(plan, /^SCAN (?!t\d+ (EXISTS )?VIRTUAL TABLE)|AUTOMATIC/m, plan);
      }
    }
  });
});

describe('an index', () => {
  it('gives the order, up and down, nulls last: of numbers, dates, texts, whatever has one', async () => {
    const paths = [
      'views',
      'publishedAt',
      'day',
      'isOpen',
      'status',
      'link',
      'slug',
      'seo.code',
      'author',
      'updatedAt',
    ];
    for (const path of paths) {
      for (const direction of ['', '-']) {
        const { page } = await plansOf(worlds.indexed, { sort: direction + path });
        assert.match(page, walks(path === 'updatedAt' ? 'updated' : `f.${path}`), direction + path);
      }
    }
    for (const sort of ['id', '-id', 'createdAt', '-createdAt']) {
      assert.match((await plansOf(worlds.indexed, { sort })).page, walks('id'), sort);
    }
  });

  it('of a text sorts by a column that holds the folded text; ids and dates have no case', async () => {
    for (const sort of ['slug', 'link', 'day', 'author', 'id']) {
      const { db, heard } = listening(worlds.indexed.db);
      const { keys } = await readSort(sort, worlds.indexed.reach('posts'));
      openDocuments(db, worlds.indexed.tablesAt('posts')).list({ where: null, sort: keys, limit: 1, page: 1 });
      assert.doesNotMatch(heard.at(-1) ?? '', /fold|upper/, sort);
    }
  });

  it('finds what is equal, among some, missing, or in a range', async () => {
    const cases: [where: object, index: string, condition: string][] = [
      [{ slug: { equals: 'post-7' } }, 'f.slug', 'k.slug=\\?'],
      [{ slug: { in: ['post-7', 'post-8'] } }, 'f.slug', 'k.slug=\\?'],
      [{ 'seo.code': { equals: 'Code 7' } }, 'f.seo.code', 'k.seo.code=\\?'],
      [{ views: { equals: 7 } }, 'f.views', 'f.views=\\?'],
      [{ views: { in: [7, 8] } }, 'f.views', 'f.views=\\?'],
      [{ views: { greater_than: 597 } }, 'f.views', 'f.views>\\?'],
      [{ day: { less_than_equal: '2025-01-05' } }, 'f.day', 'f.day<\\?'],
      [{ publishedAt: { exists: false } }, 'f.publishedAt', 'f.publishedAt=\\?'],
      [{ author: { equals: idOf(3) }, title: { like: 'title 93 ' } }, 'f.author', 'f.author=\\?'],
      [{ id: { equals: idOf(77) } }, 'id', 'id=\\?'],
      [{ id: { greater_than: idOf(600) } }, 'id', 'id>\\?'],
      [{ id: { greater_than_equal: idOf(10), less_than: idOf(20) } }, 'id', 'id>\\? AND id<\\?'],
      [{ createdAt: { greater_than: '2026-01-01T00:00:00.600Z' } }, 'id', 'id>\\?'],
      [
        { createdAt: { greater_than: '2026-01-01', less_than_equal: '2026-01-01T00:00:00.015Z' } },
        'id',
        'id>\\? AND id<\\?',
      ],
    ];
    for (const [where, index, condition] of cases) {
      const { page, total } = await plansOf(worlds.indexed, { where, sort: 'title' });
      assert.match(page, finds(index, condition), JSON.stringify(where));
      assert.match(`${total}\n`, finds(index, condition), JSON.stringify(where));
    }
  });

  it('on the id serves bounds on createdAt, but not of a global, whose id is its slug', async () => {
    const site = openDocuments(worlds.plain.db, worlds.plain.tablesAt('globals/site'));
    const meets = async (where: object) =>
      site.matches('site', await readWhereObject(where, worlds.plain.reach('posts')));
    assert.equal(await meets({ createdAt: { greater_than: '2026-01-01' } }), true);
    assert.equal(await meets({ createdAt: { less_than: '2026-01-03' } }), true);
    assert.equal(await meets({ createdAt: { less_than: '2026-01-02' } }), false);
  });

  it('holds all that equality needs, texts that differ only in case told apart', async () => {
    for (const where of [
      { slug: { equals: 'post-7' } },
      { status: { equals: 'draft' } },
      { link: { in: ['a', 'b'] } },
    ]) {
      const { db, heard } = listening(worlds.indexed.db);
      const condition = await readWhereObject(where, worlds.indexed.reach('posts'));
      openDocuments(db, worlds.indexed.tablesAt('posts')).list({ where: condition, sort: [], limit: 1, page: 1 });
      const total = heard.find((sql) => sql.startsWith('SELECT count(*)')) ?? '';
      assert.match(planOf(worlds.indexed, total), /^SEARCH d USING COVERING INDEX/, JSON.stringify(where));
    }
  });

  it('serves a range and the order at once', async () => {
    const cases: [where: object, sort: string, index: string, condition: string][] = [
      [{ views: { greater_than: 100 } }, '-views', 'f.views', 'f.views>\\?'],
      [{ id: { less_than: idOf(400) } }, '-createdAt', 'id', 'id<\\?'],
      [{ id: { greater_than: idOf(30) } }, 'id', 'id', 'id>\\?'],
    ];
    for (const [where, sort, index, condition] of cases) {
      const { page } = await plansOf(worlds.indexed, { where, sort });
      assert.match(page, finds(index, condition));
      assert.doesNotMatch(page, sorts);
    }
  });

  it('serves the place that a list goes on behind, and the order, up and down', async () => {
    const cases: [sort: string, after: readonly Bound[], index: string, condition: string][] = [
      ['-createdAt', [idOf(400)], 'id', 'id<\\?'],
      ['id', [idOf(400)], 'id', 'id>\\?'],
      ['-views', [400, idOf(400)], 'f.views', 'f.views<\\?'],
      ['views', [400, idOf(400)], 'f.views', 'f.views>\\?'],
      ['-updatedAt', [Date.parse('2026-01-02T00:00:00Z') * 2, idOf(400)], 'updated', 'updated_at<\\?'],
    ];
    for (const [sort, after, index, condition] of cases) {
      const { page, total } = await plansOf(worlds.indexed, { sort, after, count: 'none' });
      assert.match(page, finds(index, condition), sort);
      assert.doesNotMatch(page, sorts, sort);
      assert.equal(total, '');
    }
  });

  it('of the order is not walked for the few that meet a condition: they are found and sorted', async () => {
    const { page } = await plansOf(worlds.indexed, { where: { views: { less_than: 5 } }, sort: '-day' });
    assert.match(page, finds('f.views', 'f.views<\\?'));
    assert.match(page, sorts);
  });

  it('finds all that meet a condition if all are asked for, as a rule on each document does', async () => {
    const asked = { where: { views: { less_than: 5 } }, sort: '-day', limit: -1 };
    assert.match((await plansOf(worlds.indexed, asked)).page, finds('f.views', 'f.views<\\?'));
  });
});

describe('across relationships', () => {
  it('a condition is met from the other side, by the indexes of both', async () => {
    const where = { 'author.email': { equals: 'a3@example.com' }, title: { like: 'title 93 ' } };
    const { total } = await plansOf(worlds.plain, { where });
    assert.match(total, /^SEARCH d USING INDEX documents posts f\.author \(f\.author=\?\)$/m);
    assert.match(total, /^SEARCH t1 USING (COVERING )?INDEX documents authors f\.email \(k\.email=\?\)$/m);
  });

  it('a list of ids is followed backwards by its links', async () => {
    const where = { editors: { contains: idOf(3) }, title: { like: 'title 93 ' } };
    const { total } = await plansOf(worlds.plain, { where });
    assert.match(total, /^SEARCH d USING INDEX documents posts id \(id=\?\)$/m);
    assert.match(total, /^SEARCH links posts USING PRIMARY KEY \(field=\? AND target=\?\)$/m);
  });

  it('a list of ids that many hold is looked into while the index of the order is walked', async () => {
    const where = { editors: { contains: idOf(3) } };
    const { page } = await plansOf(worlds.indexed, { where, sort: '-views' });
    assert.match(page, /^SCAN d USING COVERING INDEX documents posts f\.views$/m);
    assert.doesNotMatch(page, /documents posts id/);
  });

  it('a join is read from an index, in the order of creation', () => {
    for (const field of ['author', 'editors']) {
      const { db, heard } = listening(worlds.plain.db);
      const join = openJoin(db, { tables: worlds.plain.tablesAt('posts'), field, sort: oldestFirst });
      const sources = join({ ids: [idOf(3)], where: null, limit: null });
      assert.equal(sources.get(idOf(3))?.length, field === 'author' ? count / 10 : count / 5);
      const plan = planOf(worlds.plain, heard[0] ?? '');
      assert.match(plan, /^SEARCH .* USING (COVERING INDEX documents posts f\.author|PRIMARY KEY)/);
      assert.doesNotMatch(plan, /SCAN (?!json_each)/);
    }
  });
});

describe('a join with a limit', () => {
  const first = async (world: World, field: string, sort: string, where: object | null) => {
    const { db, heard } = listening(world.db);
    const tables = world.tablesAt('posts');
    const { keys } = await readSort(sort, world.reach('posts'));
    const condition = where && (await readWhereObject(where, world.reach('posts')));
    const sources = openJoin(db, { tables, field, sort: keys })({
      ids: [idOf(3), idOf(4)],
      where: condition,
      limit: 2,
    });
    assert.deepEqual(
      [...sources.values()].map(({ length }) => length),
      [2, 2],
    );
    return planOf(world, heard.at(-1) ?? '');
  };
  /**
   * The plan always sorts the documents found, which are few; it sorts all documents that point there only if no index
   * has their order.
   */
  const sortsIn = (plan: string) => plan.match(/USE TEMP B-TREE/g)?.length;

  it('reads no more than that of each document, in the order of ids, from the index of the field', async () => {
    for (const sort of ['id', '-createdAt']) {
      const plan = await first(worlds.plain, 'author', sort, null);
      assert.match(plan, /^SEARCH x USING COVERING INDEX documents posts f\.author \(f\.author=\?\)$/m, sort);
      assert.equal(sortsIn(plan), 1, plan);
      const among = await first(worlds.plain, 'author', sort, { views: { greater_than: 5 } });
      assert.match(among, /^SEARCH x USING INDEX documents posts f\.author \(f\.author=\?\)$/m, sort);
      assert.equal(sortsIn(among), 1, among);
    }
  });

  it('does so over lists of ids, from their links, which the documents are only asked for with a condition', async () => {
    for (const sort of ['id', '-createdAt']) {
      const plan = await first(worlds.plain, 'editors', sort, null);
      assert.match(plan, /^SEARCH l USING PRIMARY KEY \(field=\? AND target=\?\)$/m, sort);
      assert.doesNotMatch(plan, /SEARCH x/);
      assert.equal(sortsIn(plan), 1, plan);
      const among = await first(worlds.plain, 'editors', sort, { views: { greater_than: 5 } });
      assert.match(
        among,
        /^SEARCH l USING PRIMARY KEY \(field=\? AND target=\?\)\nSEARCH x USING INDEX documents posts id/m,
      );
      assert.equal(sortsIn(among), 1, among);
    }
  });

  it('in another order reads what points there, and nothing else', async () => {
    for (const field of ['author', 'editors']) {
      const plan = await first(worlds.indexed, field, '-views,title', null);
      assert.match(plan, /^SEARCH (x USING INDEX documents posts f\.author|l USING PRIMARY KEY)/m);
      assert.doesNotMatch(plan, /SCAN (?!w VIRTUAL)/);
      assert.equal(sortsIn(plan), 2, plan);
    }
  });
});

describe('what is kept of questions', () => {
  /** A condition on a column without an index, so that each number of texts is a statement of its own. */
  const titled = (texts: number): Where => {
    const values = Array.from({ length: texts }, () => 'x');
    return { steps: [], leaf: { name: 'title', kind: 'text' }, operator: 'in', values };
  };

  /** How often each of them is prepared, asked for in this order. */
  function preparations(wheres: readonly Where[]): number[] {
    const { db, heard } = listening(worlds.plain.db);
    const documents = openDocuments(db, worlds.plain.tablesAt('posts'));
    return wheres.map((where) => {
      const before = heard.length;
      assert.equal(documents.find(where), null);
      return heard.length - before;
    });
  }

  it('is the statement of a short one', () => {
    assert.deepEqual(preparations([titled(2), titled(2)]), [1, 0]);
  });

  it('is nothing of a long one, which would fill the memory with what is hardly asked for again', () => {
    assert.deepEqual(preparations([titled(2000), titled(2), titled(2000), titled(2)]), [1, 1, 1, 0]);
  });

  it('is bounded by the length of all', () => {
    const many = Array.from({ length: 100 }, (_, index) => titled(600 + index));
    assert.equal(preparations([...many, titled(600)]).at(-1), 1);
    assert.equal(preparations([...many.slice(0, 20), titled(600)]).at(-1), 0);
  });
});
