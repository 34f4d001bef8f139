import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { compileValidator } from '../../config/documents.ts';
import type { Field } from '../../config/model.ts';
import { componentsOf } from '../../server/openapi/components.ts';
import { objectOf } from '../../server/openapi/fields.ts';
import { schemasIn } from '../helpers/contract.ts';

const id = '0190a5d2-0000-7000-8000-000000000000';
const hex = { type: 'text', pattern: '[0-9a-f]+' };
const parts = [
  { name: 'a', type: 'text', required: true },
  { name: 'b', type: 'number', defaultValue: 1 },
];

/**
 * A field, and values for it: which of them may be written is for the validator to say, and the document must agree.
 */
const cases: [field: object, values: unknown[]][] = [
  [{ type: 'text' }, ['', 'x', 3, true, [], {}]],
  [{ type: 'text', required: true }, ['', 'x']],
  [{ type: 'text', minLength: 2, maxLength: 3 }, ['', 'x', 'xx', '👩👩👩', 'xxxx']],
  [{ type: 'text', required: true, minLength: 0 }, ['', 'x']],
  [{ type: 'textarea', maxLength: 2 }, ['x\n', 'xxx']],
  [hex, ['', 'af', 'x', 'afx', 'xaf']],
  [{ ...hex, pattern: 'a|bc' }, ['a', 'bc', 'ac', 'abc']],
  [{ type: 'email' }, ['', 'a@example.org', 'ä@example.org', 'a@bücher.example', 'a@example。org', 'a', 'a@', '@b.c']],
  [{ type: 'email', pattern: '.*org', maxLength: 15 }, ['ä@example.org', 'ab@c.example', 'abc@example.org.org']],
  [{ type: 'url' }, ['', 'https://example.org/a?b=c', 'https://example.org/ü', 'HTTP://ü.example', 'a.org', '/a', 3]],
  [{ type: 'url' }, ['https://exa mple.org', 'https:example.org', 'ftp://example.org', 'https:///', ' https://a.org']],
  [{ type: 'url', pattern: '[a-z:/.]+' }, ['https://example.org/', 'https://example.org/1', 'example.org']],
  [{ type: 'number' }, [0, -1.5, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, '3', true]],
  [{ type: 'number', integer: true, min: 1, max: 3 }, [0, 1, 1.5, 3, 4]],
  [{ type: 'boolean' }, [true, false, 0, 'true']],
  [{ type: 'date' }, ['2024-02-29', '2023-02-29', '2024-2-29', '2024-02-29T00:00:00Z', '']],
  [{ type: 'datetime' }, ['2024-02-29T12:30:00Z', '2024-02-29T12:30:00+01:00', '2024-02-29', '12:30', '']],
  [{ type: 'datetime' }, ['2024-02-29T12:30Z', '2024-02-29T12:30-23:59', '2024-02-29T12:30:59.1234567Z']],
  [{ type: 'datetime' }, ['2024-02-29T24:00Z', '2024-02-29T12:60Z', '2024-02-29T12:30:60Z', '2024-02-29T12:30+24:00']],
  [{ type: 'datetime' }, ['2024-13-01T12:30Z', '2024-00-01T12:30Z', '2024-01-32T12:30Z', '2024-01-01T12:30']],
  [{ type: 'datetime' }, ['2024-02-29t12:30:00z', '2024-02-29 12:30:00Z', '2024-02-29T12:30:00.Z']],
  [{ type: 'time' }, ['23:59', '23:59:59', '24:00', '23:60', '23:59:60', '1:00', '23:59Z', '']],
  [{ type: 'select', options: ['a', 'b'] }, ['a', 'c', '', 0]],
  [{ type: 'radio', options: ['a'], required: true }, ['a', 'c']],
  [{ type: 'multiSelect', options: ['a', 'b', 'c'] }, [[], ['a'], ['a', 'a'], ['d'], 'a', [null]]],
  [
    { type: 'multiSelect', options: ['a', 'b', 'c'], minLength: 2, maxLength: 2 },
    [[], ['a'], ['a', 'b'], ['a', 'b', 'c']],
  ],
  [{ type: 'multiSelect', options: ['a', 'b'], required: true }, [[], ['a']]],
  [{ type: 'multiSelect', options: ['a', 'b', 'c'], required: true, minLength: 2 }, [[], ['a'], ['a', 'b']]],
  [{ type: 'relationship', relationTo: 'things' }, [id, 3, [id], {}]],
  [{ type: 'relationship', relationTo: 'things', hasMany: true, maxLength: 1 }, [id, [], [id], [id, id], [3]]],
  [{ type: 'object', fields: parts }, [{ a: 'x' }, { a: 'x', b: null }, { a: '' }, {}, { a: 'x', c: 1 }, [], 'x']],
  [{ type: 'object', fields: parts, required: true }, [{ a: 'x' }, {}]],
  [{ type: 'array', fields: parts }, [[], [{ a: 'x' }], [{}], [{ a: 'x', c: 1 }], [null], {}]],
  [{ type: 'array', fields: parts, required: true, maxLength: 1 }, [[], [{ a: 'x' }], [{ a: 'x' }, { a: 'x' }]]],
  [
    {
      type: 'blocks',
      blocks: [
        { slug: 'one', fields: parts },
        { slug: 'two', fields: [] },
      ],
    },
    [
      [],
      [{ blockType: 'one', a: 'x' }, { blockType: 'two' }],
      [{ blockType: 'two', a: 'x' }],
      [{ blockType: 'one' }],
      [{ blockType: 'three' }],
      [{}],
    ],
  ],
  [{ type: 'json' }, [1, '', 'x', [], {}, [null], { a: [1] }, false]],
  [{ type: 'json', required: true }, [1, '', 'x', [], {}, [null], { a: [1] }, false]],
  [{ type: 'richText' }, [{ ops: [] }, []]],
];

