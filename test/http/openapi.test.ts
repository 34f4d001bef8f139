import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { fieldTypeNames } from '../../config/fields.ts';
import { dataFields, type FieldSchema } from '../../config/schema.ts';
import atlas from '../../examples/atlas/annals.config.ts';
import {
  answersOf,
  assertDescribed,
  type OpenApi,
  operationsOf,
  routesOf,
  schemasIn,
  useDescribedCalls,
  withApp,
} from '../helpers/openapi.ts';
import { apiKey } from '../helpers/service.ts';
import { eventually, logLines, useService } from '../helpers/shared.ts';

const open = { read: () => true };
const text = { name: 'text', type: 'text' };
const inside = [
  { name: 'a', type: 'text', required: true },
  { name: 'b', type: 'number', defaultValue: 1 },
];

/** Every type of field that there can be today, wide open and otherwise; nobody can log in. */
const keysOnly = {
  collections: [
    {
      slug: 'things',
      labels: { singular: 'Thing', plural: 'Things' },
      access: open,
      fields: [
        { name: 'text', type: 'text', required: true, maxLength: 50, label: 'A text' },
        { name: 'code', type: 'text', unique: true, pattern: '[a-z]+' },
        { name: 'textarea', type: 'textarea' },
        { name: 'rich', type: 'richText' },
        { name: 'email', type: 'email' },
        { name: 'url', type: 'url' },
        { name: 'number', type: 'number', min: 0, max: 10 },
        { name: 'integer', type: 'number', integer: true },
        { name: 'boolean', type: 'boolean' },
        { name: 'date', type: 'date' },
        { name: 'datetime', type: 'datetime' },
        { name: 'time', type: 'time' },
        { name: 'select', type: 'select', options: ['a', { label: 'B', value: 'b' }], defaultValue: 'a' },
        { name: 'radio', type: 'radio', options: ['a', 'b'] },
        { name: 'multiSelect', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'other', type: 'relationship', relationTo: 'things' },
        { name: 'others', type: 'relationship', relationTo: 'things', hasMany: true },
        { name: 'object', type: 'object', fields: inside },
        { name: 'array', type: 'array', fields: inside },
        {
          name: 'blocks',
          type: 'blocks',
          blocks: [
            { slug: 'one', fields: inside },
            { slug: 'two-b', fields: [{ name: 'to', type: 'relationship', relationTo: 'things' }] },
          ],
        },
        { name: 'json', type: 'json' },
        { name: 'photo', type: 'upload', relationTo: 'files' },
        { name: 'before', type: 'join', collection: 'things', on: 'other' },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
      ],
    },
    {
      slug: 'ruled',
      access: {
        read: ({ data }: { data: unknown }) => data === null,
        create: () => {
          throw new Error('no');
        },
      },
      fields: [text, { name: 'secret', type: 'text', access: { read: () => false, update: () => false } }],
    },
    { slug: 'plain', fields: [text], hooks: { afterChange: () => {} } },
    {
      slug: 'hooked',
      access: { read: () => true, update: () => true },
      fields: [text],
      hooks: {
        beforeChange: ({ data }: { data: { text?: string } }) => {
          if (data.text === 'teapot') throw Object.assign(new Error('I am a teapot'), { statusCode: 418 });
          if (data.text === 'bug') throw new Error('a bug');
        },
      },
    },
    {
      slug: 'lawful',
      fields: [text],
      hooks: {
        afterRead: ({ data }: { data: { text?: string } }) => {
          if (data.text === 'secret') throw Object.assign(new Error('not for your eyes'), { statusCode: 451 });
        },
      },
    },
    {
      slug: 'files',
      access: open,
      upload: { maxFileSize: 2000, mimeTypes: ['text/*', 'image/svg+xml'] },
      fields: [
        { name: 'alt', type: 'text', required: true },
        { name: 'year', type: 'number', integer: true },
        { name: 'isOld', type: 'boolean' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'parts', type: 'array', fields: inside },
        { name: 'extra', type: 'json' },
      ],
    },
    { slug: 'near', fields: [{ name: 'lawful', type: 'relationship', relationTo: 'lawful' }] },
    {
      slug: 'far',
      fields: [
        text,
        { name: 'parts', type: 'object', fields: [{ name: 'near', type: 'relationship', relationTo: 'near' }] },
        { name: 'writable', type: 'text', access: { create: () => true, update: () => true } },
      ],
    },
    { slug: 'farther', fields: [{ name: 'fars', type: 'join', collection: 'pointing', on: 'to' }] },
    {
      slug: 'pointing',
      fields: [
        { name: 'to', type: 'relationship', relationTo: 'farther' },
        {
          name: 'blocks',
          type: 'blocks',
          blocks: [{ slug: 'one', fields: [{ name: 'far', type: 'relationship', relationTo: 'far' }] }],
        },
      ],
    },
    { slug: 'kept', fields: [text], hooks: { beforeDelete: () => {} } },
    {
      slug: 'fieldHooked',
      fields: [{ name: 'parts', type: 'array', fields: [{ ...text, hooks: { beforeChange: () => {} } }] }],
    },
  ],
  globals: [
    {
      slug: 'site',
      access: open,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'theme', type: 'select', options: ['light', 'dark'], required: true, defaultValue: 'light' },
        { name: 'links', type: 'array', required: true, fields: inside },
        { name: 'home', type: 'relationship', relationTo: 'things' },
      ],
    },
    { slug: 'front', fields: [{ name: 'far', type: 'relationship', relationTo: 'far' }] },
  ],
};

