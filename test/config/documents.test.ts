import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import { compileValidator, defaultDocument } from '../../config/documents.ts';
import { DomainError } from '../../config/errors.ts';
import { compileShape } from '../../config/shape.ts';

function fieldsOf(...fields: unknown[]) {
  const { collections } = checkConfig({ collections: [{ slug: 'posts', fields }] });
  return collections.get('posts')?.fields ?? [];
}

const validatorOf = (...fields: unknown[]) => compileValidator({ fields: fieldsOf(...fields) });

/** The errors of `run`: field → message. */
function errorsOf(run: () => unknown): { [field: string]: string } {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.code, 'validation_failed');
    assert.ok(!error.message.includes('\n'));
    return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]));
  }
  return {};
}

/** Which of the values a field of this type takes. */
function taken(field: object, values: unknown[]): unknown[] {
  const { create } = validatorOf({ name: 'f', ...field });
  return values.filter((f) => Object.keys(errorsOf(() => create({ f }))).length === 0);
}

const everyType = [
  { name: 'title', type: 'text', required: true, minLength: 2, maxLength: 20 },
  { name: 'slug', type: 'text', pattern: '[a-z-]+' },
  { name: 'body', type: 'richText' },
  { name: 'mail', type: 'email' },
  { name: 'site', type: 'url' },
  { name: 'count', type: 'number', integer: true, min: 0, max: 9 },
  { name: 'isOpen', type: 'boolean' },
  {
    type: 'row',
    fields: [
      { name: 'day', type: 'date' },
      { name: 'at', type: 'datetime' },
      { name: 'hour', type: 'time' },
    ],
  },
  { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
  { name: 'tags', type: 'multiSelect', options: ['a', 'b'], minLength: 1 },
  { name: 'parent', type: 'relationship', relationTo: 'posts' },
  { name: 'related', type: 'relationship', relationTo: 'posts', hasMany: true },
  { name: 'children', type: 'join', collection: 'posts', on: 'parent' },
  {
    name: 'seo',
    type: 'object',
    fields: [
      { name: 'theme', type: 'text', defaultValue: 'dark' },
      { name: 'n', type: 'number' },
    ],
  },
  {
    name: 'links',
    type: 'array',
    fields: [
      { name: 'url', type: 'url', required: true },
      { name: 'kind', type: 'text', defaultValue: 'web' },
    ],
  },
  {
    name: 'layout',
    type: 'blocks',
    blocks: [{ slug: 'hero', fields: [{ name: 'head', type: 'text', required: true }] }],
  },
  { name: 'constructor', type: 'text' },
  { name: 'toString', type: 'json' },
];

describe('create', () => {
  const { create } = validatorOf(...everyType);

  it('gives every field in the order of the configuration, with defaults, null and []', () => {
    const document = create({ links: [{ url: 'https://a.example' }], title: 'One' });
    assert.deepEqual(Object.keys(document).slice(0, 3), ['title', 'slug', 'body']);
    assert.deepEqual(document.links, [{ url: 'https://a.example', kind: 'web' }]);
    assert.deepEqual(document.seo, { theme: 'dark', n: null });
    assert.deepEqual([document.status, document.mail, document.tags, document.related], ['draft', null, [], []]);
    assert.ok(!Object.hasOwn(document, 'children'));
  });

  it('takes what it gave, and what the server adds, without a change', () => {
    const document = create({ title: 'One', at: '2024-02-29T12:00:00Z', layout: [{ blockType: 'hero', head: 'x' }] });
    assert.deepEqual(create(document), document);
    assert.deepEqual(create({ id: 'x', createdAt: 1, updatedAt: {}, children: [3], ...document }), document);
  });

  it('leaves its argument as it was', () => {
    const input = { title: 'One', links: [{ url: 'https://a.example' }], at: '2024-02-29T12:00:00+01:00' };
    const before = structuredClone(input);
    create(input);
    assert.deepEqual(input, before);
  });

  it('names every wrong field by its path, what came and what is allowed', () => {
    const wrong = {
      staus: 1,
      status: 'drft',
      count: '3',
      links: [{ url: 'https://a.example' }, { url: 'x', knd: 1 }, 3],
      layout: [{ blockType: 'hro' }, { blockType: 'hero' }, {}],
      tags: ['a', 'a', 'q'],
    };
    assert.deepEqual(
      errorsOf(() => create(wrong)),
      {
        title: 'title is required',
        status: 'status must be one of "draft", "published", got "drft"; did you mean "draft"?',
        count: 'count must be a number, got "3"',
        'tags.1': 'tags.1 must not be listed twice, got "a"',
        'tags.2': 'tags.2 must be one of "a", "b", got "q"',
        'links.1.url': 'links.1.url must be an absolute http or https URL, got "x"',
        'links.1.knd': 'links.1.knd is not a field; did you mean "kind"?',
        'links.2': 'links.2 must be an object, got 3',
        'layout.0.blockType': 'layout.0.blockType must be one of "hero", got "hro"; did you mean "hero"?',
        'layout.1.head': 'layout.1.head is required',
        'layout.2.blockType': 'layout.2.blockType is required',
        staus: 'staus is not a field; did you mean "status"?',
      },
    );
  });

  it('refuses a body that is no object', () => {
    for (const input of [null, [], 'x', 3, undefined]) {
      assert.throws(() => create(input), { code: 'validation_failed', message: 'the body must be a JSON object' });
    }
  });

  it('says in one line what is wrong', () => {
    assert.throws(() => create({}), { message: 'title is required' });
    assert.throws(() => create({ mail: 'x' }), { message: '2 fields are wrong: title, mail' });
  });

  it('lists at most 100 wrong fields, and only the first of a body too large to list', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, 1]));
    assert.equal(Object.keys(errorsOf(() => create(many))).length, 100);
    const huge = { title: 'One', related: new Array(400_000).fill(1) };
    assert.deepEqual(Object.keys(errorsOf(() => create(huge))), ['related.0']);
  });

  it('shows only the beginning of a long value', () => {
    const { slug = '' } = errorsOf(() => create({ title: 'One', slug: 'X'.repeat(9999) }));
    assert.ok(slug.length < 120, slug);
  });
});

