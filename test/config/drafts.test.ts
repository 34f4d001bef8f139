import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { problemsOf } from './problems.ts';

const fields = [
  { name: 'title', type: 'text' },
  { type: 'row', fields: [{ name: 'publishedAt', type: 'datetime' }] },
  { name: 'seo', type: 'object', fields: [{ name: 'checkedAt', type: 'datetime' }] },
];

/** The model of a configuration with a collection `posts` and a global `site` with these options. */
function modelOf(options: object) {
  const { collections, globals, ...model } = checkConfig({
    collections: [{ slug: 'posts', fields, ...options }],
    globals: [{ slug: 'site', fields, ...options }],
  });
  const [posts, site] = [collections.get('posts'), globals.get('site')];
  assert.ok(posts && site);
  return { ...model, posts, site };
}

/** The problems of a collection `posts` with these options, their paths without its own. */
function problemsWith(options: object): string[] {
  const problems = problemsOf({ collections: [{ slug: 'posts', fields, ...options }] });
  return problems.map((line) => line.replace('collections.posts.', ''));
}

describe('drafts', () => {
  it('are off by default, and on with all defaults', () => {
    const off = modelOf({});
    const on = modelOf({ drafts: true });
    assert.deepEqual([off.posts.drafts, off.site.drafts], [null, null]);
    const defaults = { validates: false, publishedAt: null };
    assert.deepEqual([on.posts.drafts, on.site.drafts], [defaults, defaults]);
    const all = modelOf({ drafts: { validate: true, publishedAt: 'publishedAt' } });
    assert.deepEqual(all.posts.drafts, { validates: true, publishedAt: 'publishedAt' });
  });

  it('have one form in the schema for each meaning', () => {
    const forms: [drafts: unknown, schema: unknown][] = [
      [undefined, undefined],
      [false, undefined],
      [true, true],
      [{}, true],
      [{ validate: false }, true],
      [
        { publishedAt: 'publishedAt', validate: true },
        { validate: true, publishedAt: 'publishedAt' },
      ],
      [{ publishedAt: 'publishedAt', validate: false }, { publishedAt: 'publishedAt' }],
    ];
    for (const [drafts, expected] of forms) {
      const { schema } = modelOf({ drafts });
      for (const one of [...schema.collections, ...schema.globals])
        assert.equal(JSON.stringify(one.drafts), JSON.stringify(expected));
    }
    assert.deepEqual(Object.keys(modelOf({}).schema.collections[0] ?? {}), ['slug', 'fields']);
  });

  it('are refused with wrong options', () => {
    const known = 'must be the name of a datetime field of the collection';
    const cases: [drafts: unknown, problem: string][] = [
      ['yes', 'drafts: must be true, false or an object, got "yes"'],
      [{ validates: true }, 'drafts.validates: is not a key of drafts; did you mean "validate"?'],
      [{ validate: 1 }, 'drafts.validate: must be true or false, got 1'],
      [{ publishedAt: true }, 'drafts.publishedAt: must be a text, got true'],
      [
        { publishedAt: 'publishAt' },
        `drafts.publishedAt: ${known}, got "publishAt"; allowed: "publishedAt"; did you mean "publishedAt"?`,
      ],
      [{ publishedAt: 'title' }, `drafts.publishedAt: ${known}, got "title"; allowed: "publishedAt"`],
      [{ publishedAt: 'seo.checkedAt' }, `drafts.publishedAt: ${known}, got "seo.checkedAt"; allowed: "publishedAt"`],
    ];
    for (const [drafts, problem] of cases) assert.deepEqual(problemsWith({ drafts }), [problem]);
    assert.deepEqual(problemsWith({ drafts: { publishedAt: 'since' }, fields: [] }), [
      `drafts.publishedAt: ${known}, got "since"; the collection has no such field`,
    ]);
    const broken = [{ name: 'since', type: 'datetim' }];
    assert.match(
      problemsWith({ drafts: { publishedAt: 'since' }, fields: broken }).join(),
      /^fields\.since\.type:[^;]*;[^;]*$/,
    );
  });

  it('are of documents, not of accounts and files', () => {
    assert.deepEqual(problemsWith({ auth: true, drafts: true, fields: [] }), [
      'drafts: must not be set with auth: drafts are of documents, not of accounts',
    ]);
    assert.deepEqual(problemsWith({ upload: true, drafts: { validate: true }, fields: [] }), [
      'drafts: must not be set with upload: drafts are of documents, not of files',
    ]);
    assert.deepEqual(problemsWith({ auth: true, drafts: false, fields: [] }), []);
  });

  it('leave the names of fields free', () => {
    const status = { name: 'status', type: 'select', options: ['draft', 'published'] };
    assert.deepEqual(problemsWith({ drafts: true, fields: [status] }), []);
  });
});

