import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { problemsOf } from './problems.ts';

const title = { name: 'title', type: 'text' };
const users = { slug: 'users', auth: true, fields: [] };
const ofPosts = (admin: unknown) =>
  problemsOf({ collections: [{ slug: 'posts', fields: [title, seo], admin }] }).map((line) =>
    line.replace('collections.posts.admin', 'admin'),
  );
const seo = { name: 'seo', type: 'object', fields: [title] };
const ofFields = (...fields: object[]) =>
  problemsOf({ collections: [{ slug: 'posts', fields }] }).map((line) => line.replace('collections.posts.fields.', ''));

describe('admin of the whole configuration', () => {
  it('gives a title, a logo and the auth collection of its users', () => {
    const collections = [users, { ...users, slug: 'editors' }];
    const model = checkConfig({ collections, admin: { title: 'Atlas', logo: '/logo.svg', user: 'editors' } });
    assert.deepEqual(model.admin, { title: 'Atlas', logo: '/logo.svg', user: 'editors' });
    assert.equal(model.adminCollection, 'editors');
  });

  it('is on without options, with the users of the admin collection, and off if it is false', () => {
    const model = checkConfig({ collections: [users] });
    assert.deepEqual([model.admin, model.adminCollection], [{ title: 'Annals', logo: null, user: null }, 'users']);
    const off = checkConfig({ collections: [users], admin: false });
    assert.deepEqual([off.admin, off.adminCollection], [null, 'users']);
  });

  it('is refused if something is wrong with it', () => {
    const posts = { slug: 'posts', fields: [] };
    const logo = 'must be an http or https URL, or a path that begins with "/", got';
    assert.deepEqual(problemsOf({ collections: [users, posts], admin: { titel: 'x', logo: '//x', user: 'posts' } }), [
      'admin.titel: is not a key of admin; did you mean "title"?',
      `admin.logo: ${logo} "//x"`,
      'admin.user: must be an auth collection ("users"), got "posts"',
    ]);
    assert.deepEqual(problemsOf({ collections: [users], admin: { logo: 'javascript:alert(1)' } }), [
      `admin.logo: ${logo} "javascript:alert(1)"`,
    ]);
    assert.deepEqual(problemsOf({ collections: [posts], admin: { user: 'posts' } }), [
      'admin.user: must be left out: there is no auth collection, got "posts"',
    ]);
    assert.deepEqual(problemsOf({ collections: [posts], admin: true }), [
      'admin: must be false or an object, got true',
    ]);
  });
});

describe('admin of a collection and of a global', () => {
  it('stands in the schema as it is written, and nothing of it if it says nothing', () => {
    const admin = {
      group: 'Content',
      description: 'All that we say',
      hidden: true,
      preview: 'https://site.example/preview?token={token}',
      icon: 'news',
      pageSize: 50,
      defaultSort: '-createdAt,seo.title',
      defaultColumns: ['title', 'seo.title', 'updatedAt'],
    };
    const { schema } = checkConfig({
      collections: [{ slug: 'posts', fields: [title, seo], admin }],
      globals: [{ slug: 'site', fields: [], admin: { hidden: false } }],
    });
    assert.deepEqual(schema.collections[0]?.admin, admin);
    assert.deepEqual(schema.globals, [{ slug: 'site', fields: [] }]);
  });

  it('is refused if something is wrong with it', () => {
    assert.deepEqual(ofPosts({ groop: 'x', pageSize: 101, hidden: 'yes' }), [
      'admin.groop: is not a key of admin of a collection; did you mean "group"?',
      'admin.hidden: must be true or false, got "yes"',
      'admin.pageSize: must be a whole number from 1 to 100, got 101',
    ]);
    assert.deepEqual(ofPosts({ defaultColumns: ['titel', 'seo.titel', 'title', 'title'] }), [
      'admin.defaultColumns.0: "titel" in "titel" is not a field; did you mean "title"?; allowed: "id", "createdAt", "updatedAt", "title", "seo"',
      'admin.defaultColumns.1: "titel" in "seo.titel" is not a field; did you mean "title"?; allowed: "title"',
      'admin.defaultColumns.3: "title" is named twice',
    ]);
    assert.deepEqual(ofPosts({ defaultColumns: [] }), [
      'admin.defaultColumns: must be a list of fields, got a list of 0',
    ]);
    assert.match(
      ofPosts({ defaultSort: '-titel' })[0] ?? '',
      /^admin\.defaultSort: "titel" is not a field to sort by; did you mean "title"/,
    );
    const global = { slug: 'site', fields: [], admin: { icon: 'x' } };
    assert.deepEqual(problemsOf({ globals: [global] }), ['globals.site.admin.icon: is not a key of admin of a global']);
  });

  it('takes a preview only at an http or https URL that has the token', () => {
    const must =
      'admin.preview: must be an http or https URL with {token} in it, such as "https://site.example/preview?token={token}", got';
    for (const url of [
      'https://site.example/preview',
      'javascript:{token}',
      '/preview?token={token}',
      'https://a;script-src/{token}',
      'https://*.example/{token}',
      "https://a'b/{token}",
      'https://x/{id}?t={token}',
    ]) {
      assert.deepEqual(ofPosts({ preview: url }), [`${must} "${url}"`], url);
    }
    assert.deepEqual(ofPosts({ preview: 'http://localhost:3000/{token}' }), []);
  });
});

