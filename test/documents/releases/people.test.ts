import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccessRule, PublishRule, ReleaseRule } from '../../../config/model.ts';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { useMailbox } from '../../helpers/mail.ts';
import type { CallOptions } from '../../helpers/service.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { inTime } from '../../helpers/wait-for.ts';

const mailbox = await useMailbox();
const hasRole =
  (...roles: string[]) =>
  ({ user }: { user: { [name: string]: unknown } | null }) =>
    roles.includes(String(user?.role));
const isEditor: AccessRule = hasRole('editor', 'chief');
const isOther: PublishRule = ({ user, editors }) =>
  hasRole('editor', 'chief')({ user }) && !editors.includes(`staff/${user?.id}`);
const mayRelease: ReleaseRule = ({ user, operation }) =>
  hasRole('chief')({ user }) || (hasRole('editor')({ user }) && operation !== 'publish');

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  releases: mayRelease,
  email: { from: 'cms@example.org', transport: mailbox.url },
  collections: [
    { slug: 'staff', auth: { useAPIKey: true }, fields: [{ name: 'role', type: 'text' }] },
    {
      slug: 'posts',
      drafts: true,
      access: { read: () => true, create: isEditor, update: isEditor, delete: isEditor, publish: isOther },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
      ],
    },
  ],
});
const call: typeof service.call = (...args) => service.call(...args);
const password = 'correct horse battery';
const soon = (milliseconds = 2500) => new Date(Date.now() + milliseconds).toISOString();

async function member(name: string, role: string): Promise<{ id: string; email: string; as: CallOptions }> {
  const email = `${name}@example.org`;
  const made = await call('POST', '/api/collections/staff', { email, password, role });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { as, id } = await loggedIn({ call }, 'staff', email, password);
  return { as, id, email };
}

describe('people and releases', () => {
  it('the rule decides by operation, and the rule publish about each item', async () => {
    const ada = await member('ada', 'editor');
    const bob = await member('bob', 'editor');
    const chief = await member('chief', 'chief');
    const reader = await member('reader', 'reader');
    const { body: one } = await call('POST', '/api/collections/posts?draft=true', { title: 'One' }, ada.as);
    const items = [{ collection: 'posts', id: one.id }];
    const own = await call('POST', '/api/releases', { title: 'x', items }, ada.as);
    assert.deepEqual([own.status, fieldsOf(own)], [403, ['items.0']], 'four eyes');
    const made = await call('POST', '/api/releases', { title: 'x', items }, bob.as);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const path = `/api/releases/${made.body.id}`;
    assert.equal((await call('POST', `${path}/publish`, undefined, bob.as)).status, 403);
    assert.equal((await call('GET', path, undefined, reader.as)).status, 403);
    assert.equal((await call('GET', path, undefined, anonymous)).status, 401);
    assert.equal((await call('GET', '/api/releases', undefined, anonymous)).status, 401);
    assert.equal((await call('POST', '/api/releases', { title: 'x', at: soon() }, bob.as)).status, 403);
    assert.equal((await call('POST', `${path}/publish`, undefined, chief.as)).status, 200);
  });

  it('who had set the time gets a mail if it fails', async () => {
    const eve = await member('eve', 'chief');
    const fred = await member('fred', 'editor');
    const { body: one } = await call('POST', '/api/collections/posts?draft=true', { slug: 'x' }, fred.as);
    const items = [{ collection: 'posts', id: one.id }];
    const { body } = await call('POST', '/api/releases', { title: 'Christmas', at: soon(), items }, eve.as);
    assert.deepEqual(body.scheduledBy, { type: 'user', id: `staff/${eve.id}` });
    const mail = await mailbox.next(eve.email);
    assert.match(mail.subject ?? '', /^Not published at .*: Christmas$/);
    assert.match(mail.text ?? '', /Nothing of it is public/);
    const { body: failed } = await call('GET', `/api/releases/${body.id}`, undefined, eve.as);
    assert.deepEqual(
      [failed.state, failed.items[0].problems.map(({ field, code }: Record<string, string>) => [field, code])],
      ['failed', [['title', 'required']]],
    );
    assert.equal((await call('GET', `/api/collections/posts/${one.id}`)).status, 404);
  });

  it('the release of a person who has left is published, and names them', async () => {
    const gone = await member('gone', 'chief');
    const hal = await member('hal', 'editor');
    const { body: one } = await call('POST', '/api/collections/posts?draft=true', { title: 'One' }, hal.as);
    const items = [{ collection: 'posts', id: one.id }];
    const { body } = await call('POST', '/api/releases', { title: 'x', at: soon(), items }, gone.as);
    assert.equal((await call('DELETE', `/api/collections/staff/${gone.id}`)).status, 200);
    await inTime(async () => assert.equal((await call('GET', `/api/collections/posts/${one.id}`)).status, 200));
    const events = await call('GET', `/api/audit/events?stream=system/releases/${body.id}&type=release.published`);
    assert.deepEqual(events.body.docs[0].data.scheduledBy, { type: 'user', id: `staff/${gone.id}` });
  });
});
