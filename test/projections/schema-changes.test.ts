import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import type { CollectionConfig, Config, FieldConfig } from '../../config/define.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { checkReload, dryStart, refusedOf } from '../../projections/start/dry-start.ts';
import { SchemaError } from '../../projections/start/schema-check.ts';
import { runsOf } from '../helpers/runs.ts';
import { dumpFile, openDirectory, quickFolder } from './directory.ts';

const title: FieldConfig = { name: 'title', type: 'text' };

function posts(...fields: FieldConfig[]): Config {
  return { collections: [{ slug: 'posts', fields }] };
}

/** A data directory with documents of a configuration. */
function filled(t: TestContext, config: Config, documents: readonly JsonObject[], slug = 'posts'): string {
  const folder = quickFolder();
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const directory = openDirectory(folder, config);
  for (const document of documents) directory.create(slug, document);
  directory.close();
  return folder;
}

/** But for those that SQLite keeps beside an open one. */
function filesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name));
}

/** The message of a start about a configuration, the same as that of a check beforehand. */
function changesOf(folder: string, config: Config): string[] {
  const ahead = dryStart(folder, checkConfig(config));
  const lines: string[] = [];
  openDirectory(folder, config, { onChanges: (some) => lines.push(...some) }).close();
  assert.deepEqual(
    ahead.changes.map(({ line }) => line),
    lines,
  );
  assert.deepEqual(dryStart(folder, checkConfig(config)), {
    isChanged: false,
    hasOtherRules: false,
    problems: [],
    changes: [],
    returning: [],
  });
  return lines;
}