describe('admin of a field', () => {
  it('says where and how a form shows it', () => {
    const fields = [
      { ...title, admin: { position: 'side', width: 'half', tab: 'SEO', displayAs: 'color' } },
      { name: 'slug', type: 'text', admin: { displayAs: 'slug', from: 'title' } },
      { name: 'note', type: 'textarea', admin: { rows: 4, language: 'html' } },
      { name: 'price', type: 'number', admin: { step: 0.01 } },
      { name: 'links', type: 'array', fields: [title], admin: { summary: 'title' } },
      { name: 'layout', type: 'blocks', blocks: [{ slug: 'hero', fields: [title] }], admin: { summary: 'title' } },
    ];
    const { schema } = checkConfig({ collections: [{ slug: 'posts', fields }] });
    assert.deepEqual(
      schema.collections[0]?.fields.map(({ admin }) => admin),
      fields.map(({ admin }) => admin),
    );
  });

  it('is refused if something is wrong with it', () => {
    assert.deepEqual(ofFields({ ...title, admin: { position: 'left', width: '50%', tab: '' } }), [
      'title.admin.position: must be one of "main", "side", got "left"',
      'title.admin.width: must be one of "quarter", "third", "half", "two-thirds", "three-quarters", "full", got "50%"',
      'title.admin.tab: must be a text, got ""',
    ]);
    assert.deepEqual(
      ofFields({ ...title, admin: { rows: 3, step: 1, from: 'slug' } }, { name: 'slug', type: 'text' }),
      [
        'title.admin.rows: is not for "text"; the types that take it: "textarea", "richText", "json"',
        'title.admin.step: is not for "text"; the types that take it: "number"',
        'title.admin.from: needs displayAs: "slug"',
      ],
    );
    assert.deepEqual(ofFields({ name: 'price', type: 'number', admin: { step: 0 } }), [
      'price.admin.step: must be a number above 0, got 0',
    ]);
  });

  it('names fields that are there', () => {
    assert.deepEqual(ofFields(title, { name: 'slug', type: 'text', admin: { displayAs: 'slug', from: 'titel' } }), [
      'slug.admin.from: "titel" is not a field here; did you mean "title"?; allowed: "title"',
    ]);
    assert.deepEqual(ofFields({ name: 'links', type: 'array', fields: [title], admin: { summary: 'titel' } }), [
      'links.admin.summary: "titel" is not a field here; did you mean "title"?; allowed: "title"',
    ]);
  });
});

describe('richText', () => {
  const richProblems = (richText: unknown) => problemsOf({ collections: [users], richText });

  it('says what the editor offers, in all of the configuration and in a field', () => {
    const field = { name: 'body', type: 'richText', richText: { features: [] } };
    const collections = [{ slug: 'posts', fields: [field] }];
    const model = checkConfig({ collections, richText: { features: ['bold', 'link'] } });
    assert.deepEqual([model.richText, model.schema.collections[0]?.fields], [{ features: ['bold', 'link'] }, [field]]);
    assert.equal(checkConfig({ collections }).richText, undefined);
  });

  it('is refused if something is wrong with it', () => {
    assert.deepEqual(richProblems({}), ['richText.features: is missing']);
    assert.deepEqual(richProblems({ features: 'bold' }), ['richText.features: must be a list, got "bold"']);
    const [unknown, twice] = richProblems({ features: ['bolt', 'link', 'link'], buttons: [] }).slice(1);
    assert.match(unknown ?? '', /^richText\.features\.0: must be one of "bold", .*, got "bolt"/);
    assert.equal(twice, 'richText.features.2: "link" is named twice');
    assert.match(
      ofFields({ ...title, richText: { features: [] } })[0] ?? '',
      /^title\.richText: is not an option of "text"; the types that take it: "richText"/,
    );
  });
});

