import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { checkConfig } from '../../config/check.ts';
import { fieldTypeNames } from '../../config/fields.ts';
import { dataFields, type FieldSchema } from '../../config/schema.ts';
import atlas from '../../examples/atlas/annals.config.ts';
import { assertTold, inlined, type OpenApi, operationsOf, schemasIn } from '../helpers/contract.ts';
import { routesOf, withApp } from '../helpers/openapi.ts';
import { typesOf } from '../helpers/openapi-types.ts';
import { drafted, keysOnly, rich, text } from './configurations.ts';

const onlyMembers = { collections: rich.collections.filter(({ slug }) => slug !== 'users' && slug !== 'staff') };

/** Names that are words elsewhere. */
const odd = {
  publicSchema: true,
  collections: [
    { slug: 'my-posts', fields: [{ name: 'constructor', type: 'text', required: true }] },
    { slug: 'Error', fields: [{ name: 'toString', type: 'object', fields: [{ name: 'length', type: 'number' }] }] },
    {
      slug: 'constructor',
      fields: [
        { name: 'properties', type: 'text' },
        { name: 'type', type: 'json' },
      ],
    },
    { slug: 'api', fields: [] },
    { slug: 'my_posts', fields: [{ name: 'required', type: 'array', fields: [] }] },
  ],
  globals: [
    { slug: 'Error', fields: [{ name: 'hasOwnProperty', type: 'text' }] },
    { slug: 'site-settings', fields: [] },
  ],
};

const alone = { globals: [{ slug: 'only', fields: [text] }] };
const configurations = { rich, keysOnly, atlas, odd, alone, drafted };
const admins: Record<string, string> = { rich: 'users', atlas: 'editors' };

type Made = { document: OpenApi; routes: string[] };
const known = new Map<object, Promise<Made>>();

/** The document of a configuration; made once, because it takes its time. */
function made(config: object): Promise<Made> {
  const found =
    known.get(config) ??
    withApp(config, async (app) => ({ document: JSON.parse(await app.openApi()), routes: await routesOf(app) }));
  known.set(config, found);
  return found;
}

const form = 'multipart/form-data';
const isBulk = /^POST \/api\/collections\/[^/]+\/bulk(\/(update|delete))?$/;
/** The path of the collection of a route below it. */
const collectionOf = (route: string) => route.replace(/^\S+ (\/api\/collections\/[^/]+).*$/, '$1');

/** With the parts in their places that operations share. */
async function documentOf(config: object): Promise<OpenApi> {
  return inlined((await made(config)).document);
}

const refusalsOfUsers = ['400', '401', '500'];
/** An API key may have been made without the scope. */
const refusalsOfReads = ['403', ...refusalsOfUsers];
/** The answers of operations that take `asOf`. */
const refusalsOfPast = ['503'];
const refusalsOfBodies = ['400', '408', '413', '415', '500'];
const refusalsOfWrites = ['401', '403', '503', ...refusalsOfBodies];