describe('what a schema changes for documents', () => {
  it('is a removed field, with its number of documents and the field that probably takes its values', (t) => {
    const documents = [{ title: 'a', n: 1 }, { title: '', n: null }, { title: null }];
    const folder = filled(t, posts(title, { name: 'n', type: 'number' }), documents);
    const added: FieldConfig[] = [
      { name: 'headline', type: 'text' },
      { name: 'subtitle', type: 'text' },
      { name: 'size', type: 'select', options: ['s'] },
    ];
    assert.deepEqual(changesOf(folder, posts(...added)), [
      "posts.title is gone: 2 documents had a value of it; did you mean renamedFrom: 'title' in posts.subtitle or posts.headline?",
      'posts.n is gone: 1 document had a value of it',
    ]);
    assert.deepEqual(changesOf(folder, posts(...added)), [], 'told once');
  });

  it('is nothing if a field is renamed, reordered, put into a row, labelled, bound, or no document has it', (t) => {
    const before = posts(
      title,
      { name: 'old', type: 'text' },
      { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
    );
    const folder = filled(t, before, [{ title: 'a', tags: ['a'] }]);
    const after = posts(
      { name: 'tags', type: 'multiSelect', options: [{ value: 'a', label: 'A' }], maxLength: 1 },
      {
        type: 'row',
        fields: [{ name: 'headline', type: 'text', label: 'H', maxLength: 9, renamedFrom: 'title', required: true }],
      },
    );
    assert.deepEqual(changesOf(folder, after), []);
  });

  it('is a field that is required now, with or without a default, and how many lack it', (t) => {
    const documents = [{ title: 'a' }, { title: '' }, { title: null }];
    const folder = filled(t, posts(title, { name: 'tags', type: 'multiSelect', options: ['a'] }), documents);
    const after = posts(
      { ...title, required: true },
      { name: 'tags', type: 'multiSelect', options: ['a'], required: true },
      { name: 'status', type: 'text', required: true, defaultValue: 'draft' },
    );
    const rest = 'had no value of it, and have none until one is written; a default is for new documents';
    assert.deepEqual(changesOf(folder, after), [
      `posts.title is required now: 2 documents ${rest}`,
      `posts.tags is required now: 3 documents ${rest}`,
      `posts.status is required now: 3 documents ${rest}`,
    ]);
  });

  it('is an option or a block that is gone, one told for each', (t) => {
    const block = (slug: string, ...fields: FieldConfig[]) => ({ slug, fields });
    const select = (...options: string[]): FieldConfig => ({ name: 'status', type: 'select', options });
    const tags = (...options: string[]): FieldConfig => ({ name: 'tags', type: 'multiSelect', options });
    const layout = (...blocks: ReturnType<typeof block>[]): FieldConfig => ({ name: 'layout', type: 'blocks', blocks });
    const before = posts(select('a', "b'"), tags('x', 'y', 'z'), layout(block('hero', title), block('quote', title)));
    const quote = { blockType: 'quote', title: 'q' };
    const folder = filled(t, before, [
      { status: 'a', tags: ['x', 'y'], layout: [{ blockType: 'hero', title: 'h' }, quote] },
      { status: "b'", tags: ['y'], layout: [quote, quote] },
      { status: "b'", tags: [], layout: [] },
    ]);
    const after = posts(select('a', 'c'), tags('x'), layout(block('hero', { name: 'head', type: 'text' })));
    assert.deepEqual(changesOf(folder, after), [
      `posts.status has no option "b'" any more: 2 documents had it chosen, and keep it until another is`,
      'posts.tags has no option "y" any more: 2 documents had it chosen, and keep it until another is',
      "posts.layout.hero.title is gone: 1 document had a value of it; did you mean renamedFrom: 'title' in posts.layout.hero.head?",
      'posts.layout has no block "quote" any more: 2 documents had one, and keep it as it is',
    ]);
  });

  it('is another type, or another collection to point to, wherever a document has a value', (t) => {
    const people: CollectionConfig[] = ['a', 'b'].map((slug) => ({ slug, fields: [] }));
    const seo = (type: 'text' | 'number'): FieldConfig => ({
      name: 'seo',
      type: 'object',
      fields: [{ name: 'n', type }],
    });
    const list = (inner: 'array' | 'object'): FieldConfig => {
      return { name: 'list', type: 'array', fields: [{ name: 'in', type: inner, fields: [title] }] };
    };
    const author = (relationTo: string): FieldConfig => ({ name: 'author', type: 'relationship', relationTo });
    const plain = (type: 'text' | 'textarea' | 'date'): FieldConfig[] =>
      ['day', 'note'].map((name) => ({ name, type }));
    const status: FieldConfig = { name: 'status', type: 'select', options: ['x', 'y'] };
    const site = (type: 'text' | 'number') => ({ slug: 'site', fields: [{ name: 'n', type } as const] });
    const [day, note] = plain('text') as [FieldConfig, FieldConfig];
    const of = (...fields: FieldConfig[]) => [{ slug: 'posts', fields }, ...people];
    const before = {
      collections: of(seo('text'), list('array'), author('a'), day, note, { name: 'status', type: 'text' }),
      globals: [site('text')],
    };
    const folder = filled(t, before, [
      { seo: { n: 'x' }, list: [{ in: [{ title: 'a' }] }], author: 'id', day: 'today', note: 'n', status: 'x' },
      { seo: { n: null }, list: [{ in: [] }], author: null, day: null, note: null, status: 'other' },
    ]);
    const directory = openDirectory(folder, before);
    directory.setGlobal('site', { n: 'x' });
    directory.close();
    const [date] = plain('date') as [FieldConfig];
    const [, long] = plain('textarea') as [FieldConfig, FieldConfig];
    const after = {
      collections: of(seo('number'), list('object'), author('b'), date, long, status),
      globals: [site('number')],
    };
    const kept = '1 document had a value of it, and keep it as it is until another is written';
    const told = [
      `posts.seo.n is number now and was text: ${kept}`,
      `posts.list.in is object now and was array: ${kept}`,
      `posts.author is relationship to b now and was relationship to a: ${kept}`,
      `posts.day is date now and was text: ${kept}`,
      'posts.status is select now and was text: 1 document had a value that is not one of its options, and keep it as it is until another is written',
      `globals/site.n is number now and was text: ${kept}`,
    ];
    assert.throws(
      () => openDirectory(folder, after, { isStrict: true }),
      (error: Error) => {
        assert.deepEqual(error.message.split('\n').slice(1), told);
        return true;
      },
    );
    assert.deepEqual(changesOf(folder, after), told);
  });

  it('is a collection or a global that is gone, and a field of a global', (t) => {
    const site = { slug: 'site', fields: [title, { name: 'n', type: 'number' } as const] };
    const notes: CollectionConfig = { slug: 'notes', fields: [title] };
    const empty: CollectionConfig = { slug: 'empty', fields: [title] };
    const folder = filled(
      t,
      { collections: [notes, empty], globals: [site] },
      [{ title: 'a' }, { title: null }],
      'notes',
    );
    const before = openDirectory(folder, { collections: [notes, empty], globals: [site] });
    before.setGlobal('site', { title: 'Site' });
    before.close();
    const kept = 'the log keeps them, and they are back when it is declared again';
    assert.deepEqual(changesOf(folder, { globals: [{ slug: 'site', fields: [] }] }), [
      `notes is gone, with 2 documents: ${kept}`,
      'globals/site.title is gone: 1 document had a value of it',
    ]);
    assert.deepEqual(changesOf(folder, { collections: [notes] }), [`globals/site is gone, with 1 document: ${kept}`]);
  });

  it('is refused if it may not be, with all of it listed, before anything is built or recorded', (t) => {
    const before = posts(title, { name: 'n', type: 'number' }, { name: 'code', type: 'text' });
    const folder = filled(t, before, [
      { title: 'a', n: 1, code: 'c' },
      { title: 'b', n: 2, code: 'c' },
    ]);
    const log = dumpFile(join(folder, 'log.db'));
    const files = filesIn(folder);
    const after = posts(
      { name: 'n', type: 'text', required: true },
      { name: 'name', type: 'text', unique: true, renamedFrom: 'code' },
    );
    assert.throws(
      () => openDirectory(folder, after, { isStrict: true, onChanges: () => assert.fail() }),
      (error: Error) => {
        const [reason, ...lines] = error.message.replaceAll(/[\da-f-]{36}/g, 'ID').split('\n');
        assert.match(reason as string, /^strictSchema .*nothing was recorded:$/);
        assert.deepEqual(lines, [
          'posts.n is text now, but these documents hold another type: ID, ID',
          'posts.name is unique now, but these documents share "c": ID, ID',
          'posts.title is gone: 2 documents had a value of it',
        ]);
        return true;
      },
    );
    assert.equal(dumpFile(join(folder, 'log.db')), log);
    assert.deepEqual(filesIn(folder), files);
    openDirectory(
      folder,
      posts(
        title,
        { name: 'n', type: 'number', label: 'N' },
        { name: 'code', type: 'text' },
        { name: 'x', type: 'text' },
      ),
      { isStrict: true },
    ).close();
  });

  it('is found without read tables, or with damaged ones, as well', (t) => {
    const folder = filled(t, posts(title), [{ title: 'a' }, { title: 'b' }]);
    const gone = ['posts.title is gone: 2 documents had a value of it'];
    const [file = ''] = filesIn(folder).filter((name) => name.startsWith('read-'));
    writeFileSync(join(folder, file), 'this is no database');
    const found = () => dryStart(folder, checkConfig(posts())).changes.map(({ line }) => line);
    assert.deepEqual(found(), gone);
    for (const name of readdirSync(folder)) if (name.startsWith('read-')) rmSync(join(folder, name));
    assert.deepEqual(found(), gone);
    assert.deepEqual(filesIn(folder), ['log.db'], 'nothing is built there');
    assert.deepEqual(changesOf(folder, posts()), gone);
  });

  it('leaves nothing unfinished if it is refused, and what was built for it is there for the next try', (t) => {
    const folder = filled(t, posts(title), [{ title: 'a' }]);
    for (const name of readdirSync(folder)) if (name.startsWith('read-')) rmSync(join(folder, name));
    const refused = () => {
      assert.throws(() => openDirectory(folder, posts(), { isStrict: true }), /posts\.title is gone: 1 document had/);
      return filesIn(folder).map((name) => [name, statSync(join(folder, name)).ino]);
    };
    const files = refused();
    assert.deepEqual(
      files.map(([name]) => String(name).replace(/[\da-f]{8,}/, 'HASH')),
      ['log.db', 'read-HASH.db'],
    );
    assert.deepEqual(refused(), files);
  });

  it('says beforehand what would be back from an earlier schema, and what stands against the new one', (t) => {
    const folder = filled(t, posts(title, { name: 'n', type: 'number' }), [{ title: 'a', n: 1 }]);
    openDirectory(folder, posts({ name: 'n', type: 'number' })).close();
    const ahead = dryStart(folder, checkConfig(posts(title, { name: 'n', type: 'boolean' })));
    assert.deepEqual(ahead.returning, [
      'posts.title was there before: the values that documents had under that name are back',
    ]);
    assert.match(ahead.problems.join(), /^posts\.n is boolean now, but these documents hold another type: /);
    openDirectory(folder, { collections: [{ slug: 'others', fields: [] }] }).close();
    const { returning } = dryStart(folder, checkConfig(posts(title)));
    assert.deepEqual(returning, ['posts was there before: its documents are back']);
  });

  for (const [what, { history, next, told }] of Object.entries(successions())) {
    it(`is refused by a start and by a check beforehand alike, and with the same words: ${what}`, (t) => {
      const folder = quickFolder();
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      for (const [config, documents] of history) {
        const directory = openDirectory(folder, config);
        const [{ slug = '' } = {}] = config.collections ?? [];
        for (const document of documents) directory.create(slug, document);
        directory.close();
      }
      for (const how of [{}, { acceptsLoss: true }, { isStrict: true }]) {
        const log = dumpFile(join(folder, 'log.db'));
        const ahead = refusedOf(dryStart(folder, checkConfig(next)), { isStrict: false, acceptsLoss: false, ...how });
        assert.equal(dumpFile(join(folder, 'log.db')), log);
        const lines = startedOf(folder, next, { acceptsLoss: false, ...how });
        assert.deepEqual(lines, ahead, JSON.stringify(how));
        if (Object.keys(how).length === 0) assert.match(ahead.join('\n').replaceAll(/[\da-f-]{36}/g, 'ID'), told);
        // If it is not refused, it is recorded, and asked no more.
        if (ahead.length === 0) break;
      }
    });
  }

  it('needs a restart if a collection is renamed, and none if renamedFrom is dropped', (t) => {
    const folder = filled(t, posts(title), [{ title: 'a' }]);
    const renamed = (more: object) => ({ collections: [{ slug: 'articles', ...more, fields: [title] }] });
    const look = (config: Config) => checkReload(folder, checkConfig(config));
    const { hasOtherTables, isRecorded, changes } = look(renamed({ renamedFrom: 'posts' }));
    assert.deepEqual([hasOtherTables, isRecorded, changes.map(({ isLoss }) => isLoss)], [true, true, [false]]);
    assert.match(changes[0]?.line ?? '', /^articles was posts: 1 document and all that is recorded of it are under/);
    openDirectory(folder, renamed({ renamedFrom: 'posts' })).close();
    assert.deepEqual(look(renamed({})), { hasOtherTables: false, isRecorded: true, changes: [] });
    assert.throws(() => look(posts(title)), /^SchemaError: posts is the first name of articles/);
  });

  it('builds no read tables anew if a collection is renamed, unless its documents are files', (t) => {
    const folder = filled(t, posts(title), [{ title: 'a' }]);
    const renamed = (more: object): Config => ({ collections: [{ slug: 'articles', ...more, fields: [title] }] });
    for (const more of [{ renamedFrom: 'posts' }, {}]) {
      const { rebuilt, close } = openDirectory(folder, renamed(more), { acceptsLoss: false });
      close();
      assert.equal(rebuilt, false);
    }
    const files = quickFolder();
    t.after(() => rmSync(files, { recursive: true, force: true }));
    for (const one of [{ slug: 'media' }, { slug: 'files', renamedFrom: 'media' }]) {
      const { rebuilt, close } = openDirectory(files, { collections: [{ ...one, upload: true, fields: [] }] });
      close();
      assert.equal(rebuilt, true);
    }
  });

  it('is what a count of the documents by hand comes to, however fields are nested', () => {
    fc.assert(
      fc.property(change, ({ before, after, documents }) => {
        const folder = quickFolder();
        try {
          const directory = openDirectory(folder, posts(...before));
          for (const document of documents) directory.create('posts', document);
          directory.close();
          const lines: string[] = [];
          // A change that existing documents contradict is refused, and reported all the same.
          try {
            openDirectory(folder, posts(...after), { onChanges: (some) => lines.push(...some) }).close();
          } catch (error) {
            assert.match(String(error), /hold another type/);
          }
          const expected = counted(before, after, documents);
          assert.deepEqual(lines.map(plain), expected);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: runsOf(25) },
    );
  });
});

type Succession = { history: [Config, JsonObject[]][]; next: Config; told: RegExp };

/** Changes of a schema, each with the documents that were written under those before. */
function successions(): Record<string, Succession> {
  const headline = (more: object = {}): Config => posts({ name: 'headline', type: 'text', ...more });
  const titled: [Config, JsonObject[]] = [posts(title), [{ title: 'a' }, { title: 'a' }]];
  const block = (name: string) => ({ slug: 'hero', fields: [{ name, type: 'text' } as const] });
  const layout = (...fields: FieldConfig[]) => posts({ name: 'layout', type: 'array', fields });
  const hero: Config = posts({ name: 'layout', type: 'blocks', blocks: [block('title')] });
  const others: Config = { collections: [{ slug: 'others', fields: [title] }] };
  const articles = (more: { renamedFrom?: string }): Config => ({
    collections: [{ slug: 'articles', ...more, fields: [title] }],
  });
  const list = ({ collections = [] }: Config) => collections;
  const nothing = /^$/;
  const missing = /takes values that are not there; nothing was recorded .*:\nposts\.headline\.renamedFrom: /;
  return {
    'nothing changed': { history: [titled], next: posts(title), told: nothing },
    'a field is added, and one is required now': {
      history: [titled],
      next: posts({ name: 'title', type: 'text', required: true }, { name: 'n', type: 'number' }),
      told: nothing,
    },
    'a field is gone': {
      history: [titled],
      next: headline(),
      told: /^documents would show less .*accepts it\):\nposts\.title is gone: 2 .* renamedFrom: 'title' in posts\.headline\?$/,
    },
    'a field is gone of which nothing is lost': { history: [[posts(title), []]], next: headline(), told: nothing },
    'a field is renamed': { history: [titled], next: headline({ renamedFrom: 'title' }), told: nothing },
    'a field is renamed later': {
      history: [titled, [headline(), [{ headline: 'b' }]]],
      next: headline({ renamedFrom: 'title', required: true }),
      told: nothing,
    },
    'a field is renamed later, and its values do not fit': {
      history: [titled, [headline(), []]],
      next: posts({ name: 'headline', type: 'number', renamedFrom: 'title' }),
      told: /^posts\.headline is number now, but these documents hold another type: ID, ID$/,
    },
    'a field is renamed later, and its values are shared': {
      history: [titled, [headline(), []]],
      next: headline({ renamedFrom: 'title', unique: true }),
      told: /^posts\.headline is unique now, but these documents share "a": ID, ID$/,
    },
    'a field is back with another type': {
      history: [titled, [posts({ name: 'n', type: 'number' }), []]],
      next: posts({ name: 'n', type: 'number' }, { name: 'title', type: 'number' }),
      told: /^posts\.title is number now, but these documents hold another type: ID, ID$/,
    },
    'renamedFrom names what never was': {
      history: [titled],
      next: posts(title, { name: 'headline', type: 'text', renamedFrom: 'titel' }),
      told: missing,
    },
    'renamedFrom names what was beside': {
      history: [[posts(title, { name: 'headline', type: 'text' }), []]],
      next: headline({ renamedFrom: 'title' }),
      told: missing,
    },
    'another type': {
      history: [titled],
      next: posts({ name: 'title', type: 'number' }),
      told: /^posts\.title is number now/,
    },
    'a type that may follow': { history: [titled], next: posts({ name: 'title', type: 'email' }), told: nothing },
    'blocks become a list': {
      history: [[hero, [{ layout: [{ blockType: 'hero', title: 'x' }] }]]],
      next: layout({ name: 'head', type: 'text' }),
      told: /^documents would show less .*\nposts\.layout is array now and was blocks: 1 document had a value of it, and show/,
    },
    'a field of a block is gone': {
      history: [[hero, [{ layout: [{ blockType: 'hero', title: 'x' }] }]]],
      next: posts({ name: 'layout', type: 'blocks', blocks: [block('head')] }),
      told: /posts\.layout\.hero\.title is gone: 1 document .* in posts\.layout\.hero\.head\?$/,
    },
    'values are shared': {
      history: [titled],
      next: posts({ name: 'title', type: 'text', unique: true }),
      told: /is unique now, but/,
    },
    'a collection is gone': {
      history: [titled],
      next: { collections: [{ slug: 'others', fields: [] }] },
      told: /\nposts is gone, with 2 documents: /,
    },
    'a collection is gone, and a new one has its fields': {
      history: [titled],
      next: {
        collections: [
          { slug: 'articles', fields: [title] },
          { slug: 'tags', fields: [] },
        ],
      },
      told: /declared again; if it is articles now, write renamedFrom: 'posts' there$/,
    },
    'a collection is renamed': { history: [titled], next: articles({ renamedFrom: 'posts' }), told: nothing },
    'a collection is renamed, and renamed again': {
      history: [titled, [articles({ renamedFrom: 'posts' }), [{ title: 'c' }]]],
      next: { collections: [{ slug: 'essays', renamedFrom: 'articles', fields: [title] }] },
      told: nothing,
    },
    'a rename stays in the configuration, and another comes beside it': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: { collections: [...list(articles({ renamedFrom: 'posts' })), { slug: 'tags', fields: [] }] },
      told: nothing,
    },
    'a rename is undone': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: { collections: [{ slug: 'posts', renamedFrom: 'articles', fields: [title] }] },
      told: nothing,
    },
    'a rename is undone, and does not say so': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: posts(title),
      told: /^posts is the first name of articles, whose history is recorded under it: write renamedFrom: 'articles' if it is that collection, else take another slug$/,
    },
    'a new collection has the first name of another': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: { collections: [...list(articles({})), { slug: 'posts', fields: [] }] },
      told: /^posts is the first name of articles, whose history is recorded under it: take another slug$/,
    },
    'a new collection has it but for the case': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: { collections: [...list(articles({})), { slug: 'Posts', fields: [] }] },
      told: /^Posts is the first name of articles, whose history is recorded under it: take another slug$/,
    },
    'no collection had the name': {
      history: [titled],
      next: { collections: [...list(posts(title)), { slug: 'articles', renamedFrom: 'post', fields: [title] }] },
      told: /\narticles\.renamedFrom: the log never had a collection "post", so there are no documents to take; did you mean "posts"\?$/,
    },
    'another collection has taken its documents': {
      history: [titled, [articles({ renamedFrom: 'posts' }), []]],
      next: { collections: [...list(articles({})), { slug: 'essays', renamedFrom: 'posts', fields: [title] }] },
      told: /\nessays\.renamedFrom: the documents of "posts" are those of articles since it was renamed; leave renamedFrom out$/,
    },
    'the collection has documents of its own': {
      history: [titled, [{ collections: [...list(articles({})), ...list(posts(title))] }, [{ title: 'own' }]]],
      next: articles({ renamedFrom: 'posts' }),
      told: /\narticles\.renamedFrom: articles has documents of its own, and takes none of posts; leave renamedFrom out\nposts is gone, with 2 documents: /,
    },
    'the collection was there beside it, with no document': {
      history: [titled, [{ collections: [...list(articles({})), ...list(posts(title))] }, []]],
      next: articles({ renamedFrom: 'posts' }),
      told: nothing,
    },
    'a rename comes late': {
      history: [titled, [articles({}), []]],
      next: articles({ renamedFrom: 'posts' }),
      told: nothing,
    },
    'a rename comes too late': {
      history: [titled, [articles({}), [{ title: 'own' }]]],
      next: articles({ renamedFrom: 'posts' }),
      told: /\narticles\.renamedFrom: articles has documents of its own, and takes none of posts; leave renamedFrom out$/,
    },
    'a renamed collection loses a field': {
      history: [titled],
      next: { collections: [{ slug: 'articles', renamedFrom: 'posts', fields: [{ name: 'head', type: 'text' }] }] },
      told: /\narticles\.title is gone: 2 documents had a value of it; did you mean renamedFrom: 'title' in articles\.head\?$/,
    },
    'a renamed collection has a field of another type': {
      history: [titled],
      next: { collections: [{ slug: 'articles', renamedFrom: 'posts', fields: [{ name: 'title', type: 'number' }] }] },
      told: /^articles\.title is number now, but these documents hold another type: ID, ID$/,
    },
    'values of a renamed collection are shared': {
      history: [titled],
      next: {
        collections: [
          { slug: 'articles', renamedFrom: 'posts', fields: [{ name: 'title', type: 'text', unique: true }] },
        ],
      },
      told: /^articles\.title is unique now, but/,
    },
    'a collection is back with another type': {
      history: [titled, [others, []]],
      next: {
        collections: [...(others.collections ?? []), { slug: 'posts', fields: [{ name: 'title', type: 'number' }] }],
      },
      told: /^posts\.title is number now, but these documents hold another type: ID, ID$/,
    },
    'a collection of accounts is one no more': {
      history: [[{ collections: [{ slug: 'users', auth: true, fields: [] }] }, [{ email: 'a@b.example' }]]],
      next: { collections: [{ slug: 'users', fields: [] }] },
      told: /\nusers\.email is gone: 1 document had a value of it$/,
    },
  };
}

