import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { apiKey } from '../helpers/service.ts';
import { errorsOf, fieldsOf, isId, recordedData, recordedEvents } from '../helpers/shared.ts';

const options = ['draft', { label: 'Live', value: 'published' }];
const everyType = [
  { name: 'text', type: 'text', minLength: 2, maxLength: 5, pattern: '[a-zé🎉]+' },
  { name: 'textarea', type: 'textarea' },
  { name: 'richText', type: 'richText' },
  { name: 'email', type: 'email' },
  { name: 'url', type: 'url' },
  { name: 'number', type: 'number', min: -5, max: 5 },
  { name: 'whole', type: 'number', integer: true },
  { name: 'boolean', type: 'boolean' },
  { name: 'date', type: 'date' },
  { name: 'datetime', type: 'datetime' },
  {
    type: 'row',
    fields: [
      { name: 'time', type: 'time' },
      { name: 'select', type: 'select', options },
    ],
  },
  { name: 'radio', type: 'radio', options },
  { name: 'multiSelect', type: 'multiSelect', options, maxLength: 2 },
  { name: 'object', type: 'object', fields: [{ name: 'inner', type: 'number', required: true }] },
  { name: 'array', type: 'array', minLength: 1, maxLength: 3, fields: [{ name: 'url', type: 'url', required: true }] },
  {
    name: 'blocks',
    type: 'blocks',
    blocks: [
      { slug: 'hero', fields: [{ name: 'head', type: 'text', required: true }] },
      { slug: 'quote', fields: [{ name: 'lines', type: 'array', fields: [{ name: 'n', type: 'number' }] }] },
    ],
  },
  { name: 'json', type: 'json' },
];

const service = useServiceHere({
  collections: [
    { slug: 'types', fields: everyType },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
        { name: 'code', type: 'text', unique: true },
        { name: 'rank', type: 'number', unique: true },
        { name: 'seo', type: 'object', fields: [{ name: 'path', type: 'text', unique: true }] },
        { name: 'body', type: 'json' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'editors', type: 'relationship', relationTo: 'authors', hasMany: true },
        {
          name: 'notes',
          type: 'array',
          fields: [
            { name: 'text', type: 'text' },
            { name: 'by', type: 'relationship', relationTo: 'authors' },
          ],
        },
        {
          name: 'layout',
          type: 'blocks',
          blocks: [
            { slug: 'cast', fields: [{ name: 'who', type: 'relationship', relationTo: 'authors', hasMany: true }] },
          ],
        },
        { name: 'constructor', type: 'text' },
      ],
    },
    {
      slug: 'authors',
      fields: [
        { name: 'name', type: 'text', defaultValue: 'Anonymous' },
        { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
        { name: 'edited', type: 'join', collection: 'posts', on: 'editors' },
      ],
    },
  ],
});

const posts = '/api/collections/posts';
const authors = '/api/collections/authors';
const types = '/api/collections/types';