describe('The OpenAPI document (4.7, 9)', () => {
  for (const [name, config] of Object.entries(configurations)) {
    it(`is valid OpenAPI 3.0 with every route of the service, and no other: ${name}`, async () => {
      const { document, routes } = await made(config);
      assert.match(document.openapi, /^3\.0\.\d$/);
      const { valid, errors } = await new Validator().validate(structuredClone(document));
      assert.deepEqual([valid, errors], [true, undefined]);
      const untold = /^(\*|OPTIONS) |^GET \/($|api\/docs|account\/|admin\/)|\/api\/(operator|audit)\//;
      // Only in the admin collection can it ever succeed, and files are written one by one.
      const isInVain = (route: string) => route.endsWith('/first-user') && !route.includes(`/${admins[name]}/`);
      const takesFiles = (route: string) => document.paths[collectionOf(route)]?.post?.requestBody.content[form];
      const told = routes.filter(
        (route) => !(untold.test(route) || isInVain(route) || (isBulk.test(route) && takesFiles(route))),
      );
      assert.deepEqual(operationsOf(document).sort(), told.sort());
      assert.doesNotMatch(Object.keys(document.paths).join('\n'), /\/v\d/, 'a path carries a version');
      assertWhole(document);
    });
  }

  it('is made once, however many ask for it at once', async () => {
    await withApp(alone, async (app) => {
      const first = app.openApi();
      assert.equal(app.openApi(), first);
      await first;
      assert.equal(app.openApi(), first);
    });
  });

  it('is the same for the same configuration', async () => {
    assert.equal(await withApp(odd, (app) => app.openApi()), JSON.stringify((await made(odd)).document));
  });

  it('has servers with the path that the service is reached under', async () => {
    const document = await withApp(alone, (app) => app.openApi(), 'https://example.org/cms');
    assert.deepEqual(JSON.parse(document).servers, [{ url: '/cms' }]);
  });

  it('has the name, the version and the description that the author gives it', async () => {
    const infoOf = async (config: object, api?: 'audit') =>
      withApp(config, async (app) => JSON.parse(await app.openApi(api ?? 'contract')).info);
    const openapi = { title: 'Library', version: '2026-11', description: 'Books, and who wrote them.' };
    const own = await infoOf({ ...alone, openapi });
    assert.deepEqual(own, openapi);
    const ofAudit = await infoOf({ ...alone, openapi }, 'audit');
    assert.deepEqual([ofAudit.title, ofAudit.version], ['Library: audit', '2026-11']);
    assert.match(ofAudit.description, /^The history of documents and accounts with authors and reasons/);
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    const unnamed = (await documentOf(alone)).info;
    assert.deepEqual([unnamed.title, unnamed.version], ['Annals', version]);
    assert.match(unnamed.description, /^Reads, filters, searches and writes/);
  });

  it('names the statuses of every operation', async () => {
    const document = await documentOf(keysOnly);
    const expected: Record<string, string[]> = {
      'GET /api/collections/things': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/collections/plain': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/collections/things/{id}': ['200', '304', '404', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/things': ['201', '422', '409', ...refusalsOfWrites],
      'POST /api/collections/plain': ['201', '422', ...refusalsOfWrites],
      'POST /api/collections/plain/bulk': ['200', '201', '422', ...refusalsOfWrites],
      'POST /api/collections/plain/bulk/update': ['200', '404', '409', '422', ...refusalsOfWrites],
      'POST /api/collections/plain/bulk/delete': ['200', '404', '409', '422', ...refusalsOfWrites],
      'POST /api/collections/things/bulk': ['200', '201', '409', '422', ...refusalsOfWrites],
      'POST /api/collections/hooked/bulk': ['200', '201', '422', 'default', ...refusalsOfWrites],
      'POST /api/collections/kept/bulk/delete': ['200', '404', '409', '422', 'default', ...refusalsOfWrites],
      'POST /api/collections/ruled': ['201', '422', ...refusalsOfWrites],
      'PATCH /api/collections/things/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'PATCH /api/collections/ruled/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'POST /api/collections/far': ['201', '422', ...refusalsOfWrites],
      'GET /api/collections/hooked': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/hooked': ['201', '422', 'default', ...refusalsOfWrites],
      'PATCH /api/collections/hooked/{id}': ['200', '422', '412', '404', '409', 'default', ...refusalsOfWrites],
      'DELETE /api/collections/hooked/{id}': ['200', '422', '412', '404', '409', '503', ...refusalsOfReads],
      'GET /api/collections/fieldHooked/{id}': ['200', '304', '404', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/fieldHooked': ['201', '422', 'default', ...refusalsOfWrites],
      'GET /api/collections/kept': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/kept': ['201', '422', ...refusalsOfWrites],
      'DELETE /api/collections/kept/{id}': ['200', '422', '412', '404', '409', '503', 'default', ...refusalsOfReads],
      // The answer of a write goes through the read hooks too, and what `depth` adds through those of its collection.
      'GET /api/collections/lawful': ['200', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/lawful': ['201', '422', 'default', ...refusalsOfWrites],
      'DELETE /api/collections/lawful/{id}': ['200', '422', '412', '404', '409', '503', 'default', ...refusalsOfReads],
      'GET /api/collections/near': ['200', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'PATCH /api/collections/near/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'DELETE /api/collections/near/{id}': ['200', '422', '412', '404', '409', '503', ...refusalsOfReads],
      'GET /api/collections/far/{id}': ['200', '304', '404', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/collections/farther': ['200', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/globals/front': ['200', '304', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'PATCH /api/globals/front': ['200', '422', '412', '409', ...refusalsOfWrites],
      'DELETE /api/collections/things/{id}': ['200', '422', '412', '404', '409', '503', ...refusalsOfReads],
      'GET /api/globals/site': ['200', '304', ...refusalsOfPast, ...refusalsOfReads],
      'PATCH /api/globals/site': ['200', '422', '412', '409', ...refusalsOfWrites],
      'POST /api/collections/files': ['201', '422', ...refusalsOfWrites],
      'PATCH /api/collections/files/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'GET /api/media/files/{id}/{filename}': ['200', '206', '304', '404', '412', '416', '503', ...refusalsOfReads],
      'GET /api/schemas': ['200', '304', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/openapi.json': ['200', '304', ...refusalsOfReads],
      'GET /health': ['200'],
      'GET /ready': ['200', '503'],
    };
    assertStatuses(document, expected);
  });

  it('says which operations need a credential, and which may do without', async () => {
    const document = await documentOf(keysOnly);
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['apiKey']);
    const { things, plain } = {
      things: document.paths['/api/collections/things'],
      plain: document.paths['/api/collections/plain'],
    };
    assert.deepEqual(things.get.security, [{ apiKey: [] }, {}]);
    assert.deepEqual(things.post.security, [{ apiKey: [] }]);
    assert.deepEqual(plain.get.security, [{ apiKey: [] }]);
    assert.deepEqual(document.paths['/api/schemas'].get.security, [{ apiKey: [] }]);
    assert.deepEqual(document.paths['/health'].get.security, []);
    const opened = await documentOf(odd);
    assert.deepEqual(opened.paths['/api/schemas'].get.security, [{ apiKey: [] }, {}]);
    assert.deepEqual(opened.paths['/api/openapi.json'].get.security, [{ apiKey: [] }, {}]);
  });

  it('names the statuses of every operation if users can be refused too', async () => {
    const document = await documentOf(rich);
    const counted = [...refusalsOfBodies, '429'];
    assertStatuses(document, {
      'GET /api/collections/plain': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/plain': ['201', '422', ...refusalsOfWrites],
      'DELETE /api/collections/plain/{id}': ['200', '422', '412', '404', '409', '503', ...refusalsOfReads],
      'PATCH /api/globals/site': ['200', '422', '412', '409', ...refusalsOfWrites],
      'GET /api/schemas': ['200', '304', ...refusalsOfPast, ...refusalsOfReads],
      // Without a rule, users may read themselves only.
      'GET /api/collections/users/{id}': ['200', '304', '404', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/users': ['201', '422', '409', ...refusalsOfWrites],
      'POST /api/collections/users/login': ['200', '401', '503', ...counted],
      'POST /api/collections/users/logout': ['200', '403', '503', ...refusalsOfUsers],
      // `auth.depth` goes through the read hooks of what is related.
      'GET /api/collections/users/me': ['200', 'default', ...refusalsOfUsers],
      'GET /api/collections/members/me': ['200', ...refusalsOfUsers],
      'POST /api/collections/users/refresh-token': ['200', '403', '503', ...refusalsOfUsers],
      'GET /api/collections/users/sessions': ['200', ...refusalsOfUsers],
      'DELETE /api/collections/users/sessions/{sid}': ['200', '403', '404', '503', ...refusalsOfUsers],
      'POST /api/collections/users/invite': ['200', '401', '403', '409', '422', '503', ...refusalsOfBodies],
      'POST /api/collections/users/accept-invite': ['201', '403', '409', '503', ...counted],
      'POST /api/collections/members/accept-invite': ['201', '409', '503', ...counted],
      'GET /api/collections/users/init': ['200', '400', '500'],
      'POST /api/collections/users/first-user': ['201', '403', '503', ...counted],
      'POST /api/collections/users/forgot-password': ['200', ...counted],
      'POST /api/collections/users/reset-password': ['200', '409', '503', ...counted],
    });
  });

  it('leaves out what the configuration turns off', async () => {
    const [withAll, withLess] = [
      await documentOf(rich),
      await documentOf({ ...rich, rateLimit: false, ...onlyMembers }),
    ];
    assert.deepEqual(Object.keys(withLess.components.securitySchemes), ['apiKey', 'bearer']);
    assertStatuses(withLess, {
      // Failed logins lock the account all the same.
      'POST /api/collections/members/login': ['200', '401', '429', '503', ...refusalsOfBodies],
      'POST /api/collections/members/logout': ['200', '503', ...refusalsOfUsers],
      'POST /api/collections/members/forgot-password': ['200', ...refusalsOfBodies],
      'POST /api/collections/members/reset-password': ['200', '409', '503', ...refusalsOfBodies],
      'POST /api/collections/plain': ['201', '422', ...refusalsOfWrites],
      'PATCH /api/collections/ruled/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'POST /api/collections/ruled': ['201', '422', ...refusalsOfWrites],
      'POST /api/collections/far': ['201', '422', ...refusalsOfWrites],
    });
    const headersOf = (document: OpenApi, slug: string) =>
      document.paths[`/api/collections/${slug}/login`].post.responses['200'].headers;
    assert.ok(headersOf(withAll, 'users')['Set-Cookie']);
    assert.equal(headersOf(withLess, 'members'), undefined);
  });

  it('says which users get in where, by a token or by the cookie of their collection', async () => {
    const document = await documentOf(rich);
    const { securitySchemes } = document.components;
    assert.deepEqual(Object.keys(securitySchemes), ['apiKey', 'bearer', 'cookie.users', 'cookie.staff']);
    const { description: _, ...cookie } = securitySchemes['cookie.users'];
    assert.deepEqual(cookie, { type: 'apiKey', in: 'cookie', name: 'annals-users' });
    assert.equal(securitySchemes.bearer.scheme, 'bearer');
    const names = (operation: string) => {
      const [method = '', path = ''] = operation.split(' ');
      const { security } = document.paths[path][method.toLowerCase()];
      return security.map((one: object) => Object.keys(one)[0] ?? 'none');
    };
    const users = ['bearer', 'cookie.users', 'cookie.staff'];
    const expected: Record<string, string[]> = {
      'GET /api/collections/things': ['apiKey', ...users, 'none'],
      'POST /api/collections/things': ['apiKey', ...users],
      'GET /api/schemas': ['apiKey', ...users],
      'GET /api/collections/users': ['apiKey', 'bearer', 'cookie.users'],
      'GET /api/collections/staff/{id}': ['bearer', 'cookie.users', 'cookie.staff'],
      'POST /api/collections/staff': ['bearer', 'cookie.users'],
      'GET /api/collections/members': ['bearer', 'cookie.users'],
      'GET /api/collections/members/me': ['bearer'],
      'POST /api/collections/staff/logout': ['bearer', 'cookie.staff'],
      'POST /api/collections/members/invite': users,
      'POST /api/collections/users/login': [],
      'GET /api/collections/users/init': [],
    };
    for (const [operation, wanted] of Object.entries(expected)) assert.deepEqual(names(operation), wanted, operation);
  });

  it('tells of a refusal that is for now when to come again', async () => {
    const document = await documentOf(rich);
    for (const [path, methods] of Object.entries<OpenApi>(document.paths)) {
      if (!path.startsWith('/api/collections/users/') || path.endsWith('{id}')) continue;
      for (const { responses } of Object.values<OpenApi>(methods)) {
        for (const status of ['429', '503']) {
          if (!responses[status]) continue;
          assert.equal(responses[status].headers['Retry-After'].schema.type, 'integer', `${path} ${status}`);
        }
      }
    }
  });

  it('describes the parameters of lists and of single documents', async () => {
    const document = await documentOf(rich);
    const list = document.paths['/api/collections/things'].get.parameters;
    const byName = Object.fromEntries(list.map((one: OpenApi) => [one.name, one]));
    assert.deepEqual(Object.keys(byName), [
      'limit',
      'page',
      'next',
      'count',
      'sort',
      'depth',
      'select',
      'q',
      'asOf',
      'where',
    ]);
    const whole = { type: 'integer', maximum: Number.MAX_SAFE_INTEGER };
    assert.deepEqual(byName.limit.schema, { ...whole, minimum: 1, default: 10 });
    assert.deepEqual(byName.depth.schema, { ...whole, minimum: 0, default: 0 });
    const { style, explode, schema } = byName.where;
    const [filter, text] = schema.oneOf;
    assert.deepEqual(
      [style, explode, filter, text.type],
      ['deepObject', true, { $ref: '#/components/schemas/collections.things.where' }, 'string'],
    );
    const where = schemasIn(document)('components', 'schemas', 'collections.things.where');
    assert.ok(
      where({ text: { equals: 'x' }, or: [{ 'other.text': { exists: true } }, { and: [{ number: { in: '1,2' } }] }] }),
    );
    assert.equal(where({ text: { eqals: 'x' } }), false);
    assert.equal(where({ text: 'x' }), false);
    assert.equal(where({ text: { less_than: 'x' } }), false);
    assert.equal(where({ number: { less_than: 'x' } }), false);
    assert.ok(
      where({ number: { less_than: 3, in: [1, null] }, select: { in: ['a', null] }, others: { contains: 'x' } }),
    );
    assert.equal(where({ select: { equals: 'c' } }), false);
    const some = '01a1fc16-6a0c-7000-a9c2-bca6a06f428d';
    assert.ok(where({ id: { greater_than: some, less_than_equal: some, like: '0' } }));
    assert.equal(where({ id: { greater_than: 5 } }), false);
    const { before, latest } = document.components.schemas['collections.things'].properties;
    assert.deepEqual([before.maxItems, latest.maxItems], [undefined, 3]);

    const single = document.paths['/api/collections/things/{id}'];
    const [known, id, depth] = single.get.parameters;
    assert.deepEqual([known.name, known.in], ['If-None-Match', 'header']);
    assert.deepEqual(
      [id.name, id.in, id.required, id.schema],
      ['id', 'path', true, { type: 'string', format: 'uuid' }],
    );
    assert.deepEqual([depth.name, depth.in], ['depth', 'query']);
    const namesOf = ({ parameters }: OpenApi) => parameters.map(({ name }: OpenApi) => name);
    assert.deepEqual(namesOf(single.delete), ['X-Change-Reason', 'Idempotency-Key', 'If-Match', 'id']);
    assert.deepEqual(namesOf(document.paths['/api/globals/site'].get), ['If-None-Match', 'depth', 'select', 'asOf']);
  });

  it('describes what is sent with a file as a form, and the file as bytes', async () => {
    const document = await documentOf(keysOnly);
    const form = (schema: string) => ({
      schema: { $ref: `#/components/schemas/collections.files.${schema}` },
      encoding: {
        tags: { style: 'form', explode: true },
        parts: { contentType: 'application/json' },
        extra: { contentType: 'application/json' },
      },
    });
    const update = { schema: { $ref: '#/components/schemas/collections.files.update' } };
    const { post } = document.paths['/api/collections/files'];
    const { patch } = document.paths['/api/collections/files/{id}'];
    assert.deepEqual(post.requestBody.content, { 'multipart/form-data': form('upload') });
    assert.deepEqual(patch.requestBody.content, {
      'multipart/form-data': form('updateUpload'),
      'application/json': update,
    });
    assert.equal(post.responses['503'].headers['Retry-After'].schema.type, 'integer');

    const { parameters, responses } = document.paths['/api/media/files/{id}/{filename}'].get;
    assert.deepEqual(
      parameters.map((one: OpenApi) => [one.name, one.in, one.required]),
      [
        ['Range', 'header', undefined],
        ['If-Range', 'header', undefined],
        ['If-Match', 'header', undefined],
        ['If-None-Match', 'header', undefined],
        ['id', 'path', true],
        ['filename', 'path', true],
        ['asOf', 'query', undefined],
      ],
    );
    const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } };
    assert.deepEqual([responses['200'].content, responses['206'].content], [bytes, bytes]);
    assert.ok(responses['206'].headers['Content-Range'].required);
  });

  it('is tried here with every type of field that there is', () => {
    const fields = rich.collections.flatMap((collection) => collection.fields as FieldSchema[]);
    const nested = [...fields, ...dataFields(fields)].map(({ type }) => type);
    const missing = fieldTypeNames.filter((type) => !nested.includes(type));
    assert.deepEqual(missing, []);
  });
});

describe('The types that openapi-typescript makes of the documents', () => {
  it('cannot be made of just the names that a warning is about', async () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype).filter((one) => !one.startsWith('_'))) {
      const properties = { [name]: { type: 'string' } };
      const components = { schemas: { things: { type: 'object', properties } } };
      const document = { openapi: '3.0.3', info: { title: 'x', version: '1' }, paths: {}, components };
      const fails = await typesOf(document).then(
        () => false,
        () => true,
      );
      const { warnings } = checkConfig({ globals: [{ slug: 'things', fields: [{ name, type: 'text' }] }] });
      assert.equal(warnings.length === 1, fails, name);
    }
  });
});

function assertStatuses(document: OpenApi, expected: Record<string, string[]>): void {
  for (const [operation, wanted] of Object.entries(expected)) {
    const [method = '', path = ''] = operation.split(' ');
    const { responses } = document.paths[path][method.toLowerCase()];
    assert.deepEqual(Object.keys(responses).sort(), wanted.sort(), operation);
  }
}

/** The schemas with keywords and without a type, which some generators do not take. */
function withoutType(schema: OpenApi, at: string): string[] {
  const kinds = ['$ref', 'type', 'oneOf', 'anyOf', 'allOf'];
  const own = Object.keys(schema).length > 0 && !kinds.some((kind) => kind in schema) ? [at] : [];
  const { properties = {}, items, additionalProperties } = schema;
  const inner = [
    ...Object.values(properties),
    items,
    additionalProperties,
    ...kinds.slice(2).map((kind) => schema[kind]),
  ];
  const schemas = inner.flat().filter((one) => typeof one === 'object') as OpenApi[];
  return [...own, ...schemas.flatMap((one) => withoutType(one, at))];
}

/** Writes that take no body, writes that may have one, and answers without one. */
const withoutBody =
  /\/(logout|refresh-token|retry|unlock)$|(\{id\}|\/globals\/[^/]+)\/discard$|\/releases\/\{id\}\/(unschedule|check|publish)$/;
const withBodyOrNot = /\/rotate$|\/batches\/\{batch\}\/undo$|(\{id\}|\/globals\/[^/]+)\/(un)?publish$|\/review$/;
const withoutAnswer = /\/logout 200$|^get .* 304$/;
const isFile = /^get \/api\/media\/.* 20[06]$/;

/** The rules for every operation. */
function assertWhole(document: OpenApi): void {
  const ids = new Set<string>();
  const tags = new Set(document.tags.map(({ name }: { name: string }) => name));
  assertTold(document);
  assert.doesNotMatch(JSON.stringify(document), /"x-[^"]*":/, 'there are extensions of hapi-swagger left');
  const used = new Set([...JSON.stringify(document).matchAll(/"#\/components\/([^"]+)"/g)].map(([, name]) => name));
  const { securitySchemes: _, ...components } = document.components;
  const unused = Object.entries<OpenApi>(components).flatMap(([kind, parts]) =>
    Object.keys(parts).filter((name) => !used.has(`${kind}/${name}`)),
  );
  assert.deepEqual(
    unused.filter((name) => !name.endsWith('Condition')),
    [],
  );
  const schemas = Object.entries<OpenApi>(components.schemas);
  assert.deepEqual(
    schemas.flatMap(([name, schema]) => withoutType(schema, name)),
    [],
  );
  for (const [path, methods] of Object.entries<OpenApi>(inlined(document).paths)) {
    for (const [method, operation] of Object.entries<OpenApi>(methods)) {
      const at = `${method} ${path}`;
      assert.ok(operation.summary, at);
      assert.ok(!ids.has(operation.operationId), `${at}: ${operation.operationId} is there twice`);
      ids.add(operation.operationId);
      assert.ok(operation.tags.length === 1 && tags.has(operation.tags[0]), at);
      assert.ok(Array.isArray(operation.security), at);
      const hasBody = /post|put|patch/.test(method) && !withoutBody.test(path);
      assert.equal(operation.requestBody?.required, hasBody ? !withBodyOrNot.test(path) : undefined, at);
      assert.ok(
        Object.keys(operation.responses).some((status) => /^[23]/.test(status)),
        `${at} never succeeds`,
      );
      for (const [status, { description, content }] of Object.entries<OpenApi>(operation.responses)) {
        assert.ok(description, `${at} ${status}`);
        const answer = `${at} ${status}`;
        if (withoutAnswer.test(answer)) assert.equal(content, undefined, answer);
        else assert.ok(content[isFile.test(answer) ? '*/*' : 'application/json'].schema, answer);
      }
    }
  }
}
