import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { ConfigError, checkConfig } from '../../config/check.ts';
import { defineConfig } from '../../config/define.ts';
import { problemsOf } from './problems.ts';

/** The problems of one collection `posts` with these fields, their paths without its own. */
function fieldProblems(...fields: unknown[]): string[] {
  return problemsOf({ collections: [{ slug: 'posts', fields }] }).map((line) =>
    line.replace('collections.posts.fields.', ''),
  );
}

const title = { name: 'title', type: 'text' };

describe('a configuration', () => {
  it('is taken as an object of defineConfig, a plain object or parsed JSON alike', () => {
    const config = defineConfig({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
    const model = checkConfig(config);
    assert.deepEqual(checkConfig(JSON.parse(JSON.stringify(config))).schema, model.schema);
    assert.deepEqual([...model.collections.keys()], ['posts']);
    assert.equal(model.limits.body, 1_048_576);
    assert.equal(model.publicSchema, false);
  });

  it('is refused with every problem, its path and the nearest right word', () => {
    const error = (() => {
      try {
        checkConfig({
          colections: [],
          collections: [
            {
              slug: 'posts',
              fields: [
                { name: 'title', type: 'txt' },
                { ...title, requred: true },
              ],
            },
          ],
          limits: { body: 0 },
        });
      } catch (thrown) {
        return thrown;
      }
    })();
    assert.ok(error instanceof ConfigError);
    assert.deepEqual(
      error.problems.map(({ path }) => path),
      [
        'colections',
        'collections.posts.fields.title.type',
        'collections.posts.fields.title.requred',
        'collections.posts.fields.title.name',
        'limits.body',
      ],
    );
    assert.match(error.message, /^The configuration has 5 problems:\n {2}colections: .*did you mean "collections"\?/);
    assert.match(error.message, /got "txt"; did you mean "text"\?/);
    assert.match(error.message, /did you mean "required"\?/);
  });

  it('is refused when it is no object, or declares nothing', () => {
    assert.deepEqual(problemsOf(null), [': must be an object, got null']);
    assert.deepEqual(problemsOf({}), ['collections: at least one collection or global is needed']);
    assert.deepEqual(problemsOf({ collections: 3, globals: [] }), ['collections: must be a list, got 3']);
  });

  it('says what the OpenAPI document is called, as texts', () => {
    const collections = [{ slug: 'posts', fields: [] }];
    const openapi = { title: 'Library', version: '2026-11', description: 'Books.\n\n**All** of them.' };
    assert.deepEqual(checkConfig({ collections, openapi }).openapi, openapi);
    assert.deepEqual(checkConfig({ collections, openapi: { title: 'Library' } }).openapi, { title: 'Library' });
    assert.deepEqual(checkConfig({ collections }).openapi, {});
    assert.deepEqual(problemsOf({ collections, openapi: { titel: 'x', version: 1, description: '' } }), [
      'openapi.titel: is not a key of openapi; did you mean "title"?',
      'openapi.version: must be a text, got 1',
      'openapi.description: must be a text, got ""',
    ]);
    assert.deepEqual(problemsOf({ collections, openapi: true }), ['openapi: must be an object, got true']);
    assert.deepEqual(problemsOf({ collections, openApi: {} }), [
      'openApi: is not a key of the configuration; did you mean "openapi"?',
    ]);
  });

  it('is warned of names in which tools that read the OpenAPI document break', () => {
    const warningsOf = (...fields: object[]) => checkConfig({ collections: [{ slug: 'posts', fields }] }).warnings;
    const named = (name: string) => ({ name, type: 'text' });
    const [told, ...others] = warningsOf(
      named('valueOf'),
      { name: 'parts', type: 'array', fields: [named('hasOwnProperty')] },
      named('constructor'),
      named('toString'),
      named('hasownproperty'),
    );
    const why =
      'is a member of every JavaScript object: openapi-typescript and other readers of the OpenAPI document fail on it';
    assert.deepEqual(
      [told, ...others],
      [
        `collections.posts.fields.valueOf: "valueOf" ${why}`,
        `collections.posts.fields.parts.fields.hasOwnProperty: "hasOwnProperty" ${why}`,
      ],
    );
  });

  it('says whose pages may call it, by exact origins or any', () => {
    const collections = [{ slug: 'posts', fields: [] }];
    const right = [
      'https://app.example.org',
      'http://localhost:5173',
      'http://[::1]:8080',
      'https://xn--bcher-kva.example',
      'capacitor://localhost',
      'moz-extension://0b8c5c2e-1d1c-4c1e-9d0a-1b1c1d1e1f10',
    ];
    for (const cors of [undefined, false, [], ['*'], right]) assert.deepEqual(problemsOf({ cors, collections }), []);
    assert.deepEqual(checkConfig({ collections }).cors, []);
    assert.deepEqual(checkConfig({ cors: right, collections }).cors, right);

    const must = 'must be an origin such as "https://app.example.org", got';
    const wrong: [origin: unknown, problem: string][] = [
      ['https://a.example/', `${must} "https://a.example/"; did you mean "https://a.example"?`],
      ['https://b.example/blog?x#y', `${must} "https://b.example/blog?x#y"; did you mean "https://b.example"?`],
      ['HTTPS://C.example:443', `${must} "HTTPS://C.example:443"; did you mean "https://c.example"?`],
      ['https://user:pw@d.example', `${must} "https://user:pw@d.example"; did you mean "https://d.example"?`],
      ['https://bücher.example', `${must} "https://bücher.example"; did you mean "https://xn--bcher-kva.example"?`],
      ['app.example.org', `${must} "app.example.org"; did you mean "https://app.example.org"?`],
      ['https://*.example.org', 'must name one origin, got the pattern "https://*.example.org"'],
      ['https://', `${must} "https://"`],
      ['file://', `${must} "file://"`],
      ['', `${must} ""`],
      ['null', 'must not be "null": any page can have this origin'],
      [3, `${must} 3`],
      [null, `${must} null`],
    ];
    const cors = wrong.map(([origin]) => origin);
    assert.deepEqual(
      problemsOf({ cors, collections }),
      wrong.map(([, problem], index) => `cors.${index}: ${problem}`),
    );
    assert.deepEqual(problemsOf({ cors: ['https://a.example', '*', 'https://a.example'], collections }), [
      "cors.1: '*' allows any origin, so it must be the only entry",
      'cors.2: "https://a.example" is listed twice',
    ]);
    for (const [cors, got] of [
      [true, 'true'],
      ['https://a.example', '"https://a.example"'],
      [{ origin: '*' }, 'an object'],
    ]) {
      assert.deepEqual(problemsOf({ cors, collections }), [
        `cors: must be a list of origins, or ['*'] for any, got ${got}`,
      ]);
    }
  });

  it('says what admin may be: the fields that it names are known, and of a type for that', () => {
    const fields = [
      title,
      { name: 'text', type: 'richText' },
      { name: 'cover', type: 'relationship', relationTo: 'posts' },
      { name: 'seo', type: 'object', fields: [{ name: 'words', type: 'textarea' }] },
      { name: 'items', type: 'array', fields: [title] },
    ];
    const of = (admin: unknown) =>
      problemsOf({ collections: [{ slug: 'posts', fields, admin }] }).map((line) =>
        line.replace('collections.posts.admin.', ''),
      );
    assert.deepEqual(of({ useAsTitle: 'seo.words', searchFields: ['title', 'text', 'seo.words'] }), []);
    assert.deepEqual(
      of({ useAsTitle: 'titel', searchFields: ['titel', 'seo.word', 'cover', 'title', 'title', 'seo'] }),
      [
        'useAsTitle: "titel" is not a field to use as a title; did you mean "title"?; allowed: "title", "seo"',
        'searchFields.0: "titel" is not a field to search in; did you mean "title"?; allowed: "title", "text", "seo"',
        'searchFields.1: "word" is not a field of "seo" to search in; did you mean "words"?; allowed: "words"',
        'searchFields.2: "cover" is not a text; allowed: "title", "text", "seo"',
        'searchFields.4: "title" is named twice',
        'searchFields.5: "seo" is not a text; allowed: "title", "text", "seo"',
      ],
    );
    assert.deepEqual(of({ useAsTitle: 'items.title', searchFields: 'title', searchField: [] }), [
      'searchField: is not a key of admin of a collection; did you mean "searchFields"?',
      'searchFields: must be a list of 1 to 20 fields, got "title"',
      'useAsTitle: "items" is not a field to use as a title; allowed: "title", "seo"',
    ]);
    assert.deepEqual(of(true), ['collections.posts.admin: must be an object, got true']);
  });

  it('says what history, requireReason, audit and erase may be', () => {
    const collection = { slug: 'posts', fields: [], history: 'open', requireReason: 'yes' };
    assert.deepEqual(problemsOf({ audit: 'all', erase: { equals: 1 }, collections: [collection] }), [
      'collections.posts.history: must be \'public\', or left out, got "open"',
      'collections.posts.requireReason: must be true or false, got "yes"',
      'audit: must be a function or { rule, description }, got "all"',
      'erase.equals: is not a key of a rule',
      'erase.rule: is missing',
      'erase.description: is missing',
    ]);
    const open = { slug: 'posts', fields: [], history: 'public', requireReason: true };
    assert.deepEqual(problemsOf({ audit: () => true, erase: () => false, collections: [open] }), []);
    const { schema, collections } = checkConfig({ collections: [open] });
    assert.deepEqual(schema.collections, [{ ...open, fields: [] }]);
    const posts = collections.get('posts');
    assert.deepEqual([posts?.hasPublicHistory, posts?.requiresReason], [true, true]);
  });

  it('gives equal JSON for equal meaning', () => {
    const one = { slug: 'posts', fields: [{ type: 'select', name: 's', options: ['a'], required: false, label: 'S' }] };
    const two = {
      fields: [{ label: 'S', name: 's', options: [{ value: 'a', label: 'a' }], type: 'select', admin: {} }],
      slug: 'posts',
    };
    const json = (collection: unknown) => JSON.stringify(checkConfig({ collections: [collection] }).schema);
    assert.equal(json(one), json(two));
    assert.equal(
      json(one),
      '{"collections":[{"slug":"posts","fields":[{"name":"s","type":"select","label":"S","options":[{"label":"a","value":"a"}]}]}],"globals":[]}',
    );
  });

  it('keeps rows in the schema and lifts their fields in the model', () => {
    const model = checkConfig({ globals: [{ slug: 'site', fields: [{ type: 'row', fields: [title] }] }] });
    assert.deepEqual(model.schema.globals[0]?.fields, [{ type: 'row', fields: [title] }]);
    assert.deepEqual(
      model.globals.get('site')?.fields.map(({ name }) => name),
      ['title'],
    );
  });
});

describe('slugs', () => {
  const slugs = (...list: string[]) => problemsOf({ collections: list.map((slug) => ({ slug, fields: [] })) });

  it('are refused when taken, also in another case', () => {
    assert.deepEqual(slugs('posts', 'posts'), ['collections.posts.slug: "posts" is declared twice']);
    assert.deepEqual(slugs('posts', 'Posts'), ['collections.Posts.slug: "Posts" differs from "posts" only by case']);
  });

  it('are refused when reserved or of another form', () => {
    assert.equal(slugs('globals', 'accounts', 'system', '__proto__', '1st', 'a b', 'x'.repeat(65)).length, 7);
    assert.deepEqual(slugs('__admins', 'a-b', 'constructor'), []);
  });
});

describe('field names', () => {
  it('are refused when reserved where they stand', () => {
    const names = ['id', 'createdAt', 'UPDATEDAT', 'and', 'or', '__proto__', '1st', 'a-b', ''];
    const fields = names.map((name) => ({ name, type: 'text' }));
    assert.equal(fieldProblems(...fields).length, names.length);
    assert.equal(fieldProblems({ type: 'row', fields: [{ name: 'id', type: 'text' }] }).length, 1);
    const inside = ['id', 'blockType'].map((name) => ({ name, type: 'text' }));
    assert.deepEqual(fieldProblems({ name: 'o', type: 'object', fields: inside }), []);
    assert.match(
      fieldProblems({ name: 'b', type: 'blocks', blocks: [{ slug: 'x', fields: inside }] }).join(),
      /b\.blocks\.x\.fields\.blockType\.name: "blockType" is reserved/,
    );
  });

  it('of auth collections may not be e-mail and password', () => {
    const fields = ['email', 'password'].map((name) => ({ name, type: 'text' }));
    const problems = problemsOf({ collections: [{ slug: 'users', auth: true, fields }] });
    assert.equal(problems.filter((line) => line.includes('is added to auth collections')).length, 2);
  });

  it('are told apart by more than case, rows counting as their place', () => {
    assert.deepEqual(fieldProblems(title, { type: 'row', fields: [{ name: 'Title', type: 'text' }] }), [
      '1.fields.Title.name: "Title" differs from "title" only by case',
    ]);
  });

  it('cannot be given up for one that is still there', () => {
    assert.deepEqual(fieldProblems(title, { name: 'head', type: 'text', renamedFrom: 'title' }), [
      'head.renamedFrom: "title" is still a field here',
    ]);
  });
});

describe('a collection that was renamed', () => {
  const problemsWith = (...collections: object[]) =>
    problemsOf({ collections: collections.map((one) => ({ fields: [], ...one })) });

  it('says under which slug it was, which is in its schema', () => {
    const { schema } = checkConfig({ collections: [{ slug: 'articles', renamedFrom: 'posts', fields: [] }] });
    assert.deepEqual(schema.collections, [{ slug: 'articles', renamedFrom: 'posts', fields: [] }]);
  });

  it('has a former slug of its own, and no collection has that today', () => {
    assert.deepEqual(problemsWith({ slug: 'articles', renamedFrom: 'posts' }, { slug: 'Posts' }), [
      'collections.articles.renamedFrom: "posts" is still a collection here',
    ]);
    assert.deepEqual(problemsWith({ slug: 'articles', renamedFrom: 'articles' }), [
      'collections.articles.renamedFrom: "articles" is still a collection here',
    ]);
    assert.deepEqual(problemsWith({ slug: 'a', renamedFrom: 'posts' }, { slug: 'b', renamedFrom: 'posts' }), [
      'collections.b.renamedFrom: "posts" is declared twice',
    ]);
    for (const wrong of ['', 'a b', '1', 5, 'x'.repeat(65)]) {
      assert.match(problemsWith({ slug: 'articles', renamedFrom: wrong }).join(), /renamedFrom: must be a slug, got /);
    }
  });

  it('cannot be a global or a block', () => {
    const blocks = [{ slug: 'hero', renamedFrom: 'head', fields: [] }];
    assert.deepEqual(
      problemsOf({
        collections: [{ slug: 'posts', fields: [{ name: 'layout', type: 'blocks', blocks }] }],
        globals: [{ slug: 'site', renamedFrom: 'settings', fields: [] }],
      }),
      [
        'collections.posts.fields.layout.blocks.hero.renamedFrom: is not a key of a block',
        'globals.site.renamedFrom: is not a key of a global; a global keeps its slug, which names its history; write the new name as label',
      ],
    );
  });
});

describe('field options', () => {
  it('of another type are refused, naming the types that take them', () => {
    assert.deepEqual(fieldProblems({ ...title, relationTo: 'posts' }), [
      'title.relationTo: is not an option of "text"; the types that take it: "relationship", "upload"',
    ]);
  });

  it('that a type needs are asked for', () => {
    const types = ['select', 'radio', 'multiSelect', 'relationship', 'object', 'array', 'blocks', 'row'];
    const problems = fieldProblems(...types.map((type) => (type === 'row' ? { type } : { name: type, type })));
    assert.equal(problems.length, types.length);
    for (const problem of problems) assert.match(problem, /is missing; "\w+" needs it$/);
  });

  it('that contradict each other or cannot work are refused', () => {
    const wrong = [
      { name: 'a', type: 'number', min: 2, max: 1 },
      { name: 'b', type: 'text', minLength: 2, maxLength: 1 },
      { name: 'c', type: 'text', pattern: '[' },
      { name: 'd', type: 'text', pattern: 'a)(b' },
      { name: 'e', type: 'select', options: ['x', 'x'] },
      { name: 'f', type: 'select', options: [] },
      { name: 'g', type: 'text', required: 'yes' },
      { name: 'h', type: 'array', fields: [{ name: 'x', type: 'text', unique: true }] },
      { name: 'i', type: 'relationship', relationTo: 'posts', hasMany: true, unique: true },
      { name: 'j', type: 'boolean', unique: true },
      { name: 'k', type: 'text', access: { read: true } },
      { name: 'l', type: 'text', hooks: { beforeChange: [() => 1, 2] } },
      { name: 'm', type: 'text', admin: { hiden: true } },
      { name: 'n', type: 'relationship', relationTo: 'posts', minLength: 1 },
      { name: 'o', type: 'json', index: true },
    ];
    const problems = fieldProblems(...wrong);
    assert.deepEqual(
      problems.map((line) => line[0]),
      wrong.map(({ name }) => name),
    );
    assert.deepEqual(fieldProblems({ name: 'o', type: 'object', fields: [{ ...title, unique: true }] }), []);
  });

  it('take a default that the field itself would take, and normalise it', () => {
    assert.deepEqual(fieldProblems({ name: 's', type: 'select', options: ['draft'], defaultValue: 'drft' }), [
      's.defaultValue: must be one of "draft", got "drft"; did you mean "draft"?',
    ]);
    assert.deepEqual(
      fieldProblems({ name: 'o', type: 'object', fields: [{ ...title, required: true }], defaultValue: {} }),
      ['o.defaultValue.title: is required'],
    );
    const at = { name: 'at', type: 'datetime', defaultValue: '2024-01-01T02:00:00+02:00' };
    const hour = { name: 'hour', type: 'time', defaultValue: '10:00:00' };
    const { schema } = checkConfig({ collections: [{ slug: 'posts', fields: [at, hour] }] });
    const defaults = schema.collections[0]?.fields.map(({ defaultValue }) => defaultValue);
    assert.deepEqual(defaults, ['2024-01-01T00:00:00.000Z', '10:00']);
  });
});

describe('a list of fields that contains itself', () => {
  it('is refused at its place, in objects, arrays, rows and blocks; a list used twice is not', () => {
    const end =
      'contains itself, so it would have no end: write the inner fields out, as deep as they go, or refer to documents of ' +
      'the same collection with a relationship';
    for (const type of ['object', 'array', 'row']) {
      const fields: object[] = [{ name: 'title', type: 'text' }];
      fields.push({ ...(type === 'row' ? {} : { name: 'inner' }), type, fields });
      const step = type === 'row' ? '1' : 'inner';
      assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields }] }), [
        `collections.posts.fields.${step}.fields: ${end}`,
      ]);
    }
    const blocks: object[] = [];
    const inBlock = [{ name: 'body', type: 'blocks', blocks }];
    blocks.push({ slug: 'section', fields: inBlock });
    assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields: inBlock }] }), [
      `collections.posts.fields.body.blocks.section.fields: ${end}`,
    ]);
    const shared = [{ name: 'city', type: 'text' }];
    const twice = ['home', 'work'].map((name) => ({ name, type: 'object', fields: shared }));
    assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields: twice }] }), []);
  });
});