/** The same with accounts: one collection open to keys, one without a rule and a cookie. */
const rich = {
  ...keysOnly,
  bcryptCost: 4,
  rateLimit: { address: 100_000, email: 8 },
  collections: [
    ...keysOnly.collections,
    {
      slug: 'users',
      auth: { useAPIKey: true, depth: 1, maxLoginAttempts: 2 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'role', type: 'select', options: ['a', 'b'], access: { create: () => false, update: () => false } },
        { name: 'near', type: 'relationship', relationTo: 'near' },
      ],
    },
    {
      slug: 'members',
      auth: { cookies: false },
      fields: [
        { name: 'nick', type: 'text', required: true },
        { name: 'token', type: 'text' },
      ],
    },
  ],
};

const onlyMembers = { collections: rich.collections.filter(({ slug }) => slug !== 'users') };

/** Names that are words elsewhere. */
const odd = {
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
const configurations = { rich, keysOnly, atlas, odd, alone };

/** The source of a configuration with functions, for a service of its own. */
function sourceOf(value: unknown): string {
  if (typeof value === 'function') return `(${value})`;
  if (Array.isArray(value)) return `[${value.map(sourceOf)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${sourceOf(inner)}`)}}`;
}

const refusalsOfReads = ['400', '401', '500'];
/** Where `asOf` may be asked for. */
const refusalsOfPast = ['403', '503'];
const refusalsOfBodies = ['400', '408', '413', '415', '500'];
const refusalsOfWrites = ['401', '503', ...refusalsOfBodies];

describe('The OpenAPI document (4.7)', () => {
  for (const [name, config] of Object.entries(configurations)) {
    it(`is valid OpenAPI 3.0 with every route of the service, and no other: ${name}`, async () => {
      await withApp(config, async (app) => {
        const document = JSON.parse(await app.openApi());
        assert.match(document.openapi, /^3\.0\.\d$/);
        const { valid, errors } = await new Validator().validate(structuredClone(document));
        assert.deepEqual([valid, errors], [true, undefined]);
        const untold = /^\* |^GET \/(api\/docs|account\/)|\/api\/(operator|audit)\//;
        const routes = (await routesOf(app)).filter((route) => !untold.test(route));
        assert.deepEqual(operationsOf(document).sort(), routes.sort());
        assertWhole(document);
      });
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
    const [one, two] = [await withApp(rich, (app) => app.openApi()), await withApp(rich, (app) => app.openApi())];
    assert.equal(one, two);
  });

  it('has servers with the path that the service is reached under', async () => {
    const document = await withApp(alone, (app) => app.openApi(), 'https://example.org/cms');
    assert.deepEqual(JSON.parse(document).servers, [{ url: '/cms' }]);
  });

  it('names the statuses of every operation', async () => {
    const document = await withApp(keysOnly, async (app) => JSON.parse(await app.openApi()));
    const expected: Record<string, string[]> = {
      'GET /api/collections/things': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/collections/plain': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/collections/things/{id}': ['200', '304', '404', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/things': ['201', '422', '409', ...refusalsOfWrites],
      'POST /api/collections/plain': ['201', '422', ...refusalsOfWrites],
      'POST /api/collections/ruled': ['201', '422', '403', ...refusalsOfWrites],
      'PATCH /api/collections/things/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      // Only keys get in where there is no rule for the collection, and their fields are not looked at.
      'PATCH /api/collections/ruled/{id}': ['200', '422', '412', '404', '409', ...refusalsOfWrites],
      'POST /api/collections/far': ['201', '422', ...refusalsOfWrites],
      'GET /api/collections/hooked': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/hooked': ['201', '422', 'default', ...refusalsOfWrites],
      'PATCH /api/collections/hooked/{id}': ['200', '422', '412', '403', '404', '409', 'default', ...refusalsOfWrites],
      'DELETE /api/collections/hooked/{id}': ['200', '422', '412', '404', '409', '503', ...refusalsOfReads],
      'GET /api/collections/fieldHooked/{id}': ['200', '304', '404', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/fieldHooked': ['201', '422', 'default', ...refusalsOfWrites],
      'GET /api/collections/kept': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/kept': ['201', '422', ...refusalsOfWrites],
      'DELETE /api/collections/kept/{id}': ['200', '422', '412', '404', '409', '503', 'default', ...refusalsOfReads],
      // What a write answers goes through the read hooks too, and what `depth` adds through those of its collection.
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
      'GET /api/media/files/{id}/{filename}': [
        '200',
        '206',
        '304',
        '403',
        '404',
        '412',
        '416',
        '503',
        ...refusalsOfReads,
      ],
      'GET /api/schemas': ['200', ...refusalsOfPast, ...refusalsOfReads],
      'GET /api/openapi.json': ['200', ...refusalsOfReads],
      'GET /health': ['200'],
      'GET /ready': ['200', '503'],
    };
    assertStatuses(document, expected);
  });

  it('says which operations need a credential, and which may do without', async () => {
    const document = await withApp(keysOnly, async (app) => JSON.parse(await app.openApi()));
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
    const opened = await withApp({ ...keysOnly, publicSchema: true }, async (app) => JSON.parse(await app.openApi()));
    assert.deepEqual(opened.paths['/api/schemas'].get.security, [{ apiKey: [] }, {}]);
    assert.deepEqual(opened.paths['/api/openapi.json'].get.security, [{ apiKey: [] }, {}]);
  });

  it('names the statuses of every operation where users can be refused too', async () => {
    const document = await withApp(rich, async (app) => JSON.parse(await app.openApi()));
    const counted = [...refusalsOfBodies, '429'];
    assertStatuses(document, {
      'GET /api/collections/plain': ['200', ...refusalsOfPast, ...refusalsOfReads],
      // A cookie may come from elsewhere, whatever the route.
      'POST /api/collections/plain': ['201', '422', '403', ...refusalsOfWrites],
      'DELETE /api/collections/plain/{id}': ['200', '422', '412', '403', '404', '409', '503', ...refusalsOfReads],
      'PATCH /api/globals/site': ['200', '422', '412', '403', '409', ...refusalsOfWrites],
      'GET /api/schemas': ['200', ...refusalsOfPast, ...refusalsOfReads],
      // Without a rule, users may read themselves only.
      'GET /api/collections/users/{id}': ['200', '304', '404', 'default', ...refusalsOfPast, ...refusalsOfReads],
      'POST /api/collections/users': ['201', '422', '403', '409', ...refusalsOfWrites],
      'POST /api/collections/users/login': ['200', '401', '503', ...counted],
      'POST /api/collections/users/logout': ['200', '403', '503', ...refusalsOfReads],
      // `auth.depth` goes through the read hooks of what is related.
      'GET /api/collections/users/me': ['200', 'default', ...refusalsOfReads],
      'GET /api/collections/members/me': ['200', ...refusalsOfReads],
      'POST /api/collections/users/refresh-token': ['200', '403', '503', ...refusalsOfReads],
      'GET /api/collections/users/sessions': ['200', ...refusalsOfReads],
      'DELETE /api/collections/users/sessions/{sid}': ['200', '403', '404', '503', ...refusalsOfReads],
      'POST /api/collections/users/invite': ['200', '401', '403', '409', '503', ...refusalsOfBodies],
      'POST /api/collections/users/accept-invite': ['201', '403', '409', '503', ...counted],
      'POST /api/collections/members/accept-invite': ['201', '409', '503', ...counted],
      'GET /api/collections/users/init': ['200', '400', '500'],
      'POST /api/collections/users/first-user': ['201', '403', '409', '503', ...counted],
      'POST /api/collections/users/forgot-password': ['200', ...counted],
      'POST /api/collections/users/reset-password': ['200', '409', '503', ...counted],
    });
  });

  it('leaves out what the configuration turns off', async () => {
    const describedBy = async (config: object) => withApp(config, async (app) => JSON.parse(await app.openApi()));
    const [withAll, withLess] = [
      await describedBy(rich),
      await describedBy({ ...rich, rateLimit: false, ...onlyMembers }),
    ];
    assert.deepEqual(Object.keys(withLess.components.securitySchemes), ['apiKey', 'bearer']);
    assertStatuses(withLess, {
      // Failed logins lock the account all the same.
      'POST /api/collections/members/login': ['200', '401', '429', '503', ...refusalsOfBodies],
      'POST /api/collections/members/logout': ['200', '503', ...refusalsOfReads],
      'POST /api/collections/members/forgot-password': ['200', ...refusalsOfBodies],
      'POST /api/collections/members/reset-password': ['200', '409', '503', ...refusalsOfBodies],
      'POST /api/collections/plain': ['201', '422', ...refusalsOfWrites],
      // A user may be refused a field, which a key is not.
      'PATCH /api/collections/ruled/{id}': ['200', '422', '412', '403', '404', '409', ...refusalsOfWrites],
      'POST /api/collections/ruled': ['201', '422', '403', ...refusalsOfWrites],
      'POST /api/collections/far': ['201', '422', '403', ...refusalsOfWrites],
    });
    const headersOf = (document: OpenApi, slug: string) =>
      document.paths[`/api/collections/${slug}/login`].post.responses['200'].headers;
    assert.ok(headersOf(withAll, 'users')['Set-Cookie']);
    assert.equal(headersOf(withLess, 'members'), undefined);
  });

  it('says which users get in where, by a token or by the cookie of their collection', async () => {
    const document = await withApp(
      { ...rich, collections: [...rich.collections, { slug: 'staff', auth: true, fields: [] }] },
      async (app) => JSON.parse(await app.openApi()),
    );
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
    const document = await withApp(rich, async (app) => JSON.parse(await app.openApi()));
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
    const document = await withApp(rich, async (app) => JSON.parse(await app.openApi()));
    const list = document.paths['/api/collections/things'].get.parameters;
    const byName = Object.fromEntries(list.map((one: OpenApi) => [one.name, one]));
    assert.deepEqual(Object.keys(byName), ['limit', 'page', 'sort', 'depth', 'asOf', 'where']);
    assert.deepEqual(byName.limit.schema, { type: 'integer', minimum: 1, default: 10 });
    assert.deepEqual(byName.depth.schema, { type: 'integer', minimum: 0, default: 0 });
    const { style, explode, schema } = byName.where;
    assert.deepEqual([style, explode, schema], ['deepObject', true, { $ref: '#/components/schemas/Where' }]);
    const where = schemasIn(document)('components', 'schemas', 'Where');
    assert.ok(
      where({ text: { equals: 'x' }, or: [{ 'other.text': { exists: true } }, { and: [{ number: { in: '1,2' } }] }] }),
    );
    assert.equal(where({ text: { eqals: 'x' } }), false);
    assert.equal(where({ text: 'x' }), false);

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
    assert.deepEqual(namesOf(document.paths['/api/globals/site'].get), ['If-None-Match', 'depth', 'asOf']);
  });

  it('describes what is sent with a file as a form, and the file as bytes', async () => {
    const document = await withApp(keysOnly, async (app) => JSON.parse(await app.openApi()));
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

function assertStatuses(document: OpenApi, expected: Record<string, string[]>): void {
  for (const [operation, wanted] of Object.entries(expected)) {
    const [method = '', path = ''] = operation.split(' ');
    const { responses } = document.paths[path][method.toLowerCase()];
    assert.deepEqual(Object.keys(responses).sort(), wanted.sort(), operation);
  }
}

/** Routes that take no body where others do, and one whose answer has none. */
const withoutBody = /\/(logout|refresh-token)$/;
const withoutAnswer = /\/logout 200$|^get .* 304$/;
const isFile = /^get \/api\/media\/.* 20[06]$/;

/** What holds for every operation. */
function assertWhole(document: OpenApi): void {
  const ids = new Set<string>();
  const tags = new Set(document.tags.map(({ name }: { name: string }) => name));
  assert.doesNotMatch(JSON.stringify(document), /"x-[^"]*":/, 'there are extensions of hapi-swagger left');
  const used = new Set(
    [...JSON.stringify(document).matchAll(/#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name),
  );
  const unused = Object.keys(document.components.schemas).filter((name) => !used.has(name));
  assert.deepEqual(
    unused.filter((name) => name !== 'Where' && name !== 'Condition'),
    [],
  );
  for (const [path, methods] of Object.entries<OpenApi>(document.paths)) {
    for (const [method, operation] of Object.entries<OpenApi>(methods)) {
      const at = `${method} ${path}`;
      assert.ok(operation.summary, at);
      assert.ok(!ids.has(operation.operationId), `${at}: ${operation.operationId} is there twice`);
      ids.add(operation.operationId);
      assert.ok(operation.tags.length === 1 && tags.has(operation.tags[0]), at);
      assert.ok(Array.isArray(operation.security), at);
      const hasBody = /post|patch/.test(method) && !withoutBody.test(path);
      assert.equal(operation.requestBody?.required, hasBody || undefined, at);
      for (const [status, { description, content }] of Object.entries<OpenApi>(operation.responses)) {
        assert.ok(description, `${at} ${status}`);
        const answer = `${at} ${status}`;
        if (withoutAnswer.test(answer)) assert.equal(content, undefined, answer);
        else assert.ok(content[isFile.test(answer) ? '*/*' : 'application/json'].schema, answer);
      }
    }
  }
}

describe('GET /api/openapi.json (4.7)', () => {
  describe('where publicSchema is not set', () => {
    const service = useService(alone);

    it('needs a credential', async () => {
      assert.equal((await service.call('GET', '/api/openapi.json', undefined, { key: null })).status, 401);
      const { status, body, headers } = await service.call('GET', '/api/openapi.json');
      assert.deepEqual([status, body.openapi], [200, '3.0.3']);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
    });

    it('is made without a word of the packages that make it', async () => {
      await service.call('GET', '/api/openapi.json');
      await eventually(() =>
        logLines(service).some((line) => line.path === '/api/openapi.json' && line.status === 200),
      );
      assert.doesNotMatch(service.output().stderr, /warning/i);
      assert.ok(logLines(service).every(({ level }) => level === 30));
    });
  });

  describe('where publicSchema is true', () => {
    const service = useService({ ...alone, publicSchema: true });

    it('is open, but not for a wrong key', async () => {
      assert.equal((await service.call('GET', '/api/openapi.json', undefined, { key: null })).status, 200);
      assert.equal((await service.call('GET', '/api/openapi.json', undefined, { key: 'wrong' })).status, 401);
    });

    it('takes no parameters, and answers HEAD', async () => {
      assert.equal((await service.call('GET', '/api/openapi.json?tags=only')).status, 400);
      assert.equal((await service.call('GET', '/api/openapi.json?_=1')).status, 200);
      assert.equal((await service.call('HEAD', '/api/openapi.json')).status, 200);
      assert.equal((await service.call('POST', '/api/openapi.json', {})).status, 404);
    });
  });
});

describe('The answers of the service', () => {
  const service = useService(`export default ${sourceOf(rich)}`);
  const { described, document, met } = useDescribedCalls(service);

  const things = '/api/collections/things';
  const whole = {
    text: 'x',
    code: 'abc',
    textarea: 'a\nb',
    rich: { ops: [] },
    email: 'ä@example.org',
    url: 'https://example.org/ü',
    number: 1.5,
    integer: 3,
    boolean: true,
    date: '2024-02-29',
    datetime: '2024-02-29T12:30+01:00',
    time: '23:59',
    select: 'b',
    radio: 'a',
    multiSelect: ['a', 'b'],
    object: { a: 'x' },
    array: [{ a: 'x', b: null }],
    blocks: [{ blockType: 'one', a: 'x' }, { blockType: 'two-b' }],
    json: [1, null],
    inRow: 'x',
  };

  it('are described for documents with every value and with none, at every depth', async () => {
    const { id } = (await described(`POST ${things}`, 201, { body: whole })).body;
    const empty = (await described(`POST ${things}`, 201, { body: { text: 'x', select: null } })).body;
    const links = { other: id, others: [id, empty.id], blocks: [{ blockType: 'two-b', to: id }] };
    await described(`PATCH ${things}/{id}`, 200, { path: `${things}/${empty.id}`, body: links });
    for (const query of ['', '?depth=1', '?depth=3']) {
      await described(`GET ${things}/{id}`, 200, { path: `${things}/${id}${query}` });
      await described(`GET ${things}/{id}`, 200, { path: `${things}/${empty.id}${query}` });
      const { body } = await described(`GET ${things}`, 200, { path: `${things}${query}` });
      assert.ok(body.total >= 2);
    }
    const [once, twice] = [{ body: { number: 1 } }, { body: { number: 2 } }];
    const named = { path: `${things}/${id}`, headers: { 'idempotency-key': 'one' } };
    await described(`PATCH ${things}/{id}`, 200, { ...named, ...once });
    await described(`PATCH ${things}/{id}`, 200, { ...named, ...once });
    await described(`PATCH ${things}/{id}`, 422, { ...named, ...twice });
    await service.call('PATCH', named.path, { number: 1.5 });
    const read = await described(`GET ${things}/{id}`, 200, { path: `${things}/${id}` });
    const known = { 'if-none-match': read.headers.get('etag') ?? '' };
    await described(`GET ${things}/{id}`, 304, { path: `${things}/${id}`, headers: known });
    const stale = { path: `${things}/${id}`, headers: { 'if-match': '"3-x"' } };
    await service.call('PATCH', stale.path, { number: 2 });
    const { body } = await described(`PATCH ${things}/{id}`, 412, { ...stale, body: { number: 3 } });
    assert.deepEqual(body.fields, [{ field: 'number', before: 1.5, current: 2 }]);
    await described(`DELETE ${things}/{id}`, 412, stale);
    const back = { path: `${things}/${id}/restore`, body: { version: 1 } };
    const dry = await described(`POST ${things}/{id}/restore`, 200, { ...back, path: `${back.path}?dryRun=true` });
    assert.deepEqual(dry.body.conflicts, []);
    await described(`POST ${things}/{id}/restore`, 412, { ...back, ...{ headers: stale.headers } });
    await described(`POST ${things}/{id}/restore`, 200, back);
    await described(`POST ${things}/{id}/restore`, 400, { ...back, body: { version: 0 } });
    await described(`POST ${things}/{id}/restore`, 404, { ...back, path: `${things}/none/restore` });
    const rivals = (await described(`POST ${things}`, 201, { body: { text: 'x', code: 'rival' } })).body;
    await service.call('DELETE', `${things}/${rivals.id}`);
    await described(`POST ${things}`, 201, { body: { text: 'x', code: 'rival' } });
    await described(`POST ${things}/{id}/restore`, 409, { ...back, path: `${things}/${rivals.id}/restore` });
    await described(`GET ${things}`, 200, { path: `${things}?limit=1&page=7&where[text][equals]=none` });
    await described(`DELETE ${things}/{id}`, 200, { path: `${things}/${empty.id}` });
  });

  it('are described for globals, never written and written', async () => {
    const site = '/api/globals/site';
    assert.equal((await described(`GET ${site}`, 200)).body.title, null);
    await described(`PATCH ${site}`, 400, { body: { titel: 'x' } });
    await described(`PATCH ${site}`, 200, { body: { title: 'x', links: [{ a: 'x' }] } });
    await described(`GET ${site}`, 200, { path: `${site}?depth=1` });
    await described(`POST ${site}/restore`, 200, { body: { version: 1 } });
    await described(`PATCH ${site}`, 412, { body: {}, headers: { 'if-match': '"0-x"' } });
    await described(`GET ${site}`, 304, { headers: { 'if-none-match': '*' } });
    await described(`GET ${site}`, 400, { path: `${site}?limit=1` });
    await described(`PATCH ${site}`, 401, { body: {}, key: null });
  });

  it('are described for what is refused', async () => {
    const { id } = (await service.call('POST', things, { text: 'x', code: 'taken' })).body;
    const other = (await service.call('POST', things, { text: 'x' })).body;
    await described(`GET ${things}`, 400, { path: `${things}?limit=0` });
    await described(`GET ${things}/{id}`, 400, { path: `${things}/%zz` });
    await described(`POST ${things}`, 400, { body: { txt: 1, number: 'x' } });
    await described(`POST ${things}`, 400, { body: '{' });
    await described(`POST ${things}`, 400, { body: '[]' });
    await described(`POST ${things}`, 401, { body: {}, key: null });
    await described(`GET ${things}`, 401, { key: 'wrong' });
    await described('GET /api/collections/plain', 401, { key: null });
    await described(`GET ${things}/{id}`, 404, { path: `${things}/none` });
    await described(`PATCH ${things}/{id}`, 404, { path: `${things}/none`, body: {} });
    await described(`DELETE ${things}/{id}`, 404, { path: `${things}/none` });
    await described(`POST ${things}`, 409, { body: { text: 'x', code: 'taken' } });
    await described(`PATCH ${things}/{id}`, 409, { path: `${things}/${other.id}`, body: { code: 'taken' } });
    await described(`POST ${things}`, 413, { body: { text: 'x'.repeat(1_100_000) } });
    await described(`POST ${things}`, 415, { body: 'x', headers: { 'content-type': 'text/plain' } });
    await described(`DELETE ${things}/{id}`, 400, { path: `${things}/${id}?depth=1` });
    // Its body counts for nothing, of whatever kind.
    const body = { body: '{', headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' } };
    await described(`DELETE ${things}/{id}`, 200, { path: `${things}/${id}`, ...body });
  });

  it('are described where rules and hooks refuse', async () => {
    const ruled = '/api/collections/ruled';
    const { id } = (await described(`POST ${ruled}`, 201, { body: { text: 'x', secret: 'y' } })).body;
    await described(`POST ${ruled}`, 403, { body: {}, key: null });
    const seen = await described(`GET ${ruled}/{id}`, 200, { path: `${ruled}/${id}`, key: null });
    assert.equal('secret' in seen.body, false);
    await described(`GET ${ruled}`, 200, { key: null });
    const hooked = '/api/collections/hooked';
    const made = (await described(`POST ${hooked}`, 201, { body: { text: 'x' } })).body;
    await described(`PATCH ${hooked}/{id}`, 418, { path: `${hooked}/${made.id}`, body: { text: 'teapot' } });
    await described(`POST ${hooked}`, 500, { body: { text: 'bug' } });
  });

  it('are described where a hook refuses what is related', async () => {
    const make = async (slug: string, body: object) =>
      (await service.call('POST', `/api/collections/${slug}`, body)).body.id;
    const secret = (await service.call('POST', '/api/collections/lawful', { text: 'x' })).body.id;
    const near = await make('near', { lawful: secret });
    const far = '/api/collections/far';
    const id = await make('far', { parts: { near } });
    const farther = '/api/collections/farther';
    const to = await make('farther', {});
    await make('pointing', { to, blocks: [{ blockType: 'one', far: id }] });
    await service.call('PATCH', '/api/globals/front', { far: id });
    await described('PATCH /api/collections/lawful/{id}', 451, {
      path: `/api/collections/lawful/${secret}`,
      body: { text: 'secret' },
    });
    await described(`GET ${far}/{id}`, 200, { path: `${far}/${id}?depth=1` });
    await described(`GET ${far}/{id}`, 451, { path: `${far}/${id}?depth=2` });
    await described(`GET ${farther}`, 451, { path: `${farther}?depth=4` });
    await described('GET /api/globals/front', 451, { path: '/api/globals/front?depth=3' });
  });

  it('are described for files, and for what is refused of them', async () => {
    const files = '/api/collections/files';
    const media = 'GET /api/media/files/{id}/{filename}';
    const json = (value: unknown) => new Blob([JSON.stringify(value)], { type: 'application/json' });
    const formOf = (text: string, values: Record<string, string | Blob> = { alt: 'x' }) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(values)) form.append(name, value as string);
      form.append('file', new Blob([text]), 'a.txt');
      return form;
    };
    const inJson = { parts: json([{ a: 'x' }]), extra: json({ a: [1] }) };
    const values = { alt: 'x', year: '1999', isOld: 'true', tags: 'a', ...inJson };
    const { body: file } = await described(`POST ${files}`, 201, { body: formOf('some text', values) });
    assert.deepEqual(
      [file.filename, file.year, file.isOld, file.tags, file.parts, file.extra],
      ['a.txt', 1999, true, ['a'], [{ a: 'x', b: 1 }], { a: [1] }],
    );
    const at = { path: `${files}/${file.id}` };
    await described(`PATCH ${files}/{id}`, 200, { ...at, body: { ...file, alt: 'y' } });
    const { body: replaced } = await described(`PATCH ${files}/{id}`, 200, { ...at, body: formOf('another text', {}) });
    assert.deepEqual([replaced.alt, replaced.filesize], ['y', 12]);
    const { body: thing } = await described(`POST ${things}`, 201, { body: { text: 'x', photo: file.id } });
    const populated = await described(`GET ${things}/{id}`, 200, { path: `${things}/${thing.id}?depth=1` });
    assert.equal(populated.body.photo.url, replaced.url);
    await described(`GET ${files}`, 200, { key: null });

    const whole = await described(media, 200, { path: replaced.url, key: null });
    assert.equal(String(whole.body), 'another text');
    const etag = whole.headers.get('etag') ?? '';
    await described(media, 304, { path: replaced.url, headers: { 'if-none-match': etag } });
    const part = await described(media, 206, { path: replaced.url, headers: { range: 'bytes=0-6' } });
    assert.equal(String(part.body), 'another');
    await described(media, 412, { path: replaced.url, headers: { 'if-match': '"x"' } });
    await described(media, 206, { path: replaced.url, headers: { 'if-match': etag, range: 'bytes=0-6' } });
    await described(media, 416, { path: replaced.url, headers: { range: 'bytes=12-' } });
    await described(media, 400, { path: `${replaced.url}?depth=1` });
    await described(media, 401, { path: replaced.url, key: 'wrong' });
    await described(media, 404, { path: replaced.url.replace(file.id, thing.id) });

    await described(`POST ${files}`, 400, { body: formOf('') });
    await described(`POST ${files}`, 400, { body: formOf('x', {}) });
    await described(`POST ${files}`, 401, { body: formOf('x'), key: null });
    await described(`POST ${files}`, 413, { body: formOf('x'.repeat(2001)) });
    await described(`POST ${files}`, 400, { body: { alt: 'x' } });
    await described(`POST ${files}`, 415, { body: 'x', headers: { 'content-type': 'text/plain' } });
    await described(`PATCH ${files}/{id}`, 400, { ...at, body: { file: 'x' } });
    await described(`PATCH ${files}/{id}`, 401, { ...at, body: formOf('x'), key: null });
    await described(`PATCH ${files}/{id}`, 412, { ...at, body: formOf('x'), headers: { 'if-match': '"1-x"' } });
    await described(`PATCH ${files}/{id}`, 413, { ...at, body: formOf('x'.repeat(2001)) });
    await described(`PATCH ${files}/{id}`, 404, { path: `${files}/none`, body: formOf('x') });
    await described(`PATCH ${files}/{id}`, 415, { ...at, body: 'x', headers: { 'content-type': 'text/plain' } });
    await described(`DELETE ${files}/{id}`, 200, at);

    const ofFiles = answersOf(document()).filter(
      (one) => /^(POST|PATCH) .*\/files\b|\/media\//.test(one) && !/\/restore /.test(one),
    );
    const notHere = / (403|408|409|422|500|503)$/;
    assert.ok(ofFiles.length >= 30);
    assert.deepEqual(
      ofFiles.filter((one) => !met.has(one) && !notHere.test(one)),
      [],
    );
  });

  it('are described for the service itself', async () => {
    await described('GET /health', 200, { key: null });
    await described('GET /ready', 200, { key: null });
    await described('GET /api/schemas', 200);
    await described('GET /api/schemas', 400, { path: '/api/schemas?depth=1' });
    await described('GET /api/schemas', 401, { key: null });
    await described('GET /api/openapi.json', 200);
    await described('GET /api/openapi.json', 401, { key: `${apiKey}x` });
  });

  it('are found wrong where they are', async () => {
    const answer = await service.call('GET', things);
    const { docs: _, ...rest } = answer.body;
    assert.throws(() => assertDescribed(document(), `GET ${things}`, { ...answer, body: rest }), /docs/);
    const [doc] = answer.body.docs;
    const wrong = { ...answer.body, docs: [{ ...doc, number: 'x' }] };
    assert.throws(() => assertDescribed(document(), `GET ${things}`, { ...answer, body: wrong }), /number/);
    assert.throws(() => assertDescribed(document(), `GET ${things}`, { ...answer, status: 404 }), /404/);
  });
});