describe('update', () => {
  const { update } = validatorOf(...everyType);

  it('gives only what came, replaced whole', () => {
    assert.deepEqual(update({}), {});
    assert.deepEqual(update({ count: 3, id: 'x', children: [] }), { count: 3 });
    assert.deepEqual(update({ seo: { n: 1 } }), { seo: { theme: 'dark', n: 1 } });
    assert.deepEqual(update({ tags: null, seo: null }), { tags: [], seo: null });
  });

  it('holds required where the field came, and inside what came', () => {
    assert.deepEqual(
      errorsOf(() => update({ title: null, links: [{}] })),
      {
        title: 'title is required, got null',
        'links.0.url': 'links.0.url is required',
      },
    );
  });
});

describe('required', () => {
  it('refuses null, a missing value, an empty text and an empty list', () => {
    const { create } = validatorOf(
      { name: 'a', type: 'text', required: true },
      { name: 'b', type: 'multiSelect', options: ['x'], required: true },
      { name: 'c', type: 'number', required: true },
      { name: 'd', type: 'json', required: true },
    );
    assert.deepEqual(Object.keys(errorsOf(() => create({ d: 0 }))), ['a', 'b', 'c']);
    const nulls = errorsOf(() => create({ a: null, b: null, c: null, d: null }));
    assert.deepEqual(Object.keys(nulls), ['a', 'b', 'c', 'd']);
    assert.equal(nulls.d, 'd is required, got null');
    assert.deepEqual(Object.keys(errorsOf(() => create({ a: '', b: [], c: 0, d: '' }))), ['a', 'b']);
  });

  it('is met by a default if a value is missing, but not if it is null', () => {
    const { create } = validatorOf({ name: 'a', type: 'text', required: true, defaultValue: 'x' });
    assert.deepEqual(create({}), { a: 'x' });
    assert.deepEqual(Object.keys(errorsOf(() => create({ a: null }))), ['a']);
  });
});

