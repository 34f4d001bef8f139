import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { of, ofGlobals, password } from './made-keys.ts';

describe('The operation draft of an API key', () => {
  const service = useServiceHere(`const isStaff = ({ user }) => user?.collection === 'staff';
const no = () => false;
const title = { name: 'title', type: 'text' };
export default {
  bcryptCost: 4,
  keys: () => true,
  collections: [
    { slug: 'staff', auth: true, access: { create: () => true }, fields: [] },
    { slug: 'plain', fields: [title] },
    { slug: 'free', drafts: true, access: { create: isStaff, update: isStaff }, fields: [title] },
    { slug: 'writers', drafts: true, access: { create: isStaff, update: isStaff, delete: isStaff, publish: no }, fields: [title] },
    { slug: 'eyes', drafts: true, access: { publish: ({ user, editors }) => !editors.includes(user.id) }, fields: [title] },
    { slug: 'shut', drafts: true, access: { readDrafts: no }, fields: [title] },
    { slug: 'fixed', drafts: true, access: { update: no, readDrafts: isStaff, publish: isStaff }, fields: [title] },
    { slug: 'owned', drafts: true, access: { update: ({ doc }) => doc !== null }, fields: [title] },
    { slug: 'hidden', drafts: true, fields: [{ ...title, access: { read: no } }] },
    { slug: 'chosen', drafts: true, access: { create: no }, fields: [title] },
  ],
  globals: [
    { slug: 'site', drafts: true, access: { publish: no }, fields: [title] },
    { slug: 'bare', fields: [title] },
  ],
};`);
  let user: CallOptions;

  before(async () => {
    await service.call('POST', '/api/collections/staff', { email: 'ada@example.org', password });
    user = (await loggedIn(service, 'staff', 'ada@example.org', password)).as;
  });

  const make = (scopes: object[], options?: CallOptions) =>
    service.call('POST', '/api/keys', { name: 'a test', scopes }, options);

  it('is for what has drafts', async () => {
    const { status, body } = await make([of(['free'], 'draft'), ofGlobals(['site'], 'read', 'draft')]);
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(body.scopes[1], { collections: [], globals: ['site'], operations: ['read', 'draft'] });
    const shown = await service.call('GET', `/api/keys/${body.id}`);
    assert.deepEqual(shown.body.scopes, body.scopes);
    assert.equal((await make([of('*', 'draft'), ofGlobals('*', 'draft')])).status, 201);

    const wrong = await make([{ collections: ['free', 'plain'], globals: ['bare'], operations: ['read', 'draft'] }]);
    const problem =
      'allow "draft" only where there are drafts (there are none in "plain", "globals/bare"), got an object';
    assert.deepEqual([wrong.status, wrong.body.message], [400, `scopes.0 must ${problem}`]);
    const unknown = await make([of(['free'], 'drafts')]);
    assert.match(unknown.body.message, /must be one of .*"delete", "draft", got "drafts"; did you mean "draft"\?/);
  });

  it('does what no other operation does', async () => {
    const { body } = await make([of(['free'], 'draft')]);
    const as = { key: body.secret };
    const calls: [method: string, path: string, body?: object][] = [
      ['GET', '/api/collections/free'],
      ['POST', '/api/collections/free', { title: 'x' }],
      ['PATCH', '/api/collections/free/x', { title: 'x' }],
    ];
    for (const [method, path, sent] of calls) assert.equal((await service.call(method, path, sent, as)).status, 403);
  });

  it('is given by users who may read drafts and save them', async () => {
    const refusal = async (scope: object) => {
      const { status, body } = await make([scope], user);
      return status === 201 ? null : body.errors.map(({ message }: { message: string }) => message).join('; ');
    };
    const asked = (rule: string) =>
      `a key has no user, so ${rule}, which decides by more than the user, cannot be asked about it`;
    const cases: [scope: object, message: string | null][] = [
      [of(['free', 'writers', 'eyes'], 'draft'), null],
      [ofGlobals(['site'], 'draft'), null],
      [of(['shut'], 'draft'), 'you may not read drafts of shut'],
      [of(['fixed'], 'draft'), 'you may not update fixed'],
      [of(['chosen'], 'draft'), 'you may not create chosen'],
      [of(['owned'], 'draft'), asked('the update rule of owned')],
      [of(['hidden'], 'draft'), 'you may not read hidden.title'],
      // Every other write is public at once.
      [of(['free'], 'create', 'update'), null],
      [of(['writers'], 'create'), 'you may not publish writers'],
      [of(['writers'], 'update'), 'you may not publish writers'],
      [of(['writers'], 'delete'), 'you may not publish writers'],
      [of(['writers'], 'read'), null],
      [of(['eyes'], 'update'), asked('the publish rule of eyes')],
      [ofGlobals(['site'], 'update'), 'you may not publish site'],
      [ofGlobals(['site'], 'delete', 'create'), null],
    ];
    for (const [scope, message] of cases) assert.equal(await refusal(scope), message, JSON.stringify(scope));
  });
});

describe('A configuration without drafts', () => {
  const service = useServiceHere(`export default { collections: [{ slug: 'plain', fields: [] }] };`);

  it('does not know the operation', async () => {
    const scopes = [of(['plain'], 'draft')];
    const { status, body } = await service.call('POST', '/api/keys', { name: 'x', scopes });
    assert.equal(status, 400);
    assert.equal(
      body.message,
      'scopes.0.operations.0 must be one of "read", "create", "update", "delete", got "draft"',
    );
  });
});