describe('the rules and hooks of drafts', () => {
  const readDrafts = () => true;
  const publish = { rule: () => ({ title: { not_equals: 'x' } }), description: 'Chief editors' };
  const hooks = { beforePublish: () => undefined, afterPublish: [() => undefined, () => undefined] };

  it('are in the model, and in the rules of schema.changed', () => {
    const { posts, site, rules } = modelOf({ drafts: true, access: { readDrafts, publish }, hooks });
    for (const one of [posts, site]) {
      assert.deepEqual(one.access, { readDrafts, publish: publish.rule });
      assert.deepEqual(one.ruleWords, { publish: 'Chief editors' });
      assert.deepEqual(one.hooks, { beforePublish: [hooks.beforePublish], afterPublish: hooks.afterPublish });
    }
    const names = ['hooks.afterPublish.0', 'hooks.afterPublish.1', 'hooks.beforePublish.0', 'publish', 'readDrafts'];
    const expected = ['globals/site', 'posts'].flatMap((key) => names.map((name) => `${key}.${name}`));
    assert.deepEqual(Object.keys(rules), expected);
    assert.equal(rules['posts.publish']?.description, 'Chief editors');
  });

  it('need drafts', () => {
    assert.deepEqual(problemsWith({ access: { readDrafts, publish }, hooks, drafts: false }), [
      'access.readDrafts: needs drafts: true at the collection',
      'access.publish: needs drafts: true at the collection',
      'hooks.beforePublish: needs drafts: true at the collection',
      'hooks.afterPublish: needs drafts: true at the collection',
    ]);
    const site = { slug: 'site', fields, access: { publish }, hooks: { afterPublish: [] } };
    assert.deepEqual(problemsOf({ globals: [site] }), [
      'globals.site.access.publish: needs drafts: true at the global',
      'globals.site.hooks.afterPublish: needs drafts: true at the global',
    ]);
    // With drafts that are wrong themselves, one problem is enough.
    assert.deepEqual(problemsWith({ drafts: 1, access: { publish } }), [
      'drafts: must be true, false or an object, got 1',
    ]);
  });

  it('decide about releases too, in a rule of the whole configuration', () => {
    const releases = { rule: () => true, description: 'Chief editors' };
    const drafted = { globals: [{ slug: 'site', drafts: true, fields }] };
    const model = checkConfig({ ...drafted, releases });
    assert.equal(model.releases, releases.rule);
    assert.equal(model.rules.releases?.description, 'Chief editors');
    assert.equal(checkConfig(drafted).releases, null);
    const plain = { collections: [{ slug: 'posts', fields }] };
    assert.deepEqual(problemsOf({ ...plain, releases: releases.rule }), [
      'releases: needs drafts: true at a collection or global',
    ]);
    assert.deepEqual(problemsOf({ ...drafted, releases: true }), [
      'releases: must be a function or { rule, description }, got true',
    ]);
  });

  it('are refused if they are no functions', () => {
    assert.deepEqual(
      problemsWith({ drafts: true, access: { publish: true, readDraft: readDrafts }, hooks: { afterPublish: 1 } }),
      [
        'access.readDraft: is not a key of the access rules of a collection; did you mean "readDrafts"?',
        'access.publish: must be a function or { rule, description }, got true',
        'hooks.afterPublish: must be a function or a list of functions, got 1',
      ],
    );
  });
});