async function create(
  path: string,
  body: object,
): Promise<{ id: string; createdAt: string; updatedAt: string } & Record<string, unknown>> {
  const answer = await assertRecorded(service, () => service.call('POST', path, body), ['document.created']);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

describe('POST /api/collections/:slug (2.1, 4.1)', () => {
  it('answers 201 with the whole document in the configured order, null and [] for missing values', async () => {
    const { status, headers, body } = await service.call('POST', posts, { title: 'One' });
    assert.equal(status, 201);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    const { id, createdAt, updatedAt, ...rest } = body;
    assert.deepEqual(Object.keys(body).slice(0, 5), ['id', 'createdAt', 'updatedAt', 'title', 'status']);
    assert.deepEqual(rest, {
      title: 'One',
      status: 'draft',
      code: null,
      rank: null,
      seo: null,
      body: null,
      author: null,
      editors: [],
      notes: [],
      layout: [],
      constructor: null,
    });
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(updatedAt, createdAt);
    assert.deepEqual((await service.call('GET', `${posts}/${id}`)).body, body);
  });

  it('records one document.created that holds what was answered', async () => {
    const { body: document } = await assertRecorded(
      service,
      () => service.call('POST', posts, { title: 'Recorded' }),
      ({ body }) => [{ type: 'document.created', stream: `posts/${body.id}`, data: body }],
    );
    assert.deepEqual(
      recordedEvents(service.data, `posts/${document.id}`).map(({ version, actor }) => [version, actor.type]),
      [[1, 'apiKey']],
    );
  });

  it('gives ids that are UUIDs of version 7, ascend, and hold the time of creation', async () => {
    const documents = [];
    for (let count = 0; count < 20; count += 1) documents.push(await create(authors, {}));
    const ids = documents.map(({ id }) => id);
    assert.deepEqual(ids.filter(isId), ids);
    assert.deepEqual([...ids].sort(), ids);
    for (const { id, createdAt } of documents) {
      assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), Date.parse(createdAt));
    }
  });

  it('ignores the fields that the server makes, so that a document read can be sent back', async () => {
    const author = await create(authors, { name: 'Ann' });
    const copy = await create(authors, { ...author, posts: ['x'], edited: 3 });
    assert.notEqual(copy.id, author.id);
    assert.ok(copy.createdAt > author.createdAt);
    assert.deepEqual([copy.name, copy.posts, copy.edited], ['Ann', [], []]);
    assert.equal((await service.call('PATCH', `${authors}/${author.id}`, author)).body.updatedAt, author.updatedAt);
    const posed = await service.call('PATCH', `${authors}/${author.id}`, {
      id: 'mine',
      createdAt: 'then',
      updatedAt: 1,
    });
    assert.deepEqual([posed.status, posed.body], [200, author]);
  });

  it('refuses a field that is not there, with the nearest name, and records nothing', async () => {
    const answer = await assertRecorded(
      service,
      () => service.call('POST', posts, { title: 'x', staus: 'draft', zzzzzz: 1 }),
      [],
    );
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error, 'Validation Error');
    assert.equal(answer.body.statusCode, 400);
    assert.deepEqual(errorsOf(answer), {
      staus: 'staus is not a field; did you mean "status"?',
      zzzzzz: 'zzzzzz is not a field',
    });
    assert.equal(answer.body.message, '2 fields are wrong: staus, zzzzzz');
  });

  it('refuses a missing required field, null and an empty text there', async () => {
    for (const [body, message] of [
      [{}, 'title is required'],
      [{ title: null }, 'title is required, got null'],
      [{ title: '' }, 'title must not be empty, got ""'],
    ] as const) {
      const answer = await service.call('POST', posts, body);
      assert.deepEqual([answer.status, errorsOf(answer)], [400, { title: message }]);
    }
  });

  it('takes the default if a value is missing and null if it is null', async () => {
    assert.equal((await create(posts, { title: 'x' })).status, 'draft');
    assert.equal((await create(posts, { title: 'x', status: null })).status, null);
    assert.equal((await create(posts, { title: 'x', status: 'published' })).status, 'published');
  });

  it('takes the text "constructor" as a field like any other, and refuses the key __proto__', async () => {
    const made = await create(posts, { title: 'x', constructor: 'me', body: { constructor: { prototype: 1 } } });
    assert.deepEqual([made.constructor, made.body], ['me', { constructor: { prototype: 1 } }]);
    for (const body of ['{"title":"x","__proto__":{"code":"p"}}', '{"title":"x","body":{"__proto__":1}}']) {
      const answer = await service.call('POST', posts, body);
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /__proto__/);
    }
    const answer = await service.call('POST', authors, '{"constructor":1,"toString":2}');
    assert.deepEqual(fieldsOf(answer), ['constructor', 'toString']);
  });
});