function check(field: object, names = ['value']) {
  const fields = names.map((name) => ({ ...field, name }));
  const model = checkConfig({ collections: [{ slug: 'things', fields }] });
  const things = model.collections.get('things');
  assert.ok(things);
  const compile = schemasIn({ components: { schemas: componentsOf(model) } });
  const accepts = {
    create: compile('components', 'schemas', 'collections.things.create'),
    update: compile('components', 'schemas', 'collections.things.update'),
  };
  return { validator: compileValidator(things), accepts };
}

function isAccepted(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch {
    return false;
  }
}

describe('The bodies that the document describes', () => {
  for (const [field, values] of cases) {
    it(`are those that the service takes: ${JSON.stringify(field)}`, () => {
      const { validator, accepts } = check(field);
      const bodies = [{}, { value: null }, { valeu: 1 }, ...values.map((value) => ({ value }))];
      const outcomes = new Set<boolean>();
      for (const use of ['create', 'update'] as const) {
        for (const body of bodies) {
          const isTaken = isAccepted(() => validator[use](structuredClone(body)));
          assert.equal(accepts[use](body), isTaken, `${use} ${JSON.stringify(body)}`);
          outcomes.add(isTaken);
        }
      }
      assert.deepEqual([...outcomes].sort(), [false, true]);
    });
  }

  it('may hold what the server made, so that a document can be sent back', () => {
    const { validator, accepts } = check({ type: 'text' });
    const body = { id, createdAt: '2024-02-29T12:30:00.000Z', updatedAt: null, value: 'x' };
    assert.deepEqual(validator.create(body), { value: 'x' });
    assert.equal(accepts.create(body), true);
  });

  it('may leave out what has a default, which a create names and an update does not', () => {
    const field = { type: 'select', options: ['a', 'b'], required: true, defaultValue: 'b' };
    const { validator, accepts } = check(field);
    assert.deepEqual(validator.create({}), { value: 'b' });
    assert.equal(accepts.create({}), true);
    const model = checkConfig({ collections: [{ slug: 'things', fields: [{ ...field, name: 'value' }] }] });
    const { create, update } = Object.fromEntries(
      ['create', 'update'].map((use) => [
        use,
        JSON.parse(JSON.stringify(componentsOf(model)[`collections.things.${use}`])),
      ]),
    );
    assert.equal(create.properties.value.default, 'b');
    assert.deepEqual(update.properties.value, { type: 'string', enum: ['a', 'b'] });
  });

  it('may have fields of any name', () => {
    const names = ['constructor', 'toString', 'hasOwnProperty', 'length', 'type', 'properties', '$ref'.slice(1)];
    const { validator, accepts } = check({ type: 'number' }, names);
    const body = Object.fromEntries(names.map((name) => [name, 1]));
    assert.deepEqual(validator.create(body), body);
    assert.equal(accepts.create(body), true);
    assert.equal(accepts.create({ ...body, constructor: 'x' }), false);
  });
});

