import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import {
  readAccept,
  readFirstUser,
  readForgotten,
  readInvite,
  readLogin,
  readReset,
} from '../../config/credentials.ts';
import { compileValidator } from '../../config/documents.ts';
import { componentsOf } from '../../server/openapi/components.ts';
import { schemasIn } from '../helpers/contract.ts';

const model = checkConfig({
  collections: [
    {
      slug: 'users',
      auth: true,
      fields: [
        { name: 'name', type: 'text', required: true },
        { name: 'token', type: 'text' },
        { name: 'setupToken', type: 'number' },
        { name: 'friends', type: 'join', collection: 'users', on: 'friend' },
        { name: 'friend', type: 'relationship', relationTo: 'users' },
      ],
    },
  ],
});
const users = model.collections.get('users');
assert.ok(users);
const validator = compileValidator(users);
const compile = schemasIn({ components: { schemas: componentsOf(model) } });

const email = 'ada@example.org';
const password = 'correct horse';
const token = 'abc';
const name = 'Ada';
const same = { id: 'x', createdAt: 'x', updatedAt: null, friends: ['x'] };

/** The bodies of a route: by whom they are read, and some to try. */
const bodies: Record<string, { read: (body: unknown) => unknown; tried: unknown[] }> = {
  Login: {
    read: readLogin,
    tried: [
      { email, password },
      { email: ' ADA@Example.org\n', password: '' },
      { email: 'no address', password: 'x'.repeat(200) },
      { email: 'x'.repeat(1001), password },
      { email: 1, password },
      { email, password: null },
      { email },
      { password },
      { email, password, name },
    ],
  },
  ForgotPassword: { read: readForgotten, tried: [{ email }, { email: '' }, { email: null }, {}, { email, name }] },
  ResetPassword: {
    read: readReset,
    tried: [
      { token, password },
      { token: '', password },
      { token: 'x'.repeat(1001), password },
      { token, password: '1234567' },
      { token, password: '12345678' },
      { token, password: '👩👩👩👩👩👩👩' },
      { token, password: '👩👩👩👩👩👩👩👩' },
      { token, password: 'x'.repeat(72) },
      { token, password: 'x'.repeat(73) },
      { token, password: null },
      { token },
      { password },
      { token, password, email },
    ],
  },
  Invite: {
    read: readInvite,
    tried: [
      { email },
      { email: ' ADA@Example.org ' },
      { email: 'ada' },
      { email: '' },
      { email: null },
      {},
      { email, name },
    ],
  },
  'collections.users.acceptInvite': {
    read(body) {
      const { values } = readAccept(body);
      validator.create({ ...values, email });
    },
    tried: [
      { token, password, name },
      { token, password, name, ...same },
      { token, password, name, setupToken: 3 },
      { token, password, name, setupToken: 'x' },
      { token, password: 'short', name },
      { token, password },
      { token, name },
      { password, name },
      { token: null, password, name },
      { token, password, name, email },
      { token, password, name, nmae: 'x' },
      [],
    ],
  },
  'collections.users.firstUser': {
    read: (body) => validator.create(readFirstUser(body).values),
    tried: [
      { setupToken: token, email, password, name },
      { setupToken: token, email: ' ADA@example.org ', password, name, token: 'a field', ...same },
      { setupToken: 3, email, password, name },
      { setupToken: token, email: 'ada', password, name },
      { setupToken: token, email, password: 'short', name },
      { setupToken: token, email, password },
      { setupToken: token, password, name },
      { email, password, name },
      { setupToken: token, email, password, name, nmae: 'x' },
    ],
  },
  'collections.users.create': {
    read: validator.create,
    tried: [
      { email, name },
      { email, password, name, ...same },
      { email: '\u00a0ADA@example.org\t', name },
      { email: `  ${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example  `, name },
      { email: 'a b@example.org', name },
      { email: null, name },
      { name },
      { email, password: null, name },
      { email, password: 'short', name },
    ],
  },
  'collections.users.update': {
    read: validator.update,
    tried: [{}, { email: ' ADA@example.org' }, { email: null }, { password }, { password: '' }, { password: null }],
  },
};

function isTaken(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

describe('The bodies of accounts that the document describes', () => {
  for (const [schema, { read, tried }] of Object.entries(bodies)) {
    it(`are those that the service takes: ${schema}`, () => {
      const accepts = compile('components', 'schemas', schema);
      const outcomes = tried.map((body) => {
        const taken = isTaken(() => read(structuredClone(body)));
        assert.equal(accepts(body), taken, JSON.stringify(body));
        return taken;
      });
      assert.deepEqual([...new Set(outcomes)].sort(), [false, true]);
    });
  }

  it('keep secrets out of what is read', () => {
    const schemas = JSON.parse(JSON.stringify(componentsOf(model)));
    for (const schema of Object.keys(bodies)) {
      const { properties } = schemas[schema];
      if (properties.password) assert.equal(properties.password.writeOnly, true, schema);
    }
    assert.equal(schemas['collections.users'].properties.password, undefined);
  });
});
