import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import atlas from '../../examples/atlas/annals.config.ts';
import { documentExample, sortExample, whereExamples } from '../../server/openapi/examples.ts';
import rich from '../contract/rich.ts';
import { inlined, type OpenApi, operationsOf, schemasIn } from '../helpers/contract.ts';
import { withApp } from '../helpers/openapi.ts';

/** An example collection with these fields. */
function collectionOf(...fields: object[]) {
  const things = checkConfig({ collections: [{ slug: 'things', fields }] }).collections.get('things');
  assert.ok(things);
  return things;
}

describe('The examples of the OpenAPI document', () => {
  for (const [name, config] of Object.entries({ atlas, rich })) {
    it(`fit their schemas: ${name}`, async () => {
      const document = inlined(JSON.parse(await withApp(config, (app) => app.openApi())));
      const compile = schemasIn(document);
      const met = { parameters: 0, documents: 0 };
      for (const operation of operationsOf(document)) {
        const [method = '', path = ''] = operation.split(' ');
        const at = ['paths', path, method.toLowerCase()];
        const { parameters = [] } = document.paths[path][method.toLowerCase()];
        for (const [index, { name, example, examples = {} }] of parameters.entries()) {
          const values = [example, ...Object.values<OpenApi>(examples).map(({ value }) => value)];
          const fits = compile(...at, 'parameters', String(index), 'schema');
          for (const value of values.filter((one) => one !== undefined)) {
            assert.ok(fits(value), `${operation} ${name}: ${JSON.stringify(value)} ${JSON.stringify(fits.errors)}`);
            met.parameters += 1;
          }
        }
      }
      for (const [name, { example, properties = {} }] of Object.entries<OpenApi>(document.components.schemas)) {
        const examples = Object.entries<OpenApi>(properties).flatMap(([member, { example: one }]) =>
          one === undefined ? [] : [[['properties', member], one] as const],
        );
        for (const [at, value] of [...(example === undefined ? [] : [[[], example] as const]), ...examples]) {
          const fits = compile('components', 'schemas', name, ...at);
          assert.ok(fits(value), `${name} ${at}: ${JSON.stringify(fits.errors)}`);
        }
        if (example !== undefined && /^(collections|globals)\.[^.]+$/.test(name)) met.documents += 1;
      }
      const lists = operationsOf(document).filter((one) => /^GET \/api\/collections\/[^/]+$/.test(one)).length;
      // limit, sort, depth and four filters; each collection has the example of a document, and so has a global.
      assert.ok(met.parameters >= lists * 7 && met.documents > lists, JSON.stringify(met));
    });
  }

  it('are made of what the fields take, the author’s own words first', () => {
    const own = documentExample(
      collectionOf(
        { name: 'title', type: 'text', required: true, maxLength: 3 },
        { name: 'long', type: 'text', minLength: 7 },
        { name: 'code', type: 'text', required: true, pattern: '[A-Z]{3}' },
        { name: 'odd', type: 'text', pattern: 'never [0-9] so' },
        { name: 'hint', type: 'text', admin: { placeholder: 'Moby-Dick' } },
        { name: 'status', type: 'select', options: ['a', 'b'], defaultValue: 'b' },
        { name: 'year', type: 'number', integer: true, min: 1990.5, max: 1991 },
        { name: 'tags', type: 'multiSelect', options: ['x', 'y', 'z'], minLength: 2 },
        { name: 'none', type: 'multiSelect', options: ['x'], maxLength: 0 },
        { name: 'others', type: 'relationship', relationTo: 'things', hasMany: true, minLength: 2 },
        { name: 'parts', type: 'array', fields: [{ name: 'odd', type: 'text', pattern: 'never so', required: true }] },
      ),
    );
    assert.ok(own);
    const { id, createdAt, updatedAt, ...values } = own;
    assert.deepEqual(values, {
      title: 'tit',
      long: 'longlon',
      code: 'ABC',
      odd: null,
      hint: 'Moby-Dick',
      status: 'b',
      year: 1991,
      tags: ['x', 'y'],
      none: [],
      others: [id, id],
      parts: [],
    });
  });

  it('are none if a field has to have a value and no example fits', () => {
    const odd = collectionOf({ name: 'odd', type: 'text', pattern: 'never [0-9] so', required: true });
    assert.equal(documentExample(odd), undefined);
  });

  it('do not run a pattern that takes long on a long text', () => {
    const name = 'a'.repeat(64);
    assert.equal(documentExample(collectionOf({ name, type: 'text', pattern: '(a+)+!' }))?.[name], null);
  });

  it('filter and sort by nothing that some callers may not read', () => {
    const secret = { access: { read: () => false } };
    const things = collectionOf({ name: 'a', type: 'text', ...secret }, { name: 'b', type: 'json' });
    assert.equal(sortExample(things), '-updatedAt');
    assert.doesNotMatch(JSON.stringify(whereExamples(things)), /"[ab]"/);
    const { field } = whereExamples(
      collectionOf({ name: 'a', type: 'text', ...secret }, { name: 'c', type: 'number' }),
    );
    assert.deepEqual(field?.value, { c: { greater_than_equal: 1 } });
  });
});