describe('The values of fields (2.1)', () => {
  const taken: Record<string, unknown[]> = {
    text: ['ab', 'né🎉🎉🎉', null],
    textarea: ['', 'two\nlines', 'x'.repeat(100_000), '</script>\u2028', null],
    richText: [{ root: { children: [] } }, 'x', [1], false],
    email: ['a@example.org', "o'neil+x@intra.lan"],
    url: ['https://example.org/a?b#c', 'http://localhost:1'],
    number: [0, -5, 5, 1.5, 1e-7, -0.1],
    whole: [0, 7, -9007199254740991],
    boolean: [true, false],
    date: ['2024-02-29', '0001-01-01'],
    datetime: ['2024-02-29T12:30:00.123Z'],
    time: ['23:59', '00:00:59'],
    select: ['draft', 'published'],
    radio: ['draft'],
    multiSelect: [[], ['published'], ['published', 'draft']],
    object: [{ inner: 1 }, null],
    array: [[], [{ url: 'https://a.example' }]],
    blocks: [
      [],
      [
        { blockType: 'quote', lines: [{ n: 1 }, { n: null }] },
        { blockType: 'hero', head: 'h' },
      ],
    ],
    json: [{ a: [1, { b: null }] }, [], 'text', 0, false, { constructor: 1, '': 2 }],
  };
  for (const [field, values] of Object.entries(taken)) {
    it(`keeps every value that ${field} takes`, async () => {
      for (const value of values) {
        const { id } = await create(types, { [field]: value });
        const { body } = await service.call('GET', `${types}/${id}`);
        assert.deepEqual(body[field], value);
      }
    });
  }

  const refused: Record<string, [unknown, RegExp][]> = {
    text: [
      [3, /must be a text, got 3$/],
      ['a', /at least 2 characters/],
      ['abcdef', /at most 5 characters/],
      ['AB', /match the pattern/],
      [['ab'], /must be a text, got a list of 1/],
      [{}, /must be a text, got an object/],
      [true, /must be a text, got true/],
    ],
    textarea: [
      ['a\0b', /NUL/],
      ['\ud800', /surrogates/],
      [0, /must be a text/],
    ],
    richText: [[{ x: ['\udfff'] }, /surrogates/]],
    email: [
      ['unknown', /must be an e-mail address/],
      ['', /must be an e-mail address|must not be empty/],
      [1, /must be an e-mail address/],
    ],
    url: [
      ['example.org', /absolute http or https URL/],
      ['javascript:alert(1)', /absolute http or https URL/],
      [' https://a.example', /absolute http or https URL/],
      [5, /absolute http or https URL/],
    ],
    number: [
      ['3', /must be a number, got "3"/],
      [5.1, /at most 5/],
      [-6, /at least -5/],
      [true, /must be a number/],
      [[1], /must be a number/],
    ],
    whole: [
      [1.5, /whole number/],
      [2 ** 53, /must be between/],
    ],
    boolean: [
      ['true', /must be true or false/],
      [1, /must be true or false/],
    ],
    date: [
      ['2023-02-29', /calendar date/],
      ['2024-2-9', /calendar date/],
      ['2024-02-29T00:00:00Z', /calendar date/],
      [20240229, /calendar date/],
    ],
    datetime: [
      ['2024-02-29', /date and time/],
      ['2024-02-29T12:00:00', /with a zone/],
      ['2024-02-30T12:00:00Z', /date and time/],
      ['2024-02-29T24:00:00Z', /date and time/],
    ],
    time: [
      ['24:00', /time like/],
      ['1:00', /time like/],
    ],
    select: [
      ['drft', /must be one of "draft", "published", got "drft"; did you mean "draft"\?/],
      ['Live', /one of/],
      [['draft'], /one of/],
    ],
    radio: [['', /one of/]],
    multiSelect: [
      ['draft', /must be a list/],
      [['draft', 'x'], /one of/],
      [['draft', 'draft'], /listed twice/],
    ],
    object: [
      [[], /must be an object/],
      ['x', /must be an object/],
    ],
    array: [
      [{}, /must be a list/],
      [Array(4).fill({ url: 'https://a.example' }), /at most 3 items/],
    ],
    blocks: [['hero', /must be a list/]],
  };
  for (const [field, cases] of Object.entries(refused)) {
    it(`refuses what ${field} does not take, saying what it takes`, async () => {
      for (const [value, message] of cases) {
        const answer = await service.call('POST', types, { [field]: value });
        assert.equal(answer.status, 400, JSON.stringify(value));
        assert.equal(answer.body.error, 'Validation Error');
        const [found] = answer.body.errors;
        assert.equal(answer.body.errors.length, 1);
        assert.equal(found.field.split('.')[0], field);
        assert.match(found.message, message);
        assert.equal(answer.body.message, found.message);
      }
    });
  }

  it('names what is wrong inside objects, arrays and blocks by dotted path, all of it at once', async () => {
    const answer = await service.call('POST', types, {
      object: { inner: 'x', innr: 1 },
      array: [{ url: 'https://a.example' }, {}, 3],
      blocks: [{ blockType: 'hro' }, {}, { blockType: 'hero', lines: [] }, { blockType: 'quote', lines: [{ n: '1' }] }],
      boolean: 'yes',
    });
    assert.equal(answer.status, 400);
    assert.deepEqual(errorsOf(answer), {
      boolean: 'boolean must be true or false, got "yes"',
      'object.inner': 'object.inner must be a number, got "x"',
      'object.innr': 'object.innr is not a field; did you mean "inner"?',
      'array.1.url': 'array.1.url is required',
      'array.2': 'array.2 must be an object, got 3',
      'blocks.0.blockType': 'blocks.0.blockType must be one of "hero", "quote", got "hro"; did you mean "hero"?',
      'blocks.1.blockType': 'blocks.1.blockType is required',
      'blocks.2.head': 'blocks.2.head is required',
      'blocks.2.lines': 'blocks.2.lines is not a field',
      'blocks.3.lines.0.n': 'blocks.3.lines.0.n must be a number, got "1"',
    });
  });

  it('keeps a datetime in UTC', async () => {
    const made = await create(types, { datetime: '2024-02-29T23:30:00+02:00' });
    assert.equal(made.datetime, '2024-02-29T21:30:00.000Z');
  });

  it('keeps a time without seconds if they are 0', async () => {
    const made = await create(types, { time: '10:30:00' });
    assert.equal(made.time, '10:30');
    const same = () => service.call('PATCH', `${types}/${made.id}`, { time: '10:30:00' });
    assert.equal((await assertRecorded(service, same, [])).body.time, '10:30');
  });

  it('fills the parts of nested values that are missing', async () => {
    const made = await create(types, { blocks: [{ blockType: 'quote' }, { head: 'h', blockType: 'hero' }] });
    assert.deepEqual(made.blocks, [
      { blockType: 'quote', lines: [] },
      { blockType: 'hero', head: 'h' },
    ]);
  });

  it('refuses a number that is no finite one', async () => {
    const answer = await service.call('POST', types, '{"number":1e400,"json":[1e400]}');
    assert.equal(answer.status, 400);
    assert.deepEqual(fieldsOf(answer), ['number', 'json']);
  });

  it('refuses whole numbers that JSON does not keep, wherever they stand, and takes back what it answers', async () => {
    const text = `{"json":{"ids":[1,12345678901234567890],"a.b":{"":-9007199254740993}},"richText":9007199254740993,
      "number":12345678901234567890,"blocks":[{"blockType":"hero","head":"12345678901234567890"}]}`;
    const answer = await assertRecorded(service, () => service.call('POST', types, text), []);
    assert.deepEqual([answer.status, answer.body.error], [400, 'Validation Error']);
    assert.deepEqual(fieldsOf(answer), ['json.ids.1', 'json.a.b.', 'richText', 'number']);
    assert.equal(
      errorsOf(answer)['json.ids.1'],
      'json.ids.1 must be a number that JSON keeps, got 12345678901234567890, which becomes 12345678901234567000; a text keeps every digit',
    );
    const kept = '{"a":12345678901234567000,"b":[1e30,0.1234567890123456789],"c":"12345678901234567890"}';
    const made = await service.call('POST', types, `{"json":${kept}}`);
    assert.equal(made.status, 201);
    assert.deepEqual(made.body.json, {
      a: 12345678901234567000,
      b: [1e30, 0.12345678901234568],
      c: '12345678901234567890',
    });
    const back = await service.call('PATCH', `${types}/${made.body.id}`, JSON.stringify(made.body));
    assert.deepEqual([back.status, back.body], [200, made.body]);
  });

  it('refuses JSON that is nested too deep, a thousand levels or half a million', async () => {
    for (const levels of [101, 1000, 500_000]) {
      const answer = await service.call('POST', types, `{"json":${'['.repeat(levels)}${']'.repeat(levels)}}`);
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /nested at most 100 levels deep|not valid JSON/);
    }
    const made = await service.call('POST', types, `{"json":${'['.repeat(100)}${']'.repeat(100)}}`);
    assert.equal(made.status, 201);
  });
});