/** The lines with which a start refuses a configuration; empty if it starts. */
function startedOf(folder: string, config: Config, how: Parameters<typeof openDirectory>[2]): string[] {
  try {
    openDirectory(folder, config, how).close();
    return [];
  } catch (error) {
    assert.ok(error instanceof SchemaError, String(error));
    return error.message.split('\n');
  }
}

/** A line without its words: what, why, how many. */
function plain(line: string): string {
  const [, what, how = '', count] =
    /^(\S+) (?:is|has) (gone|required|no \S+ "[^"]*"|\w+ now)\D*?(\d+) documents?/.exec(line) ?? [];
  return `${what} ${how} ${count}`;
}

type Kind = { name: string; required?: boolean } & (
  | { type: 'text' | 'number' }
  | { type: 'select' | 'multiSelect'; options: string[] }
  | { type: 'object' | 'array'; fields: Kind[] }
  | { type: 'blocks'; blocks: { slug: string; fields: Kind[] }[] }
);

const names = ['a', 'b', 'c'];
const { fieldsOf } = fc.letrec<{ fieldsOf: Kind[]; kind: Kind }>((tie) => ({
  fieldsOf: fc.uniqueArray(tie('kind'), { maxLength: 3, selector: ({ name }) => name, depthIdentifier: 'fields' }),
  kind: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'fields' },
    fc.record({ name: fc.constantFrom(...names), type: fc.constantFrom('text', 'number'), required: fc.boolean() }),
    fc.record({
      name: fc.constantFrom(...names),
      type: fc.constantFrom('select', 'multiSelect'),
      options: fc.subarray(['x', 'y', 'z'], { minLength: 1 }),
      required: fc.boolean(),
    }),
    fc.record({
      name: fc.constantFrom(...names),
      type: fc.constantFrom('object', 'array'),
      fields: tie('fieldsOf'),
      required: fc.boolean(),
    }),
    fc.record({
      name: fc.constantFrom(...names),
      type: fc.constant('blocks'),
      blocks: fc.uniqueArray(fc.record({ slug: fc.constantFrom('hero', 'quote'), fields: tie('fieldsOf') }), {
        minLength: 1,
        maxLength: 2,
        selector: ({ slug }) => slug,
      }),
    }),
  ) as fc.Arbitrary<Kind>,
}));