describe('a pattern that is a RegExp', () => {
  it('is refused with the text to write, and with the flags that would have no effect', () => {
    const patterned = (pattern: RegExp) =>
      problemsOf({ collections: [{ slug: 'a', fields: [{ name: 'b', type: 'text', pattern }] }] });
    assert.deepEqual(patterned(/^[a-z]+\d$/u), [
      String.raw`collections.a.fields.b.pattern: must be a text, got a RegExp; write its source, "^[a-z]+\\d$"`,
    ]);
    assert.match(String(patterned(/a/gi)), /write its source, "a", which is matched without the flag "i"$/);
    assert.match(String(patterned(/a/ims)), /which is matched without the flags "ims"$/);
  });
});

describe('references', () => {
  const posts = (...fields: unknown[]) => ({ slug: 'posts', fields });
  const authors = (...fields: unknown[]) => ({ slug: 'authors', fields });
  const author = { name: 'author', type: 'relationship', relationTo: 'authors' };

  it('may point forward and to themselves, not to nowhere', () => {
    const parent = { name: 'parent', type: 'relationship', relationTo: 'posts' };
    assert.deepEqual(problemsOf({ collections: [posts(author, parent), authors()] }), []);
    assert.deepEqual(problemsOf({ collections: [posts({ ...author, relationTo: 'athors' }), authors()] }), [
      'collections.posts.fields.author.relationTo: no collection "athors"; did you mean "authors"?',
    ]);
  });

  it('of an upload must be an upload collection', () => {
    const image = { name: 'image', type: 'upload', relationTo: 'authors' };
    assert.deepEqual(problemsOf({ collections: [posts(image), authors()] }), [
      'collections.posts.fields.image.relationTo: "authors" is not an upload collection',
    ]);
  });

  it('of a join must be answered by a top-level relationship', () => {
    const join = (on: string) => ({ name: 'posts', type: 'join', collection: 'posts', on });
    const inRow = { type: 'row', fields: [author] };
    assert.deepEqual(problemsOf({ collections: [posts(inRow), authors(join('author'))] }), []);
    assert.match(
      problemsOf({ collections: [posts(author), authors(join('autor'))] }).join(),
      /on: "autor" is not a top-level relationship of "posts" to "authors"; did you mean "author"\?/,
    );
    assert.equal(problemsOf({ collections: [posts(title), authors(join('title'))] }).length, 1);
    assert.equal(problemsOf({ collections: [posts(author)], globals: [authors(join('author'))] }).length, 2);
  });
});