describe('Unique fields (7: 409)', () => {
  it('refuse a value that another document has, naming the field', async () => {
    await create(posts, { title: 'x', code: 'taken', rank: 1 });
    const answer = await service.call('POST', posts, { title: 'y', code: 'taken' });
    assert.equal(answer.status, 409);
    assert.deepEqual(answer.body, {
      statusCode: 409,
      error: 'Conflict',
      code: 'unique',
      message: 'code is taken by another document',
      errors: [{ field: 'code', in: 'body', code: 'unique', message: 'code is taken by another document' }],
    });
    const both = await service.call('POST', posts, { title: 'y', code: 'taken', rank: 1 });
    assert.deepEqual([both.status, fieldsOf(both)], [409, ['code', 'rank']]);
    assert.equal(both.body.message, 'code is taken by another document; rank is taken by another document');
    const other = await create(posts, { title: 'z', code: 'other' });
    const changed = await service.call('PATCH', `${posts}/${other.id}`, { rank: 1 });
    assert.deepEqual([changed.status, fieldsOf(changed)], [409, ['rank']]);
    assert.deepEqual((await service.call('GET', `${posts}/${other.id}`)).body, other);
  });

  it('are named by dotted path inside an object', async () => {
    await create(posts, { title: 'x', seo: { path: 'p' } });
    const answer = await service.call('POST', posts, { title: 'y', seo: { path: 'p' } });
    assert.deepEqual([answer.status, fieldsOf(answer)], [409, ['seo.path']]);
  });

  it('may be null in any number of documents, and differ in case', async () => {
    await create(posts, { title: 'x', code: null });
    await create(posts, { title: 'x', code: null });
    await create(posts, { title: 'x', code: 'case' });
    await create(posts, { title: 'x', code: 'CASE' });
  });

  it('are free again after the document is deleted, changed, or set to null', async () => {
    const first = await create(posts, { title: 'x', code: 'free' });
    await service.call('DELETE', `${posts}/${first.id}`);
    const second = await create(posts, { title: 'x', code: 'free' });
    await service.call('PATCH', `${posts}/${second.id}`, { code: 'moved' });
    const third = await create(posts, { title: 'x', code: 'free' });
    await service.call('PATCH', `${posts}/${third.id}`, { code: null });
    assert.equal((await create(posts, { title: 'x', code: 'free' })).code, 'free');
  });

  it('may be written again to the document that has them', async () => {
    const { id } = await create(posts, { title: 'x', code: 'same' });
    const answer = await service.call('PATCH', `${posts}/${id}`, { title: 'y', code: 'same' });
    assert.deepEqual([answer.status, answer.body.title, answer.body.code], [200, 'y', 'same']);
  });
});