describe('hints of fields', () => {
  it('are refused once, with the nearest word', () => {
    assert.deepEqual(ofFields({ ...title, admin: { displayAs: 'colour', summary: 'x', position: 'mian' } }), [
      'title.admin.position: must be one of "main", "side", got "mian"; did you mean "main"?',
      'title.admin.displayAs: must be one of "color", "slug", got "colour"; did you mean "color"?',
      'title.admin.summary: is not for "text"; the types that take it: "array", "blocks"',
    ]);
    assert.deepEqual(ofFields({ ...title, admin: { displayAs: 'slug', from: 'x' } }), [
      'title.admin.from: "x" is not a field here; there are no others',
    ]);
  });
});

describe('admin.condition', () => {
  const of = (condition: unknown, ...others: object[]) =>
    ofFields({ ...title, admin: { condition } }, ...others).map((line) => line.replace('title.admin.', ''));
  const others = [
    { name: 'status', type: 'select', options: ['draft', 'published'] },
    { name: 'author', type: 'relationship', relationTo: 'posts' },
    { type: 'row', fields: [{ name: 'rank', type: 'number' }] },
    { name: 'links', type: 'array', fields: [{ name: 'label', type: 'text' }] },
    { name: 'layout', type: 'blocks', blocks: [{ slug: 'hero', fields: [{ name: 'heading', type: 'text' }] }] },
  ];

  it('may name each value of the form: of the document, of rows, inside objects, lists and blocks', () => {
    const paths = ['id', 'createdAt', 'status', 'author', 'rank', 'links.label', 'layout.heading', 'layout.blockType'];
    const or = paths.map((path) => ({ [path]: { exists: true } }));
    assert.deepEqual(of({ status: { equals: 'draft', not_in: ['published'] }, and: [{ or }] }, ...others), []);
  });

  it('begins, inside an object or a list, with a field of that level or of one further out', () => {
    const inside = (condition: object) =>
      ofFields(
        { name: 'seo', type: 'object', fields: [title, { name: 'tag', type: 'text', admin: { condition } }] },
        { name: 'rank', type: 'number' },
      );
    assert.deepEqual(inside({ title: { exists: true }, rank: { greater_than: 1 }, 'seo.tag': { exists: true } }), []);
    assert.deepEqual(inside({ titel: { exists: true } }), [
      'seo.fields.tag.admin.condition.titel: "titel" is not a field; did you mean "title"?; ' +
        'allowed: "title", "tag", "seo", "rank", "id", "createdAt", "updatedAt"',
    ]);
    const layout = {
      ...others[4],
      blocks: [
        { slug: 'hero', fields: [{ ...title, admin: { condition: { blockType: { equals: 'hero' }, x: {} } } }] },
      ],
    };
    assert.match(ofFields(layout)[0] ?? '', /^layout\.blocks\.hero\.fields\.title\.admin\.condition\.x: "x" is not/);
  });

  it('is refused with a field, an operator or a form that does not exist', () => {
    const operators = 'allowed: "equals", "not_equals", "like", "contains", "in", "not_in"';
    const first = (condition: unknown) => of(condition, ...others)[0] ?? '';
    assert.match(
      first({ statis: { equals: 'x' } }),
      /^condition\.statis: "statis" is not a field; did you mean "status"\?; /,
    );
    assert.ok(
      first({ or: [{ rank: { greater_thn: 5 } }] }).startsWith(
        `condition.or.0.rank.greater_thn: "greater_thn" is not an operator; did you mean "greater_than"?; ${operators}`,
      ),
    );
    assert.match(
      first({ status: 'draft' }),
      /^condition\.status: needs an operator, like \{ equals: value \}; operators: /,
    );
    assert.match(first({ status: {} }), /^condition\.status: needs an operator/);
    assert.equal(first({ and: {} }), 'condition.and: must be a list of where objects, got an object');
    assert.equal(first({ and: ['x'] }), 'condition.and.0: must be an object, got "x"');
    assert.match(
      first({ 'links.lable': { exists: true } }),
      /: "lable" is not a field of "links"; did you mean "label"\?/,
    );
    assert.match(first({ 'status.x': { exists: true } }), /: "status" has no fields inside$/);
    assert.match(first({ 'author.title': { exists: true } }), /: "author" is an id in a form/);
  });

  it('is checked in globals too', () => {
    const fields = [{ ...title, admin: { condition: { titel: { exists: true } } } }];
    assert.match(
      problemsOf({ globals: [{ slug: 'site', fields }] })[0] ?? '',
      /^globals\.site\.fields\.title\.admin\.condition\.titel: /,
    );
  });
});
