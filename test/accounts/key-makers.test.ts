import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, bearer, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';
import { all, of, ofGlobals, password, type Rights } from './made-keys.ts';

describe('The maker of an API key', () => {
  const service = useServiceHere(`const isStaff = ({ user }) => user?.collection === 'staff';
const isChief = (args) => isStaff(args) && args.user.role === 'chief';
const title = { name: 'title', type: 'text' };
const ofChief = { read: isChief, create: isChief, update: isChief, delete: isChief };
export default {
  bcryptCost: 4,
  rateLimit: false,
  keys: ({ user }) => user !== null,
  audit: (args) => isChief(args) || (args.user?.role === 'guard' && args.req.ip !== '') || (args.user !== null && ['headers']),
  collections: [
    { slug: 'staff', auth: { useAPIKey: true }, access: { ...ofChief, read: isStaff }, fields: [{ name: 'role', type: 'text' }] },
    { slug: 'agents', auth: true, access: { read: isStaff, create: isChief, update: isChief, delete: isChief }, fields: [] },
    { slug: 'vaults', access: ofChief, fields: [title] },
    { slug: 'notes', access: { read: isStaff, create: isStaff, update: isStaff }, fields: [
      title,
      { name: 'seo', type: 'object', fields: [{ name: 'ssn', type: 'text', access: { read: isChief, create: isStaff, update: ({ doc }) => doc !== 1 } }] },
    ] },
    { slug: 'own', fields: [title], access: {
      read: ({ user }) => ({ title: { equals: String(user?.role) } }),
      create: ({ data }) => data?.title !== 'x',
      update: ({ doc }) => doc?.title !== 'x',
      delete: ({ user, req }) => user !== null && req.ip !== '',
    } },
    { slug: 'bang', access: { read: () => { throw new Error('a secret path'); } }, fields: [title] },
    { slug: 'plain', fields: [title] },
  ],
  globals: [{ slug: 'site', access: { read: isStaff, update: isChief }, fields: [title] }],
};`);
  let chief: CallOptions;
  let keeper: CallOptions;
  let guard: CallOptions;
  let agent: CallOptions;

  before(async () => {
    await service.call('GET', '/health');
    const [, setupToken] = /token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
    const first = { setupToken, email: 'ada@example.org', password, role: 'chief' };
    const { body } = await service.call('POST', '/api/collections/staff/first-user', first, anonymous);
    chief = bearer(body.token);
    for (const [slug, email] of Object.entries({ staff: 'kim@example.org', agents: 'al@example.org' })) {
      const made = await service.call('POST', `/api/collections/${slug}`, { email, password }, chief);
      assert.equal(made.status, 201, JSON.stringify(made.body));
    }
    const asGuard = { email: 'gus@example.org', password, role: 'guard' };
    assert.equal((await service.call('POST', '/api/collections/staff', asGuard, chief)).status, 201);
    guard = (await loggedIn(service, 'staff', asGuard.email, password)).as;
    keeper = (await loggedIn(service, 'staff', 'kim@example.org', password)).as;
    agent = (await loggedIn(service, 'agents', 'al@example.org', password)).as;
  });

  const create = (rights: Rights, as: CallOptions) => service.call('POST', '/api/keys', { name: 'x', ...rights }, as);
  const cannot =
    /^a key has no user, so the \w+ rule of [\w.]+, which decides by more than the user, cannot be asked about it$/;

  it('gives it no right that they do not have, or that no rule can tell in advance', async () => {
    const cases: [rights: Rights, field: string, message: RegExp][] = [
      [{ scopes: [of(['vaults'], 'read')] }, 'scopes.0', /^you may not read vaults$/],
      [{ scopes: [of(['plain'], 'read'), of(['staff', 'plain'], 'update')] }, 'scopes.1', /^you may not update staff$/],
      [{ scopes: [of(['notes'], 'read')] }, 'scopes.0', /^you may not read notes\.seo\.ssn$/],
      [{ scopes: [of(['notes'], 'update')] }, 'scopes.0', /^a key has no user, so the update rule of notes\.seo\.ssn/],
      [{ scopes: [of(['own'], 'read')] }, 'scopes.0', cannot],
      [{ scopes: [of(['own'], 'create')] }, 'scopes.0', cannot],
      [{ scopes: [of(['own'], 'update')] }, 'scopes.0', cannot],
      [{ scopes: [of(['own'], 'delete')] }, 'scopes.0', cannot],
      [{ scopes: [of(['bang'], 'read')] }, 'scopes.0', /^you may not read bang$/],
      [{ scopes: [ofGlobals(['site'], 'read', 'update')] }, 'scopes.0', /^you may not update site$/],
      [{ scopes: [of('*', 'read')] }, 'scopes.0', /^"\*" holds collections that are added later too/],
      [{ scopes: [ofGlobals('*', 'read')] }, 'scopes.0', /^"\*" holds globals that are added later too/],
      [{ audit: ['headers', 'payloads'] }, 'audit.1', /^you may not look into the history: .* the scope payloads$/],
      [{ audit: ['export'] }, 'audit.0', /the scope export$/],
      [{ audit: ['headers', 'erase'] }, 'audit.1', /^you may not erase$/],
    ];
    for (const [rights, field, message] of cases) {
      const { status, body } = await assertRecorded(service, () => create(rights, keeper), []);
      assert.equal(status, 403, JSON.stringify([rights, body]));
      assert.equal(body.errors.length, 1, JSON.stringify(body));
      assert.equal(body.errors[0].field, field);
      assert.match(body.errors[0].message, message);
      assert.ok(body.message.startsWith('a key never has rights that you have not: '), body.message);
    }
    const several = await create({ scopes: [of(['vaults'], 'read', 'delete')], audit: ['payloads'] }, keeper);
    assert.deepEqual(Object.keys(several.body.errors), ['0', '1', '2']);
    assert.doesNotMatch(JSON.stringify(several.body), /secret path/);
    assert.equal((await create({ audit: ['erase'] }, agent)).body.errors[0].message, 'you may not erase');
    const byAddress = await create({ audit: ['payloads'] }, guard);
    assert.deepEqual(errorsOf(byAddress), {
      'audit.0': 'a key has no user, so the audit rule, which decides by more than the user, cannot be asked about it',
    });
    assert.equal((await create({ scopes: [of('*', 'read')] }, chief)).status, 403);
  });

  it('gives it those that they have', async () => {
    const within: Rights = {
      scopes: [
        of(['notes'], 'create'),
        of(['plain'], 'read', 'create', 'update', 'delete'),
        ofGlobals(['site'], 'read', 'delete'),
      ],
      audit: ['headers'],
    };
    const made = await create(within, keeper);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const path = '/api/collections/plain';
    assert.equal((await service.call('GET', path, undefined, { key: made.body.secret })).status, 200);
    const more = { scopes: [of(['notes', 'vaults', 'staff'], 'read')], audit: ['payloads', 'export', 'erase'] };
    assert.equal((await create(more, chief)).status, 201);
    assert.equal((await create({}, agent)).status, 201);
    assert.equal(
      (await create({ scopes: [all, of(['own', 'bang'], 'read')], audit: ['payloads', 'erase'] }, {})).status,
      403,
      'the rule keys',
    );
  });

  it('alone, or one who may as much, gives it another secret, and everybody who manages keys ends it', async () => {
    const of = (key: Answer, as: CallOptions, action = '/rotate', method = 'POST') =>
      service.call(method, `/api/keys/${key.body.id}${action}`, undefined, as);
    const key = await create({ scopes: [{ collections: ['vaults'], operations: ['read'] }] }, chief);
    const refused = await assertRecorded(service, () => of(key, keeper), []);
    assert.equal(refused.status, 403);
    assert.equal(refused.body.errors[0].message, 'you may not read vaults');
    const reads = await service.call('GET', '/api/collections/vaults', undefined, { key: key.body.secret });
    assert.equal(reads.status, 200);
    assert.equal((await of(key, chief)).status, 200);
    assert.equal((await of(key, keeper, '', 'DELETE')).status, 200);
    const own = await create({ scopes: [{ collections: ['plain'], operations: ['read'] }] }, keeper);
    assert.deepEqual([(await of(own, keeper)).status, (await of(own, chief)).status], [200, 200]);
  });
});