describe('Relationships', () => {
  it('refuse the id of a document that does not exist, nested and in lists too', async () => {
    const { id } = await create(authors, {});
    const post = await create(posts, { title: 'x' });
    const body = {
      title: 'x',
      author: 'unknown',
      editors: [id, 'unknown'],
      notes: [{ by: id }, { by: post.id }],
      layout: [{ blockType: 'cast', who: ['unknown', id] }],
    };
    const answer = await service.call('POST', posts, body);
    assert.equal(answer.status, 400);
    assert.deepEqual(fieldsOf(answer).sort(), ['author', 'editors.1', 'layout.0.who.0', 'notes.1.by']);
    assert.match(errorsOf(answer).author ?? '', /must be the id of a document of authors, got "unknown"/);
    const patched = await service.call('PATCH', `${posts}/${post.id}`, { notes: [{ by: 'x' }] });
    assert.deepEqual([patched.status, fieldsOf(patched)], [400, ['notes.0.by']]);
  });

  it('refuse an invalid id', async () => {
    const answer = await service.call('POST', posts, { title: 'x', author: 3, editors: 'x' });
    assert.deepEqual(errorsOf(answer), {
      author: 'author must be the id of a document, got 3',
      editors: 'editors must be a list, got "x"',
    });
  });

  it('stay the id when the document they point to is deleted', async () => {
    const author = await create(authors, {});
    const post = await create(posts, { title: 'x', author: author.id, editors: [author.id] });
    assert.equal((await service.call('DELETE', `${authors}/${author.id}`)).status, 200);
    const { body } = await service.call('GET', `${posts}/${post.id}`);
    assert.deepEqual([body.author, body.editors], [author.id, [author.id]]);
    const changed = await service.call('PATCH', `${posts}/${post.id}`, { title: 'y' });
    assert.deepEqual([changed.status, changed.body.author], [200, author.id]);
    const fresh = await service.call('POST', posts, { title: 'z', author: author.id });
    assert.deepEqual([fresh.status, fieldsOf(fresh)], [400, ['author']]);
  });

  it('let a document whose target is gone be sent back as it was read', async () => {
    const author = await create(authors, {});
    const post = await create(posts, { title: 'x', author: author.id, editors: [author.id] });
    await service.call('DELETE', `${authors}/${author.id}`);
    const answer = await service.call('PATCH', `${posts}/${post.id}`, { ...post, title: 'y' });
    assert.deepEqual([answer.status, answer.body.title, answer.body.author], [200, 'y', author.id]);
  });

  it('are seen from the other side by join fields, in lists and answers to writes too', async () => {
    const author = await create(authors, { name: 'Joined' });
    assert.deepEqual([author.posts, author.edited], [[], []]);
    const first = await create(posts, { title: '1', author: author.id });
    const second = await create(posts, { title: '2', author: author.id, editors: [author.id] });
    const read = await service.call('GET', `${authors}/${author.id}`);
    assert.deepEqual([read.body.posts, read.body.edited], [[first.id, second.id], [second.id]]);
    const { body: list } = await service.call('GET', `${authors}?limit=1`);
    assert.deepEqual(list.docs, [read.body]);
    const changed = await service.call('PATCH', `${authors}/${author.id}`, { name: 'J' });
    assert.deepEqual(changed.body.posts, [first.id, second.id]);
    await service.call('DELETE', `${posts}/${first.id}`);
    await service.call('PATCH', `${posts}/${second.id}`, { editors: [] });
    const gone = await service.call('DELETE', `${authors}/${author.id}`);
    assert.deepEqual([gone.body.posts, gone.body.edited], [[second.id], []]);
  });
});