describe('the limit and the sort of a join', () => {
  const target = {
    slug: 'posts',
    fields: [
      title,
      { name: 'tags', type: 'multiSelect', options: ['a'] },
      { name: 'body', type: 'json' },
      { name: 'seo', type: 'object', fields: [{ name: 'rank', type: 'number' }] },
      { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url' }] },
      { type: 'row', fields: [{ name: 'author', type: 'relationship', relationTo: 'authors' }] },
    ],
  };
  const withJoin = (more: object) => {
    const join = { name: 'posts', type: 'join', collection: 'posts', on: 'author', ...more };
    return { collections: [{ slug: 'authors', fields: [{ type: 'row', fields: [join] }] }, target] };
  };
  const problemsWith = (more: object) =>
    problemsOf(withJoin(more)).map((problem) => problem.replace('collections.authors.fields.0.fields.posts.', ''));

  it('are kept as they are written', () => {
    for (const sort of ['title', '-createdAt', 'seo.rank,-title,id', '-author']) {
      const { schema, collections } = checkConfig(withJoin({ limit: 3, sort }));
      const { on, limit, sort: kept } = collections.get('authors')?.fields[0] ?? {};
      assert.deepEqual({ on, limit, sort: kept }, { on: 'author', limit: 3, sort });
      const [row] = schema.collections[0]?.fields ?? [];
      const join = { name: 'posts', type: 'join', collection: 'posts', on: 'author', limit: 3, sort };
      assert.equal(JSON.stringify(row?.fields), JSON.stringify([join]));
    }
  });

  it('are refused if they are wrong, naming what would be right', () => {
    for (const limit of [0, -1, 1.5, '3', true, 2 ** 53]) {
      const [problem = '', ...more] = problemsWith({ limit });
      assert.match(problem, /^limit: must be a whole number from 1, got /);
      assert.deepEqual(more, []);
    }
    const allowed = 'allowed: "id", "createdAt", "updatedAt", "title", "seo", "author"';
    const wrong: Record<string, string> = {
      titel: `sort: "titel" is not a field to sort by; did you mean "title"?; ${allowed}`,
      'title, n': `sort: " n" is not a field to sort by; ${allowed}`,
      tags: 'sort: "tags" has no single value to sort by',
      body: 'sort: "body" has no single value to sort by',
      seo: 'sort: "seo" has no single value to sort by',
      'seo.rnk': 'sort: "rnk" is not a field of "seo" to sort by; did you mean "rank"?; allowed: "rank"',
      'links.url': 'sort: "links.url" leads into "links", which is not an object',
      'title.x': 'sort: "title.x" leads into "title", which is not an object',
      'author.name': 'sort: "author.name" leads through a relationship, which this sort cannot follow',
      [Array(11).fill('title').join()]: 'sort: must have at most 10 fields, got 11',
    };
    for (const [sort, problem] of Object.entries(wrong)) assert.deepEqual(problemsWith({ sort }), [problem]);
    assert.deepEqual(problemsWith({ sort: '' }), ['sort: must be a text, got ""']);
    assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields: [{ ...title, limit: 3 }] }] }), [
      'collections.posts.fields.title.limit: is not an option of "text"; the types that take it: "join"',
    ]);
  });

  it('are not held against fields that are wrong themselves', () => {
    const { collections } = withJoin({ sort: 'title' });
    const broken = { ...target, fields: [...target.fields.slice(1), { ...title, type: 'txt' }] };
    const problems = problemsOf({ collections: [collections[0], broken] });
    assert.deepEqual(problems.length, 1);
    assert.match(problems[0] ?? '', /title\.type: must be one of/);
  });
});

