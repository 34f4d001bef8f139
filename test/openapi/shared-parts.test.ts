import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { shareParts } from '../../server/openapi/shared-parts.ts';
import { inlined, type OpenApi } from '../helpers/contract.ts';
import { withApp } from '../helpers/openapi.ts';
import { rich } from './configurations.ts';

const refusal = (description: string, headers?: object) => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});
const limit = (maximum: number) => ({ name: 'limit', in: 'query', schema: { type: 'integer', maximum } });
const where = (slug: string) => ({
  name: 'where',
  in: 'query',
  schema: { oneOf: [{ $ref: `#/components/schemas/collections.${slug}.where` }, { type: 'string' }] },
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

  it('may be bodies, examples of parameters, and the credentials of most operations', () => {
    const given = example();
    const [{ get: listA, post: countA }, { get: listB, post: sumB }] = [given.paths['/a'], given.paths['/b']];
    const body = {
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      required: true,
    };
    for (const operation of [countA, sumB]) operation.requestBody = body;
    const since = { since: { value: '2024' } };
    listA.parameters[1] = { ...where('a'), examples: { ...since, own: { value: 'a' } } };
    countA.parameters[0] = listA.parameters[1];
    listB.parameters[1] = { ...where('b'), examples: since };
    const withoutDefault = shareParts(given);
    assert.equal(withoutDefault.security, undefined);

    const operations = Object.values<OpenApi>(given.paths).flatMap((methods) => Object.values<OpenApi>(methods));
    for (const operation of operations) operation.security = [{ apiKey: [] }];
    listB.security = [];
    const shared = shareParts(given);
    assert.deepEqual(shared.security, [{ apiKey: [] }]);
    assert.deepEqual([shared.paths['/a'].get.security, shared.paths['/b'].get.security], [undefined, []]);
    assert.deepEqual(shared.paths['/b'].post.requestBody, { $ref: '#/components/requestBodies/Error' });
    assert.deepEqual(shared.components.requestBodies, { Error: body });
    assert.deepEqual(shared.components.examples, { Since: since.since });
    const { examples } = shared.components.parameters['collections.a.where'];
    assert.deepEqual(examples, { since: { $ref: '#/components/examples/Since' }, own: { value: 'a' } });
    assert.deepEqual(inlined(shared), given);
  });

  it('make a document less than half as long; the sentence on who may call is the longest text that operations repeat', async () => {
    const document = JSON.parse(await withApp(rich, (app) => app.openApi()));
    assert.ok(JSON.stringify(document).length < JSON.stringify(inlined(document)).length / 2);
    const operations = Object.values<OpenApi>(document.paths).flatMap((methods) => Object.values<OpenApi>(methods));
    const paragraphs = operations.flatMap(({ description }) => description.split('\n\n'));
    const counts = Map.groupBy(paragraphs, (text) => text);
    const most = Math.max(...[...counts].map(([text, { length }]) => text.length * length));
    assert.ok(most < 5000, String(most));
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