const change = fc.tuple(fieldsOf, fieldsOf).chain(([before, after]) =>
  fc.record({
    before: fc.constant(before as FieldConfig[]),
    after: fc.constant(after as FieldConfig[]),
    documents: fc.array(valuesOf(before), { maxLength: 4 }),
  }),
);

function valuesOf(fields: readonly Kind[]): fc.Arbitrary<JsonObject> {
  return fc.record(Object.fromEntries(fields.map((field) => [field.name, fc.option(valuesFor(field), { freq: 3 })])));
}

function valuesFor(field: Kind): fc.Arbitrary<Json> {
  switch (field.type) {
    case 'text':
      return fc.constantFrom('', 'text', 'x');
    case 'number':
      return fc.constantFrom(0, 1.5);
    case 'select':
      return fc.constantFrom(...field.options);
    case 'multiSelect':
      return fc.subarray(field.options);
    case 'object':
      return valuesOf(field.fields);
    case 'array':
      return fc.array(valuesOf(field.fields), { maxLength: 2 });
    case 'blocks':
      return fc.array(
        fc.oneof(
          ...field.blocks.map(({ slug, fields }) => valuesOf(fields).map((item) => ({ blockType: slug, ...item }))),
        ),
        { maxLength: 2 },
      );
  }
}

