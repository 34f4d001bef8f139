import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withApp } from '../helpers/openapi.ts';
import { compileTypes } from '../helpers/openapi-types.ts';
import { rich } from './configurations.ts';

describe('The types that openapi-typescript makes of the documents', () => {
  it('compile, and say what is answered and taken', async () => {
    const found = await compileTypes(
      await withApp(rich, async (app) => ({
        api: JSON.parse(await app.openApi()),
        audit: JSON.parse(await app.openApi('audit')),
      })),
      `
      import type { components, operations, paths } from './api.js';
      import type { components as auditComponents, operations as auditOperations } from './audit.js';

      type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
      const isTrue = <_ extends true>(): void => {};
      type Answer<O extends { responses: object }, S extends keyof O['responses']> =
        O['responses'][S] extends { content: { 'application/json': infer Body } } ? Body : never;
      type Body<O extends { requestBody: { content: object } }> =
        O['requestBody']['content'] extends { 'application/json': infer Body } ? Body : never;

      type Thing = components['schemas']['collections.things'];
      isTrue<Same<Answer<operations['list_things'], 200>['docs'], Thing[]>>();
      isTrue<Same<Answer<operations['read_things'], 200>, Thing>>();
      isTrue<Same<paths['/api/collections/things']['post'], operations['create_things']>>();
      isTrue<Same<Thing['id'], string>>();
      // A select may leave out any other.
      isTrue<Same<Thing['text'], string | undefined>>();
      isTrue<Same<Thing['code'], string | null | undefined>>();
      isTrue<Same<Thing['select'], 'a' | 'b' | null | undefined>>();
      isTrue<Same<Thing['multiSelect'], ('a' | 'b')[] | undefined>>();
      isTrue<Same<Thing['other'], string | null | Thing | undefined>>();
      isTrue<Same<NonNullable<Thing['array']>[number], { a?: string; b?: number | null }>>();
      isTrue<Same<NonNullable<Thing['blocks']>[number]['blockType'], 'one' | 'two-b'>>();
      isTrue<Same<Answer<operations['read_things'], 404>['statusCode'], number>>();
      isTrue<Same<Answer<operations['login_users'], 200>['user'], components['schemas']['collections.users']>>();
      isTrue<Same<Answer<operations['readGlobal_site'], 200>['createdAt'], string | null | undefined>>();

      const create: Body<operations['create_things']> = { text: 'x', radio: null, array: [{ a: 'x' }] };
      // @ts-expect-error text is required
      const without: Body<operations['create_things']> = { code: 'x' };
      // @ts-expect-error there is no such option
      const wrong: Body<operations['update_things']> = { radio: 'c' };
      // @ts-expect-error one of the two
      const neither: Body<operations['restore_things']> = {};

      type Where = NonNullable<NonNullable<operations['list_things']['parameters']['query']>['where']>;
      const where: Where = {
        number: { greater_than: 3, in: [1, null] },
        select: { equals: 'a' },
        'other.text': { like: 'x' },
        or: [{ boolean: { equals: true } }, { and: [{ others: { contains: 'x' } }] }],
      };
      const asText: Where = JSON.stringify(where);
      // @ts-expect-error no number has this operator
      const unlike: Where = { number: { like: 'x' } };

      type Audit = auditComponents['schemas'];
      isTrue<Same<Answer<auditOperations['audit_events'], 200>['docs'], Audit['Event'][]>>();
      isTrue<Same<Audit['ErasedEvent']['data'], null>>();
      isTrue<Same<Audit['DocumentDiff']['from'], Audit['Version'] | null>>();
      isTrue<Same<Audit['Erasure']['waitsFor'], 'store' | 'data' | null>>();
      type Export = NonNullable<auditOperations['audit_export']['parameters']['query']>;
      isTrue<Same<Export['format'], 'ndjson' | 'csv' | 'cloudevents' | undefined>>();
      const said = (event: Audit['Event']) => ('erased' in event || 'withheld' in event ? null : event.data);
      export { asText, create, neither, said, unlike, where, without, wrong };
    `,
    );
    assert.equal(found, '');
  });
});