describe('The bodies of upload collections that the document describes', () => {
  const upload = { maxFileSize: 500, mimeTypes: ['image/*'] };
  const fields = [
    { name: 'alt', type: 'text', required: true },
    { name: 'place', type: 'object', fields: parts },
  ];
  const model = checkConfig({ collections: [{ slug: 'photos', upload, fields }] });
  const photos = model.collections.get('photos');
  assert.ok(photos);
  const components = JSON.parse(JSON.stringify(componentsOf(model)));
  const compile = schemasIn({ components: { schemas: components } });
  const accepts = (name: string) => compile('components', 'schemas', `collections.photos.${name}`);
  const ofFile = {
    filename: 'a.png',
    mimeType: 'image/png',
    filesize: 3,
    width: null,
    height: null,
    sha256: 'a'.repeat(64),
    url: '/api/media/photos/1/a.png',
  };

  it('are forms with a file, which an update may leave out', () => {
    const [create, update] = [accepts('upload'), accepts('updateUpload')];
    for (const [body, ...wanted] of [
      [{ file: 'bytes', alt: 'x' }, true, true],
      [{ file: 'bytes', alt: 'x', place: { a: 'x' } }, true, true],
      [{ file: 'bytes' }, false, true],
      [{ alt: 'x' }, false, true],
      [{}, false, true],
      [{ file: 'bytes', alt: 'x', alternative: 'x' }, false, false],
    ] as const) {
      assert.deepEqual([create(body), update(body)], wanted, JSON.stringify(body));
    }
    assert.equal('collections.photos.create' in components, false);
    const { file } = components['collections.photos.upload'].properties;
    assert.deepEqual([file.type, file.format], ['string', 'binary']);
    assert.match(file.description, /500 bytes.*image\/\*/);
  });

  it('may hold what is told of a file, which counts for nothing and no file has in JSON', () => {
    const update = accepts('update');
    assert.deepEqual(compileValidator(photos).update({ ...ofFile, width: 'odd', alt: 'x' }), { alt: 'x' });
    assert.equal(update({ ...ofFile, width: 'odd', alt: 'x' }), true);
    assert.equal(update({ file: 'bytes' }), false);
    assert.equal(accepts('upload')({ ...ofFile, file: 'bytes', alt: 'x' }), true);
  });

  it('become documents with all that is told of a file', () => {
    const { required, properties } = components['collections.photos'];
    assert.deepEqual(required, ['id']);
    assert.deepEqual(Object.keys(properties), ['id', 'createdAt', 'updatedAt', ...Object.keys(ofFile), 'alt', 'place']);
    const nullable = Object.keys(ofFile).filter((name) => properties[name].nullable);
    assert.deepEqual(nullable, ['width', 'height']);
  });
});

describe('The documents that the document describes', () => {
  it('have an upload as a relationship: an id, or the document', () => {
    const field: Field = { name: 'photo', type: 'upload', relationTo: 'media' };
    const { properties } = JSON.parse(JSON.stringify(objectOf([field], 'answer')));
    assert.deepEqual(properties.photo.oneOf, [
      { type: 'string', format: 'uuid', description: 'The id of a document of media.', nullable: true },
      { $ref: '#/components/schemas/collections.media' },
    ]);
  });

  it('have a time with its seconds, however it was written', () => {
    const { validator } = check({ type: 'datetime' });
    const { properties } = JSON.parse(JSON.stringify(objectOf([{ name: 'value', type: 'datetime' }], 'answer')));
    assert.deepEqual(properties.value, { type: 'string', format: 'date-time', nullable: true });
    assert.deepEqual(validator.create({ value: '2024-02-29T12:30Z' }), { value: '2024-02-29T12:30:00.000Z' });
  });

  it('say what people call a field and what it is for', () => {
    const field: Field = { name: 'n', type: 'number', label: 'Area (km²)', admin: { description: 'Land only' } };
    const { properties } = JSON.parse(JSON.stringify(objectOf([field], 'answer')));
    assert.equal(properties.n.description, 'Area (km²). Land only');
  });
});
