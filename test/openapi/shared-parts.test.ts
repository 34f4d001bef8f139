import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { shareParts } from '../../server/openapi/shared-parts.ts';
import { inlined, type OpenApi } from '../helpers/contract.ts';

const refusal = (description: string, headers?: object) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});
const limit = (maximum: number) => ({ name: 'limit', in: 'query', schema: { type: 'integer', maximum } });
const where = (slug: string) => ({
  name: 'where',
  in: 'query',
  schema: { anyOf: [{ $ref: `#/components/schemas/collections.${slug}.where` }, { type: 'string' }] },
});
const later = { 'Retry-After': { required: true, schema: { type: 'integer' } } };
const page = (slug: string) => ({
  description: 'A page.',
  content: { 'application/json': { schema: { $ref: `#/components/schemas/collections.${slug}` } } },
});

function operation(operationId: string, parameters: object[], responses: object): OpenApi {
  return { operationId, ...(parameters.length > 0 ? { parameters } : {}), responses };
}

/** A document with parts that occur once, often, and in several forms of one meaning. */
function example(): OpenApi {
  const [a, b] = ['collections.a', 'collections.b'];
  const schemas = ['Error', a, b, `${a}.where`, `${b}.where`].map((name) => [name, { type: 'object' }]);
  return {
    openapi: '3.0.3',
    info: { title: 'x', version: '1' },
    paths: {
      '/a': {
        get: operation('list_a', [limit(100), where('a')], {
          200: page('a'),
          404: refusal('No draft.'),
          401: refusal('?'),
        }),
        post: operation('count_a', [where('a')], { 200: refusal('Done.'), 404: refusal('Nothing.') }),
      },
      '/b': {
        get: operation('list_b', [limit(100), where('b')], { 200: page('b'), 404: refusal('No draft.') }),
        post: operation('aggregate_b', [limit(1000)], { 201: refusal('Made.', later), 404: refusal('Nothing.') }),
        put: operation('audit_sum', [limit(1000)], {
          201: page('b'),
          404: refusal('Nothing.'),
          503: refusal('!', later),
        }),
        delete: operation('drop', [], { 200: page('b'), 599: refusal('!'), default: refusal('A hook.') }),
        patch: operation('change', [limit(7)], { 200: page('a'), 599: refusal('!'), default: refusal('A hook.') }),
      },
    },
    components: { schemas: Object.fromEntries(schemas) },
  };
}

describe('Parts that operations share', () => {
  const document = shareParts(example());

  it('are once in the components, under names that follow from their meaning; a part that occurs once stays', () => {
    const names = Object.fromEntries(
      Object.entries<object>(document.components).map(([kind, parts]) => [kind, Object.keys(parts)]),
    );
    assert.deepEqual(
      [names.responses, names.parameters, names.headers],
      [
        ['NotFound', 'NotFound.list', 'Refused', 'Status599', 'collections.a', 'collections.b'],
        ['Limit', 'Limit.aggregate', 'collections.a.where'],
        ['RetryAfter'],
      ],
    );
    const { get } = document.paths['/a'];
    assert.deepEqual(get.parameters, [
      { $ref: '#/components/parameters/Limit' },
      { $ref: '#/components/parameters/collections.a.where' },
    ]);
    assert.deepEqual(get.responses, {
      200: { $ref: '#/components/responses/collections.a' },
      401: refusal('?'),
      404: { $ref: '#/components/responses/NotFound.list' },
    });
    const { parameters, responses } = document.paths['/b'].put;
    assert.deepEqual(parameters, [{ $ref: '#/components/parameters/Limit.aggregate' }]);
    assert.deepEqual(responses[503].headers, { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } });
  });

  it('are the same parts for a reader that follows the references, and the document is valid', async () => {
    assert.deepEqual(inlined(document), example());
    assert.notEqual(JSON.stringify(document), JSON.stringify(example()));
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.deepEqual([valid, errors], [true, undefined]);
  });

  it('do not change the document that is given, and are shared only once', () => {
    const given = example();
    assert.deepEqual(shareParts(given), document);
    assert.deepEqual(given, example());
    assert.equal(JSON.stringify(shareParts(document)), JSON.stringify(document));
  });

  it('get no name that another part has', () => {
    const given = example();
    const named = { name: 'limit.aggregate', in: 'query', schema: { type: 'string' } };
    for (const { get } of [given.paths['/a'], given.paths['/b']])
      get.parameters.push(named, { ...named, in: 'header' });
    const again = shareParts(given);
    assert.deepEqual(Object.keys(again.components.parameters).sort(), [
      'Limit',
      'Limit.aggregate',
      'LimitAggregate',
      'LimitAggregate.list',
      'collections.a.where',
    ]);
    assert.deepEqual(inlined(again), given);
  });
});
