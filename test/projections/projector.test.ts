import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { EventType } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { openProjector } from '../../projections/tables/projector.ts';
import { createIndexes, createTables, projectionHash, tablesOf } from '../../projections/tables/tables.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { runsOf } from '../helpers/runs.ts';
import { anyText } from '../helpers/text.ts';
import { dump } from './directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', unique: true },
        { name: 'count', type: 'number', index: true },
        { name: 'isOpen', type: 'boolean' },
        { name: 'seo', type: 'object', fields: [{ name: 'code', type: 'text', unique: true }] },
        { name: 'tags', type: 'relationship', relationTo: 'tags', hasMany: true },
        { name: 'author', type: 'relationship', relationTo: 'tags' },
        { name: 'extra', type: 'json' },
      ],
    },
    { slug: 'tags', fields: [{ name: 'name', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
};

const { schema } = checkConfig(config);
const tables = tablesOf(schema);
const upcaster = compileUpcaster([{ position: 1, schema }]);

function time(position: number): string {
  return new Date(Date.parse('2026-11-20T12:00:00.000Z') + position).toISOString();
}

/** Turns streams, types and data into recorded events at the positions 1, 2, 3 … */
function recorded(...events: [stream: string, type: EventType, data: JsonObject][]): RecordedEvent[] {
  const versions = new Map<string, number>();
  return events.map(([stream, type, data], index) => {
    const version = (versions.get(stream) ?? 0) + 1;
    versions.set(stream, version);
    const times: JsonObject = { createdAt: time(index + 1), updatedAt: time(index + 1) };
    const whole: JsonObject = type === 'document.created' ? { ...times, ...data } : data;
    const actor = { type: 'anonymous' };
    return { header: { position: index + 1, stream, version, type, actor } as Header, data: whole, context: {} };
  });
}

function rootAfter(position: number): Buffer {
  return Buffer.alloc(32, position);
}

function newReadFile(): Sqlite {
  const db = openDatabase(':memory:', { durability: 'off' });
  createTables(db, tables);
  return db;
}

/** Applies events in batches of these sizes, the last one over and over. */
function applied(events: readonly RecordedEvent[], sizes: readonly number[]): Sqlite {
  const db = newReadFile();
  const projector = openProjector(db, { tables, upcaster });
  let from = 0;
  for (let turn = 0; from < events.length; turn += 1) {
    const to = Math.min(events.length, from + (sizes[Math.min(turn, sizes.length - 1)] as number));
    projector.apply(events.slice(from, to), rootAfter(to));
    from = to;
  }
  createIndexes(db, tables);
  return db;
}

function rows(db: Sqlite, sql: string): unknown[] {
  return db.prepare(sql).all();
}

describe('the versions of a document', () => {
  const life = recorded(
    ['posts/1', 'document.created', { title: 'a', count: 1 }],
    ['posts/2', 'document.created', { title: 'b' }],
    ['posts/1', 'document.updated', { set: { title: 'c', updatedAt: time(3) } }],
    ['posts/1', 'document.updated', { set: { count: 2, updatedAt: time(4) }, unset: ['title'] }],
    ['posts/1', 'document.deleted', {}],
    ['posts/2', 'document.updated', { set: { title: 'd', updatedAt: time(6) } }],
    ['posts/1', 'document.created', { title: 'again' }],
    ['posts/1', 'document.updated', { set: { count: 9, updatedAt: time(8) } }],
    ['posts/2', 'document.deleted', {}],
  );

  it('are kept with the positions between which each held, through create, update, delete and re-create', () => {
    for (const sizes of [[1], [2, 3, 1], [9]]) {
      const db = applied(life, sizes);
      const versions = `SELECT id, version, valid_from, valid_to, "f.title" AS title, "f.count" AS count
                        FROM "versions posts" ORDER BY valid_from`;
      assert.deepEqual(rows(db, versions), [
        { id: '1', version: 1, valid_from: 1, valid_to: 3, title: 'a', count: 1 },
        { id: '2', version: 1, valid_from: 2, valid_to: 6, title: 'b', count: null },
        { id: '1', version: 2, valid_from: 3, valid_to: 4, title: 'c', count: 1 },
        { id: '1', version: 3, valid_from: 4, valid_to: 5, title: null, count: 2 },
        { id: '2', version: 2, valid_from: 6, valid_to: 9, title: 'd', count: null },
        { id: '1', version: 5, valid_from: 7, valid_to: 8, title: 'again', count: null },
      ]);
      const live = `SELECT id, key, version, valid_from, "f.title" AS title, "f.count" AS count FROM "documents posts"`;
      assert.deepEqual(rows(db, live), [{ id: '1', key: 7, version: 6, valid_from: 8, title: 'again', count: 9 }]);
    }
  });

  it('hold the whole document as it was sent then, every field present, in the order of the configuration', () => {
    const db = applied(life, [4]);
    const doc = (from: number) =>
      db.prepare('SELECT doc FROM "past texts posts" WHERE valid_from = ?').pluck().get(from);
    const rest = '"isOpen":null,"seo":null,"tags":[],"author":null,"extra":null}';
    const times = (createdAt: string, updatedAt: string) => `"createdAt":"${createdAt}","updatedAt":"${updatedAt}"`;
    assert.equal(doc(1), `{"id":"1",${times(time(1), time(1))},"title":"a","count":1,${rest}`);
    assert.equal(doc(4), `{"id":"1",${times(time(1), time(4))},"title":null,"count":2,${rest}`);
  });

  it('never overlap: at every position a document has at most one version, live ones included', () => {
    const db = applied(life, [3]);
    const spans = rows(
      db,
      `SELECT id, valid_from AS since, valid_to AS until FROM "versions posts"
       UNION ALL SELECT id, valid_from, 1e9 FROM "documents posts" ORDER BY id, since`,
    ) as { id: string; since: number; until: number }[];
    for (const [index, { id, since, until }] of spans.entries()) {
      const next = spans[index + 1];
      assert.ok(since < until && (next?.id !== id || until <= next.since));
    }
  });

  it('make no documents of other streams and of collections that are gone, and move the checkpoint past them', () => {
    const events = recorded(
      ['system/schema', 'schema.changed', { schema: {} }],
      ['gone/1', 'document.created', { title: 'x' }],
      ['globals/gone', 'global.updated', { set: { title: 'x' } }],
      ['site/1', 'document.created', { motto: 'a collection named like a global' }],
    );
    const db = applied(events, [4]);
    const empty = applied([], [1]);
    // A projection of all events has them too.
    const ofDocuments = (file: Sqlite) =>
      dump(file).replace(/^-- (checkpoint|audit|audit_words|audit_batches)$[\s\S]*?(?=^-- )/gm, '');
    assert.equal(ofDocuments(db), ofDocuments(empty));
    assert.deepEqual(rows(db, 'SELECT * FROM checkpoint'), [{ position: 4, root: rootAfter(4) }]);
  });

  it('of a global are kept like those of a document', () => {
    const db = applied(
      recorded(
        ['globals/site', 'global.updated', { set: { motto: 'a', createdAt: time(1), updatedAt: time(1) } }],
        ['globals/site', 'global.updated', { set: { motto: 'b', updatedAt: time(2) } }],
      ),
      [2],
    );
    assert.deepEqual(
      rows(db, 'SELECT id, version, valid_from, valid_to, "f.motto" AS m FROM "versions globals/site"'),
      [{ id: 'site', version: 1, valid_from: 1, valid_to: 2, m: 'a' }],
    );
    assert.deepEqual(rows(db, 'SELECT id, version, created_at, "f.motto" AS m FROM "documents globals/site"'), [
      { id: 'site', version: 2, created_at: Date.parse(time(1)), m: 'b' },
    ]);
  });
});

/** The rows and counts of each collection and global. */
function countsOf(db: Sqlite): { kept: object; counted: object } {
  const kept = db.prepare('SELECT key, documents FROM counts').raw().all() as [string, number][];
  const counted = tables.map(({ key, documents }) => [
    key,
    db.prepare(`SELECT count(*) FROM ${documents}`).pluck().get(),
  ]);
  return { kept: Object.fromEntries(kept), counted: Object.fromEntries(counted) };
}

describe('the counts of documents', () => {
  it('follow creates, deletes and re-creates, however many of them are in a batch, in a bulk load too', () => {
    const steps = recorded(
      ['posts/1', 'document.created', {}],
      ['posts/2', 'document.created', {}],
      ['posts/1', 'document.deleted', {}],
      ['tags/1', 'document.created', {}],
      ['posts/1', 'document.created', {}],
      ['globals/site', 'global.updated', { set: { motto: 'a' } }],
      ['posts/2', 'document.updated', { set: { title: 'b' } }],
      ['globals/site', 'global.updated', { set: { motto: 'b' } }],
      ['posts/2', 'document.deleted', {}],
      ['posts/2', 'document.created', {}],
      ['posts/1', 'document.deleted', {}],
      ['posts/2', 'document.deleted', {}],
    );
    const expected = [1, 2, 1, 1, 2, 2, 2, 2, 1, 2, 1, 0];
    for (const [index, posts] of expected.entries()) {
      const kept = { posts, tags: Number(index >= 3), 'globals/site': Number(index >= 5) };
      for (const sizes of [[1], [2], [3, 1], [5], [12]]) {
        const db = applied(steps.slice(0, index + 1), sizes);
        assert.deepEqual(countsOf(db), { kept, counted: kept }, `${index + 1} events in batches of ${sizes}`);
      }
    }
    const bulk = newReadFile();
    bulk.exec('BEGIN');
    openProjector(bulk, { tables, upcaster }).apply(steps.slice(0, 10), rootAfter(10));
    bulk.exec('COMMIT');
    assert.deepEqual(countsOf(bulk).kept, { posts: 2, tags: 1, 'globals/site': 1 });
  });
});

describe('lists of related ids', () => {
  it('are followed backwards as they are now: added, taken away, repeated, and gone with their document', () => {
    const steps = recorded(
      ['posts/1', 'document.created', { tags: ['x', 'y', 'x'] }],
      ['posts/2', 'document.created', { tags: ['y'] }],
      ['posts/1', 'document.updated', { set: { tags: ['y', 'z'] } }],
      ['posts/1', 'document.updated', { set: { title: 'no matter' } }],
      ['posts/2', 'document.deleted', {}],
      ['posts/2', 'document.created', { tags: ['z'] }],
      ['posts/1', 'document.updated', { set: { tags: [] } }],
    );
    const expected = ['x<1 y<1', 'x<1 y<1 y<2', 'y<1 y<2 z<1', 'y<1 y<2 z<1', 'y<1 z<1', 'y<1 z<1 z<2', 'z<2'];
    for (const [index, links] of expected.entries()) {
      for (const size of [1, 2, 7]) {
        const db = applied(steps.slice(0, index + 1), [size]);
        const found = rows(db, `SELECT target || '<' || source AS link FROM "links posts" ORDER BY 1`) as {
          link: string;
        }[];
        assert.equal(found.map(({ link }) => link).join(' '), links, `after ${index + 1} events, ${size} at a time`);
      }
    }
  });
});

/** Events that could have been: nothing is updated or deleted that is not there. */
const history: fc.Arbitrary<RecordedEvent[]> = fc
  .array(
    fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      step: fc.constantFrom('write', 'write', 'write', 'delete', 'global'),
      values: fc.record(
        {
          title: fc.option(anyText({ maxLength: 5 })),
          count: fc.option(fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))),
          isOpen: fc.option(fc.boolean()),
          seo: fc.option(fc.record({ code: fc.option(fc.string({ maxLength: 2 })) })),
          tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 4 }),
          author: fc.option(fc.constantFrom('x', 'y')),
          extra: fc.jsonValue({ maxDepth: 2 }),
        },
        { requiredKeys: [] },
      ),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    const alive = new Set<string>();
    const events = steps.flatMap(({ id, step, values }, index): [string, EventType, JsonObject][] => {
      const stream = `posts/${id}`;
      const data = JSON.parse(JSON.stringify(values)) as JsonObject;
      if (step === 'global') return [['globals/site', 'global.updated', { set: { motto: data.title ?? null } }]];
      if (step === 'delete') return alive.delete(stream) ? [[stream, 'document.deleted', {}]] : [];
      if (alive.has(stream)) {
        const unset = index % 3 === 0 ? ['author'] : [];
        return [[stream, 'document.updated', { set: { ...data, updatedAt: time(index) }, unset }]];
      }
      alive.add(stream);
      return [[stream, 'document.created', data]];
    });
    return recorded(...events);
  });