/** The expected count, computed by hand: `inside` are the objects of each document that hold the fields. */
function counted(
  before: readonly FieldConfig[],
  after: readonly FieldConfig[],
  documents: readonly JsonObject[],
): string[] {
  return countedIn(
    'posts',
    before as Kind[],
    after as Kind[],
    documents.map((document) => [document]),
  );
}

function countedIn(
  name: string,
  before: readonly Kind[],
  after: readonly Kind[],
  inside: readonly JsonObject[][],
): string[] {
  const lines: string[] = [];
  const tell = (what: string, test: (object: JsonObject) => boolean) => {
    const count = inside.filter((objects) => objects.some(test)).length;
    if (count > 0) lines.push(`${what} ${count}`);
  };
  const isSet = (value: Json | undefined) =>
    value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
  for (const field of before) {
    if (after.every((other) => other.name !== field.name))
      tell(`${name}.${field.name} gone`, (object) => isSet(object[field.name]));
  }
  for (const field of after) {
    const previous = before.find((other) => other.name === field.name);
    const path = `${name}.${field.name}`;
    if (field.required && !previous?.required) {
      const isEmpty = (value: Json | undefined) => !isSet(value) || (value === '' && previous?.type === 'text');
      tell(`${path} required`, (object) => !previous || isEmpty(object[field.name]));
    }
    if (!previous) continue;
    const isList = ({ type }: Kind) => ['multiSelect', 'array', 'blocks'].includes(type);
    const jsonOf = (kind: Kind) => (isList(kind) ? 'list' : kind.type === 'select' ? 'text' : kind.type);
    const isRefused = name === 'posts' && jsonOf(previous) !== jsonOf(field);
    if (previous.type !== field.type && !isRefused) {
      const isOdd = (value: Json | undefined) =>
        isSet(value) &&
        !(field.type === 'select' && field.options.includes(value as string) && previous.type === 'text');
      tell(`${path} ${field.type} now`, (object) => isOdd(object[field.name]));
    }
    if ('options' in previous && 'options' in field) {
      for (const option of previous.options) {
        if (!field.options.includes(option)) {
          tell(`${path} no option "${option}"`, (object) => [object[field.name]].flat().includes(option));
        }
      }
    }
    const values = inside.map((objects) =>
      objects.flatMap((object) => [object[field.name] ?? []].flat()),
    ) as JsonObject[][];
    if (previous.type === 'blocks' && field.type === 'blocks') {
      for (const { slug, fields } of previous.blocks) {
        const of = values.map((items) => items.filter(({ blockType }) => blockType === slug));
        const block = field.blocks.find((other) => other.slug === slug);
        if (block) lines.push(...countedIn(`${path}.${slug}`, fields, block.fields, of));
        else if (of.some((items) => items.length > 0))
          lines.push(`${path} no block "${slug}" ${of.filter((items) => items.length > 0).length}`);
      }
    } else if ('fields' in previous && 'fields' in field && previous.type === field.type) {
      lines.push(...countedIn(path, previous.fields, field.fields, values));
    }
  }
  return lines;
}