describe('values', () => {
  it('of texts are counted in characters and matched as a whole', () => {
    assert.deepEqual(taken({ type: 'text', maxLength: 2 }, ['', '🎉🎉', 'abc', 3, true, {}]), ['', '🎉🎉']);
    assert.deepEqual(taken({ type: 'text', pattern: 'a|b' }, ['a', 'b', 'ab', 'xa']), ['a', 'b']);
    assert.deepEqual(taken({ type: 'text' }, ['a\0', '\ud800', 'ok']), ['ok']);
  });

  it('of e-mails and URLs are addresses', () => {
    assert.deepEqual(taken({ type: 'email' }, ['a@b.co', 'a@intra.lan', 'a', '', 'a@b', '=?utf-8?q?x?=@x.org']), [
      'a@b.co',
      'a@intra.lan',
    ]);
    const urls = [
      'https://a.example/x?y#z',
      'http://localhost:3000',
      'ftp://a',
      '/x',
      'javascript:1',
      'http:a',
      ' http://a',
      '',
    ];
    assert.deepEqual(taken({ type: 'url' }, urls), urls.slice(0, 2));
  });

  it('of numbers and booleans are of their JSON type', () => {
    assert.deepEqual(taken({ type: 'number' }, [0, -1.5, '1', true, 2 ** 53, Number.POSITIVE_INFINITY]), [0, -1.5]);
    assert.deepEqual(taken({ type: 'number', integer: true, min: 1, max: 2 }, [0, 1, 1.5, 2, 3]), [1, 2]);
    assert.deepEqual(taken({ type: 'boolean' }, [true, false, 'true', 1, 0]), [true, false]);
  });

  it('of dates and times exist', () => {
    assert.deepEqual(taken({ type: 'date' }, ['2024-02-29', '2023-02-29', '2024-1-1', '2024-02-29T00:00:00Z']), [
      '2024-02-29',
    ]);
    const times = ['00:00', '23:59:59', '24:00', '9:00', '12:60', '12:30:60', '12:30:00.5', '12:30:0'];
    assert.deepEqual(taken({ type: 'time' }, times), ['00:00', '23:59:59']);
    const wrong = [
      '2024-02-29T12:00:00',
      '2024-02-30T12:00:00Z',
      '2024-02-29T24:00:00Z',
      '0000-01-01T00:00:00+01:00',
      '2024-02-29',
    ];
    assert.deepEqual(taken({ type: 'datetime' }, wrong), []);
    const { create } = validatorOf({ name: 'at', type: 'datetime' });
    assert.deepEqual(create({ at: '2024-02-29T23:30-01:00' }), { at: '2024-03-01T00:30:00.000Z' });
  });

  it('of lists keep to their lengths, but may be empty if they are not required', () => {
    const many = { type: 'relationship', relationTo: 'posts', hasMany: true, minLength: 2, maxLength: 3 };
    assert.deepEqual(taken(many, [[], ['a'], ['a', 'b'], ['a', 'b', 'c', 'd'], 'a', [1, 2]]), [[], ['a', 'b']]);
  });

  it('of JSON are clean, finite and at most 100 levels deep', () => {
    const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    assert.equal(taken({ type: 'json' }, [deep(100), 'x', { a: [1, null] }, false]).length, 4);
    const wrong = [deep(101), deep(100_000), { a: ['\0'] }, { '\ud800': 1 }, JSON.parse('[1e400]')];
    assert.deepEqual(taken({ type: 'richText' }, wrong), []);
  });
});

describe('defaults', () => {
  it('make a missing object only if that satisfies its required fields', () => {
    const fields = (required: boolean) => [
      { name: 'a', type: 'text', defaultValue: 'x' },
      { name: 'b', type: 'text', required },
    ];
    const made = validatorOf({ name: 'o', type: 'object', fields: fields(false) }).create({});
    assert.deepEqual(made, { o: { a: 'x', b: null } });
    assert.deepEqual(validatorOf({ name: 'o', type: 'object', fields: fields(true) }).create({}), { o: null });
  });

  it('of a function are checked each time, and a wrong one is no fault of the caller', () => {
    let value: unknown = 1;
    const { create } = validatorOf({ name: 'n', type: 'number', defaultValue: () => value });
    assert.deepEqual(create({}), { n: 1 });
    value = 'one';
    assert.throws(() => create({}), {
      name: 'Error',
      message: /The default of collections\.posts\.fields\.n must be a number/,
    });
  });

  it('are the document that was never written', () => {
    const fields = fieldsOf(
      { name: 'a', type: 'text', required: true },
      { name: 'b', type: 'number', defaultValue: 0 },
      { name: 'c', type: 'json' },
    );
    assert.deepEqual(defaultDocument(fields), { a: null, b: 0, c: null });
  });
});

describe('whatever JSON comes', () => {
  const fields = fieldsOf(...everyType);
  const { create, update } = compileValidator({ fields });
  const names = [
    ...fields.map(({ name }) => name),
    'blockType',
    '__proto__',
    'prototype',
    'url',
    'head',
    'hasOwnProperty',
  ];
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('draft', 'hero', 'a', 'https://a.example', '2024-02-29', null, '', '\0'),
      fc.jsonValue(),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), tie('value')), { maxLength: 6 })
      // JSON.parse makes `__proto__` an ordinary key.
      .map((entries) =>
        JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
      ),
  }));

  it('is taken or refused as invalid, and shaping what is taken changes nothing', () => {
    fc.assert(
      fc.property(fc.oneof(values.object, values.value), (input) => {
        for (const write of [create, update]) {
          try {
            const document = write(input);
            assert.deepEqual(write(document), document);
            if (write === create) assert.deepEqual(compileShape(fields)(document), document);
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
            assert.equal(error.code, 'validation_failed');
          }
        }
        assert.equal(Object.getPrototypeOf({}), Object.prototype);
        assert.deepEqual(Object.keys(Object.prototype), []);
      }),
      { numRuns: 1000 },
    );
  });

  it('is never read from a prototype', () => {
    const hidden = JSON.parse('{"__proto__":{"title":"hidden"}}');
    assert.deepEqual(
      errorsOf(() => create(hidden)),
      { title: 'title is required' },
    );
    const document = create({ title: 'One' });
    assert.equal(document.constructor, null);
    assert.equal(document.toString, null);
    assert.deepEqual(create({ title: 'One', constructor: 'x' }).constructor, 'x');
  });
});