describe('GET /api/collections/:slug/:id (4.1)', () => {
  it('answers 404 for what is not there, whatever the id looks like', async () => {
    const missing = '01890000-0000-7000-8000-000000000000';
    const ids = [
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      'a%2Fb',
      "1'%20OR%20'1'='1",
      '%00',
      '%F0%9F%92%A5',
      'x'.repeat(10_000),
    ];
    for (const id of [missing, missing.toUpperCase(), 'null', 'undefined', '*', '%25', '-1', ...ids]) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await service.call(method, `${posts}/${id}`, method === 'PATCH' ? { title: 'x' } : undefined);
        const { message, ...rest } = answer.body;
        assert.deepEqual(
          [answer.status, rest],
          [404, { statusCode: 404, error: 'Not Found', code: 'not_found' }],
          `${method} ${id}`,
        );
        assert.match(message, /^there is no document ".*" in posts$/);
        assert.ok(message.length < 1000);
      }
    }
    for (const id of ['a/b', '', '..', '%2e%2e']) {
      const { status, body } = await service.call('GET', `${posts}/${id}`);
      assert.deepEqual([status, body.statusCode, body.error], [404, 404, 'Not Found']);
    }
  });

  it('answers 404 for a collection that is not there and for a document of another one', async () => {
    const { id } = await create(authors, {});
    for (const path of [
      '/api/collections/nope',
      `/api/collections/nope/${id}`,
      `${posts}/${id}`,
      '/api/collections/POSTS',
    ]) {
      const { status, body } = await service.call('GET', path);
      assert.deepEqual([status, body.statusCode, body.error], [404, 404, 'Not Found'], path);
    }
    assert.equal((await service.call('POST', '/api/collections/nope', {})).status, 404);
  });

  it('does not find a document again that was deleted', async () => {
    const { id } = await create(posts, { title: 'x' });
    await service.call('DELETE', `${posts}/${id}`);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      assert.equal((await service.call(method, `${posts}/${id}`, method === 'PATCH' ? {} : undefined)).status, 404);
    }
    assert.equal(recordedEvents(service.data, `posts/${id}`).length, 2);
  });

  it('refuses query parameters that it does not know', async () => {
    const { id } = await create(posts, { title: 'x' });
    for (const [name, message] of [
      ['depth', /must be one whole number from 0, got "x"/],
      ['where[title][equals]', /is not a query parameter; allowed: "depth"/],
      ['foo', /is not a query parameter/],
    ] as const) {
      const answer = await service.call('GET', `${posts}/${id}?${encodeURIComponent(name)}=x`);
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, [name]]);
      assert.match(answer.body.message, message);
    }
    for (const method of ['PATCH', 'DELETE']) {
      assert.equal(
        (await service.call(method, `${posts}/${id}?force=1`, method === 'PATCH' ? {} : undefined)).status,
        400,
      );
    }
    assert.equal((await service.call('POST', `${posts}?draft=true`, { title: 'x' })).status, 400);
    assert.equal((await service.call('GET', `${posts}/${id}?_cb=17`)).body.id, id);
  });

  it('answers HEAD like GET, without the body', async () => {
    const { id } = await create(posts, { title: 'headed' });
    for (const path of [`${posts}/${id}`, posts]) {
      const get = await fetch(service.url + path, { headers: { 'x-api-key': apiKey } });
      const head = await fetch(service.url + path, { method: 'HEAD', headers: { 'x-api-key': apiKey } });
      assert.equal(head.status, 200);
      assert.equal(await head.text(), '');
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
      assert.equal(Number(head.headers.get('content-length')), (await get.arrayBuffer()).byteLength);
    }
    assert.equal((await service.call('HEAD', `${posts}/nope`)).status, 404);
  });
});