describe('a read file', () => {
  it('is the same, byte for byte, for events one by one, in any batches, or all at once', () => {
    fc.assert(
      fc.property(history, fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (events, sizes) => {
        const live = dump(applied(events, [1]));
        assert.equal(dump(applied(events, sizes)), live, 'in chunks');
        assert.equal(dump(applied(events, [Math.max(1, events.length)])), live, 'as a whole');
      }),
      { numRuns: runsOf(120) },
    );
  });

  it('counts its documents right after any history', () => {
    fc.assert(
      fc.property(history, fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }), (events, sizes) => {
        const { kept, counted } = countsOf(applied(events, sizes));
        assert.deepEqual(kept, counted);
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('can be caught up from any checkpoint, also by another projector', () => {
    fc.assert(
      fc.property(history, fc.nat(), (events, random) => {
        const whole = dump(applied(events, [5000]));
        const stop = events.length === 0 ? 0 : random % events.length;
        const db = newReadFile();
        const first = openProjector(db, { tables, upcaster });
        first.apply(events.slice(0, stop), rootAfter(stop));
        const second = openProjector(db, { tables, upcaster });
        assert.equal(second.checkpoint()?.position ?? 0, stop);
        second.apply(events.slice(stop), rootAfter(events.length));
        createIndexes(db, tables);
        assert.equal(dump(db), whole);
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('takes a batch with its checkpoint or not at all', () => {
    const events = recorded(
      ['posts/1', 'document.created', { title: 'a', tags: ['x'] }],
      ['posts/2', 'document.created', { title: 'b' }],
      ['posts/1', 'document.updated', { set: { title: 'c' } }],
    );
    const db = newReadFile();
    const projector = openProjector(db, { tables, upcaster });
    projector.apply(events.slice(0, 1), rootAfter(1));
    const before = dump(db);
    db.exec(`CREATE TEMP TRIGGER full BEFORE INSERT ON checkpoint BEGIN SELECT RAISE(ABORT, 'no room'); END`);
    assert.throws(() => projector.apply(events.slice(1), rootAfter(3)), /no room/);
    assert.equal(dump(db), before);
    assert.deepEqual(projector.checkpoint(), { position: 1, root: rootAfter(1) });
    db.exec('DROP TRIGGER temp.full');
    projector.apply(events.slice(1), rootAfter(3));
    assert.deepEqual(projector.checkpoint(), { position: 3, root: rootAfter(3) });
    const whole = applied(events, [3]);
    createIndexes(db, tables);
    assert.equal(dump(db), dump(whole));
  });

  it('is told apart from one with a single other byte by the dump that these tests compare', () => {
    const events = recorded(['posts/1', 'document.created', { title: 'a', tags: ['x'] }]);
    const db = applied(events, [1]);
    const before = dump(db);
    const seen = new Set([before]);
    for (const sql of [
      `UPDATE "texts posts" SET doc = replace(doc, '"a"', '"b"')`,
      `UPDATE "documents posts" SET "f.title" = 'b'`,
      `UPDATE checkpoint SET root = zeroblob(32)`,
      `INSERT INTO "links posts" VALUES ('tags', 'z', '1', 1)`,
      `DROP INDEX "documents posts updated"`,
    ]) {
      db.exec(sql);
      seen.add(dump(db));
    }
    assert.equal(seen.size, 6);
  });
});

describe('the documents of an upload collection', () => {
  const files = checkConfig({
    collections: [{ slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text' }] }],
  });
  const described = tablesOf(files.schema);
  const file = {
    filename: 'a b.png',
    mimeType: 'image/png',
    filesize: 3,
    width: 1,
    height: 2,
    sha256: 'ab'.repeat(32),
  };

  it('have a URL that no event holds, in every version', () => {
    const db = openDatabase(':memory:', { durability: 'off' });
    createTables(db, described);
    openProjector(db, { tables: described, upcaster: compileUpcaster([{ position: 1, schema: files.schema }]) }).apply(
      recorded(
        ['files/1', 'document.created', { ...file, alt: 'A' }],
        ['files/1', 'document.updated', { set: { filename: 'c.png', updatedAt: time(2) } }],
        ['files/2', 'document.created', { alt: 'from before it took files' }],
      ),
      rootAfter(3),
    );
    const urls = (sql: string) => rows(db, sql).map((row) => Object.values(row as object)[0]);
    assert.deepEqual(urls('SELECT "f.url" FROM "documents files" ORDER BY key'), ['/api/media/files/1/c.png', null]);
    assert.deepEqual(urls(`SELECT doc ->> 'url' FROM "texts files" ORDER BY key`), ['/api/media/files/1/c.png', null]);
    assert.deepEqual(urls(`SELECT doc ->> 'url' FROM "past texts files"`), ['/api/media/files/1/a%20b.png']);
    assert.deepEqual(urls('SELECT "f.filesize" FROM "documents files" ORDER BY key'), [3, null]);
  });

  it('are built anew when a collection begins to take files', () => {
    const fields = [{ name: 'alt', type: 'text' }, ...(files.schema.collections[0]?.fields ?? []).slice(0, 7)];
    const { schema: plain } = checkConfig({ collections: [{ slug: 'files', fields }] });
    const upcaster = compileUpcaster([]);
    assert.notEqual(projectionHash(plain, upcaster), projectionHash(files.schema, upcaster));
  });
});
