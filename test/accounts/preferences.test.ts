import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../config/schema.ts';
import { merged } from '../../server/accounts/preferences.ts';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { useService } from '../helpers/shared.ts';

const service = useService(
  `export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [{ slug: 'users', auth: { useAPIKey: true }, fields: [] }],
};`,
  { ANNALS_THREADS: '1' },
);
const password = 'correct horse battery';
let ada: LoggedIn;
let bob: LoggedIn;

async function newUser(name: string): Promise<LoggedIn> {
  const email = `${name}@example.org`;
  assert.equal((await service.call('POST', '/api/collections/users', { email, password })).status, 201);
  return loggedIn(service, 'users', email, password);
}

const get = ({ as }: Pick<LoggedIn, 'as'>) => service.call('GET', '/api/preferences', undefined, as);
const patch = ({ as }: Pick<LoggedIn, 'as'>, body: unknown) => service.call('PATCH', '/api/preferences', body, as);

before(async () => {
  ada = await newUser('ada');
  bob = await newUser('bob');
});

describe('Preferences', () => {
  it('are an object of each user, changed by merge patches, and recorded nowhere', async () => {
    assert.deepEqual((await get(ada)).body, {});
    const first = { theme: 'dark', columns: { posts: ['title'], pages: ['slug'] } };
    assert.deepEqual((await assertRecorded(service, () => patch(ada, first), [])).body, first);
    const second = { theme: null, columns: { pages: null, files: ['name'] } };
    const expected = { columns: { posts: ['title'], files: ['name'] } };
    const { status, headers, body } = await patch(ada, second);
    assert.deepEqual([status, body], [200, expected]);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.deepEqual((await get(ada)).body, expected);
    assert.deepEqual((await get(bob)).body, {});
  });

  it('of one user are changed by any number of calls at once, none of which is lost', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `key${index}`);
    await Promise.all(names.map((name) => patch(bob, { [name]: true })));
    assert.deepEqual((await get(bob)).body, Object.fromEntries(names.map((name) => [name, true])));
  });

  it('are changed by the type of a merge patch too, which nothing else takes', async () => {
    const type = (user: LoggedIn, contentType: string) => ({
      ...user.as,
      headers: { ...user.as.headers, 'content-type': contentType },
    });
    const merge = 'application/merge-patch+json';
    const sent = await service.call('PATCH', '/api/preferences', { merged: 1 }, type(ada, merge));
    assert.deepEqual([sent.status, sent.body.merged], [200, 1]);
    for (const [path, other, allowed] of [
      ['/api/preferences', 'text/plain', `application/json or ${merge}`],
      [`/api/collections/users/${ada.id}`, merge, 'application/json'],
    ] as const) {
      const { status, body } = await service.call('PATCH', path, {}, type(ada, other));
      const message = `the body must be ${allowed}, got content-type "${other}"`;
      assert.deepEqual([status, body.error, body.message], [415, 'Unsupported Media Type', message]);
    }
    await patch(ada, { merged: null });
  });

  it('have a tag, which a change may name', async () => {
    const asked = (headers: Record<string, string>) => ({ ...bob.as, headers: { ...bob.as.headers, ...headers } });
    const first = (await patch(bob, { tagged: 1 })).headers.get('etag') ?? '';
    assert.equal((await get(bob)).headers.get('etag'), first);
    const known = asked({ 'if-none-match': first });
    assert.equal((await service.call('GET', '/api/preferences', undefined, known)).status, 304);
    const change = (tag: string, value: unknown) =>
      service.call('PATCH', '/api/preferences', { tagged: value }, asked({ 'if-match': tag }));
    const second = await change(first, 2);
    assert.deepEqual([second.status, second.body.tagged], [200, 2]);
    assert.notEqual(second.headers.get('etag'), first);
    const stale = await change(first, 3);
    const message = 'the preferences are not the ones that if-match names';
    assert.deepEqual([stale.status, stale.body.message], [412, message]);
    assert.equal((await change('no tag', 3)).status, 400);
    assert.equal((await change(`"x", ${second.headers.get('etag')}`, 4)).status, 200);
    assert.equal((await change('*', null)).status, 200);
    // Of two that name the same, one is first.
    const tag = (await get(bob)).headers.get('etag') ?? '';
    const both = await Promise.all([change(tag, 5), change(tag, 6)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
  });

  it('need a user', async () => {
    for (const as of [anonymous, {}]) {
      assert.equal((await get({ as })).status, 401);
      assert.equal((await patch({ as }, {})).status, 401);
    }
  });

  it('are refused if they are not an object, or cannot be given back', async () => {
    const before = (await get(ada)).body;
    for (const body of ['[]', 'null', '5', '', '{"__proto__":1}', '{"a":1e999}', '{'])
      assert.equal((await patch(ada, body)).status, 400, body);
    const deep = `${'{"a":'.repeat(1100)}1${'}'.repeat(1100)}`;
    assert.equal((await patch(ada, deep)).status, 400);
    assert.deepEqual((await get(ada)).body, before);
  });

  it('have at most 65,536 bytes, in a patch as in all', async () => {
    const user = await newUser('large');
    const room = 65_536 - '{"a":"","b":""}'.length;
    assert.equal((await patch(user, { a: 'x'.repeat(40_000) })).status, 200);
    const tooLarge = await patch(user, { b: 'x'.repeat(room - 40_000 + 1) });
    assert.deepEqual([tooLarge.status, tooLarge.body.code], [413, 'too_large']);
    assert.deepEqual(Object.keys((await get(user)).body), ['a']);
    assert.equal((await patch(user, { b: 'x'.repeat(room - 40_000) })).status, 200);
    assert.equal((await patch(user, { c: null, d: 'x'.repeat(65_536) })).status, 413);
    assert.equal((await patch(user, { a: null })).status, 200);
  });

  it('are erased with their user, to the last byte', async () => {
    const user = await newUser('gone');
    const secret = 'a preference that is to be forgotten';
    await patch(user, { secret });
    const files = () =>
      ['vault.db', 'vault.db-wal', 'log.db', 'log.db-wal'].map((name) => readFileSync(join(service.data, name)));
    assert.ok(files().some((file) => file.includes(secret)));
    const body = { collection: 'users', id: user.id, reason: 'asked to' };
    assert.equal((await service.call('POST', '/api/audit/erasures', body)).status, 201);
    assert.ok(files().every((file) => !file.includes(secret)));
    assert.equal((await get(user)).status, 401);
  });
});

describe('A merge patch (RFC 7396)', () => {
  it('does what the examples of its appendix say', () => {
    const examples: [target: Json, patch: Json, result: Json][] = [
      [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
      [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
      [{ a: 'b' }, { a: null }, {}],
      [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
      [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
      [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
      [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
      [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
      [
        ['a', 'b'],
        ['c', 'd'],
        ['c', 'd'],
      ],
      [{ a: 'b' }, ['c'], ['c']],
      [{ e: null }, { a: 1 }, { e: null, a: 1 }],
      [[1, 2], { a: 'b', c: null }, { a: 'b' }],
      [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    ];
    for (const [target, patch, result] of examples) assert.deepEqual(merged(target, patch), result);
  });

  it('done twice is done once, and makes no object a part of the prototype', () => {
    const object = fc.object({ maxDepth: 3, withNullPrototype: false }) as fc.Arbitrary<JsonObject>;
    const json = object.map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = merged(target, patch);
        assert.deepEqual(merged(once, patch), once);
        assert.equal(Object.getPrototypeOf(once), Object.prototype);
      }),
    );
  });
});