describe('PATCH /api/collections/:slug/:id (4.1)', () => {
  it('answers the whole document, with only the fields changed that were sent', async () => {
    const before = await create(posts, { title: 'One', code: 'patched', notes: [{ text: 'n' }] });
    const { status, body } = await assertRecorded(
      service,
      () => service.call('PATCH', `${posts}/${before.id}`, { title: 'Two' }),
      (answer) => [
        {
          type: 'document.updated',
          stream: `posts/${before.id}`,
          data: { set: { title: 'Two', updatedAt: answer.body.updatedAt } },
        },
      ],
    );
    assert.equal(status, 200);
    assert.deepEqual(body, { ...before, title: 'Two', updatedAt: body.updatedAt });
    assert.deepEqual((await service.call('GET', `${posts}/${before.id}`)).body, body);
  });

  it('appends nothing for {} or for values that are there already', async () => {
    const before = await create(posts, { title: 'Same', body: { a: [1] } });
    for (const change of [{}, { title: 'Same' }, { body: { a: [1] } }, { code: null, notes: [] }]) {
      const patch = () => service.call('PATCH', `${posts}/${before.id}`, change);
      const { status, body } = await assertRecorded(service, patch, []);
      assert.deepEqual([status, body], [200, before]);
    }
  });

  it('strictly increases updatedAt, however fast the changes come', async () => {
    const { id, updatedAt } = await create(posts, { title: '0' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => service.call('PATCH', `${posts}/${id}`, { title: `t${index}` })),
    );
    const times = [updatedAt, ...answers.map(({ body }) => body.updatedAt)].map((time) => Date.parse(time));
    assert.equal(new Set(times).size, 21);
    assert.equal(Math.min(...times), Date.parse(updatedAt));
    const recorded = recordedData(service.data, `posts/${id}`).slice(1) as { set: { updatedAt: string } }[];
    const inOrder = recorded.map(({ set }) => set.updatedAt);
    assert.deepEqual([...inOrder].sort(), inOrder);
  });

  it('empties a field by null, a list to []', async () => {
    const { id } = await create(posts, { title: 'x', code: 'nulled', notes: [{ text: 'n' }], seo: { path: 'nulled' } });
    const { status, body } = await service.call('PATCH', `${posts}/${id}`, { code: null, notes: null, seo: null });
    assert.deepEqual([status, body.code, body.notes, body.seo], [200, null, [], null]);
  });

  it('replaces nested values whole', async () => {
    const { id } = await create(posts, { title: 'x', notes: [{ text: '1' }, { text: '2' }] });
    const { body } = await service.call('PATCH', `${posts}/${id}`, { notes: [{}] });
    assert.deepEqual(body.notes, [{ text: null, by: null }]);
  });

  it('refuses null for a required field, unknown fields and wrong values, changing nothing', async () => {
    const before = await create(posts, { title: 'x' });
    const answer = await service.call('PATCH', `${posts}/${before.id}`, {
      title: null,
      cod: 'x',
      rank: 'first',
      code: 'ok',
    });
    assert.equal(answer.status, 400);
    assert.deepEqual(errorsOf(answer), {
      title: 'title is required, got null',
      rank: 'rank must be a number, got "first"',
      cod: 'cod is not a field; did you mean "code"?',
    });
    assert.deepEqual((await service.call('GET', `${posts}/${before.id}`)).body, before);
  });
});

describe('DELETE /api/collections/:slug/:id (4.1)', () => {
  it('answers 200 with the document that was deleted and records it', async () => {
    const document = await create(posts, { title: 'gone', notes: [{ text: 'n' }] });
    const { status, body } = await assertRecorded(service, () => service.call('DELETE', `${posts}/${document.id}`), [
      { type: 'document.deleted', stream: `posts/${document.id}`, data: {} },
    ]);
    assert.deepEqual([status, body], [200, document]);
    const { body: list } = await service.call('GET', `${posts}?limit=100`);
    assert.ok(list.docs.every(({ id }: { id: string }) => id !== document.id));
  });
});