describe('functions', () => {
  it('stand in the model: access as it is, hooks as lists', () => {
    const read = () => true;
    const hook = () => undefined;
    const fields = [{ ...title, access: { read }, hooks: { afterRead: hook }, defaultValue: () => 'made' }];
    const { collections, schema } = checkConfig({
      collections: [
        { slug: 'posts', fields, access: { read }, hooks: { beforeChange: hook, afterRead: [hook, hook] } },
      ],
    });
    const posts = collections.get('posts');
    assert.deepEqual(posts?.access, { read });
    assert.deepEqual(posts?.hooks, { beforeChange: [hook], afterRead: [hook, hook] });
    assert.deepEqual(posts?.fields[0]?.hooks, { afterRead: [hook] });
    assert.equal(posts?.fields[0]?.makeDefault?.(), 'made');
    assert.deepEqual(schema.collections[0]?.fields, [title]);
  });

  it('are known by the SHA-256 of their text, and by what their author says of rules', () => {
    const [rule, hook] = [({ user }: { user: unknown }) => user !== null, () => undefined];
    const field = { name: 'head', type: 'text', access: { read: { rule, description: 'Shown to users' } } };
    const blocks = [{ slug: 'hero', fields: [field] }];
    const { rules, collections, audit } = checkConfig({
      audit: { rule, description: 'The users who are logged in' },
      erase: rule,
      globals: [{ slug: 'posts', fields: [], access: { update: rule } }],
      collections: [
        {
          slug: 'posts',
          access: { update: { rule, description: 'Users' }, read: rule },
          hooks: { beforeChange: [hook, hook] },
          fields: [
            { type: 'row', fields: [{ ...title, hooks: { afterRead: hook } }] },
            { name: 'seo', type: 'object', fields: [{ ...title, access: { update: rule } }] },
            { name: 'layout', type: 'blocks', blocks },
          ],
        },
      ],
    });
    const [sha256, hookSha256] = [rule, hook].map((one) => createHash('sha256').update(one.toString()).digest('hex'));
    assert.deepEqual(Object.entries(rules), [
      ['audit', { sha256, description: 'The users who are logged in' }],
      ['erase', { sha256 }],
      ['globals/posts.update', { sha256 }],
      ['posts.fields.layout.hero.head.read', { sha256, description: 'Shown to users' }],
      ['posts.fields.seo.title.update', { sha256 }],
      ['posts.fields.title.hooks.afterRead.0', { sha256: hookSha256 }],
      ['posts.hooks.beforeChange.0', { sha256: hookSha256 }],
      ['posts.hooks.beforeChange.1', { sha256: hookSha256 }],
      ['posts.read', { sha256 }],
      ['posts.update', { sha256, description: 'Users' }],
    ]);
    assert.deepEqual([collections.get('posts')?.access, audit], [{ read: rule, update: rule }, rule]);
  });

  it('name what is wrong with a rule and its words', () => {
    const access = { read: { rule: true, description: '' }, update: { descripton: 'x' } };
    assert.deepEqual(problemsOf({ collections: [{ slug: 'posts', fields: [], access }] }), [
      'collections.posts.access.read.rule: must be a function, got true',
      'collections.posts.access.read.description: must be a text, got ""',
      'collections.posts.access.update.descripton: is not a key of a rule; did you mean "description"?',
      'collections.posts.access.update.rule: is missing',
      'collections.posts.access.update.description: is missing',
    ]);
  });

  it('are refused under other names, and as anything else', () => {
    const global = { slug: 'site', fields: [], access: { create: () => true }, hooks: { beforeDelete: () => {} } };
    assert.deepEqual(
      problemsOf({ collections: [{ slug: 'posts', fields: [], access: { read: true } }], globals: [global] }),
      [
        'collections.posts.access.read: must be a function or { rule, description }, got true',
        'globals.site.access.create: is not a key of the access rules of a global',
        'globals.site.hooks.beforeDelete: is not a key of the hooks of a global',
      ],
    );
  });

  it('that hide a unique value are a warning, unless they say who may write it too', () => {
    const rule = () => false;
    const unique = { type: 'text', unique: true };
    const fields = [
      { ...unique, name: 'hidden', access: { read: rule, create: rule } },
      { ...unique, name: 'shown', access: { update: rule } },
      { ...unique, name: 'kept', access: { read: rule, create: rule, update: rule } },
      { name: 'vault', type: 'object', access: { read: rule }, fields: [{ ...unique, name: 'code' }] },
      { name: 'free', type: 'text', access: { read: rule } },
      { type: 'row', fields: [{ ...unique, name: 'inRow', access: { read: rule } }] },
    ];
    const guessed = (path: string) =>
      `collections.posts.fields.${path}: is unique and has a read rule, but a 409 tells every caller who may write the field which values exist; add rules for create and update`;
    assert.deepEqual(
      checkConfig({ collections: [{ slug: 'posts', fields }] }).warnings,
      ['hidden', 'vault.fields.code', '5.fields.inRow'].map(guessed),
    );
  });

  it('that a read hook changes are a warning if other options lead through them, unless they are queryable', () => {
    const hooks = { afterRead: () => null };
    const text = { name: 'text', type: 'text', hooks };
    const to = { name: 'to', type: 'relationship', relationTo: 'posts' };
    const warningsOf = (queryable: object, own: object) =>
      checkConfig({
        collections: [
          {
            slug: 'posts',
            admin: { searchFields: ['text', 'seo.words', 'title'], defaultSort: '-text,title' },
            fields: [
              { ...text, ...queryable },
              { name: 'seo', type: 'object', fields: [{ ...text, name: 'words', ...queryable }] },
              { name: 'title', type: 'text' },
              { name: 'links', type: 'join', collection: 'links', on: 'to' },
            ],
          },
          { slug: 'links', hooks: own, fields: [{ ...to, ...queryable }] },
        ],
      }).warnings;
    const told = 'set queryable: true on it if callers may learn its stored value';
    const found = (name: string) =>
      `collections.posts.admin.searchFields: only API keys of the environment find "${name}", which a read hook may change: ${told}`;
    assert.deepEqual(warningsOf({}, hooks), [
      found('text'),
      found('seo.words'),
      `collections.posts.admin.defaultSort: users may not sort by "-text,title", since a read hook may change what they see of it: ${told}`,
      `collections.posts.fields.links: is empty for users, since a read hook may change what they see of "to" in links: ${told}`,
    ]);
    assert.deepEqual(warningsOf({ queryable: true }, hooks), []);
    assert.deepEqual(warningsOf({ queryable: true }, {}), []);
    assert.equal(warningsOf({}, {}).length, 3);
  });

  it('are queryable by true or false, of every type but those without a value', () => {
    const problemsOf = (field: object) => {
      try {
        checkConfig({ collections: [{ slug: 'posts', fields: [field] }] });
        return '';
      } catch (error) {
        return String(error);
      }
    };
    assert.equal(problemsOf({ name: 'a', type: 'json', queryable: true }), '');
    assert.match(
      problemsOf({ name: 'a', type: 'text', queryable: 'yes' }),
      /a\.queryable: must be true or false, got "yes"/,
    );
    assert.match(
      problemsOf({ name: 'a', type: 'text', queriable: true }),
      /a\.queriable: is not an option of "text"; did you mean "queryable"\?/,
    );
    assert.match(problemsOf({ type: 'row', queryable: true, fields: [] }), /queryable: is not an option of "row"/);
    const { schema } = checkConfig({
      collections: [
        {
          slug: 'posts',
          fields: [
            { queryable: true, type: 'text', index: true, name: 'a' },
            { name: 'b', type: 'text', queryable: false },
          ],
        },
      ],
    });
    assert.deepEqual(schema.collections[0]?.fields, [
      { name: 'a', type: 'text', index: true, queryable: true },
      { name: 'b', type: 'text' },
    ]);
  });

  it('give every document a default of its own', () => {
    const { collections } = checkConfig({
      collections: [{ slug: 'posts', fields: [{ name: 'j', type: 'json', defaultValue: { list: [] } }] }],
    });
    const make = collections.get('posts')?.fields[0]?.makeDefault;
    assert.deepEqual(make?.(), { list: [] });
    assert.notEqual(make?.(), make?.());
  });
});
