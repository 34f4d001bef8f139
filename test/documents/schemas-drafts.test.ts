import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { schemasOf } from '../../server/openapi/schema-components.ts';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';

const path = '/api/schemas';
const secret = 'correct horse battery';

type Shown = { slug: string; drafts?: object; access?: object };
type Service = ReturnType<typeof useServiceHere>;

async function shownIn(service: Service, options?: CallOptions) {
  const { body } = await service.call('GET', path, undefined, options);
  const entries: Shown[] = [...body.collections, ...body.globals];
  return new Map(entries.map((entry) => [entry.slug, entry]));
}

describe('GET /api/schemas with drafts', () => {
  const service = useServiceHere(`
const fields = [{ name: 'title', type: 'text' }, { name: 'since', type: 'datetime' }];
export default {
  collections: [
    { slug: 'members', auth: true, fields: [], access: { create: () => true } },
    { slug: 'plain', fields },
    { slug: 'posts', drafts: true, fields, access: { update: ({ user }) => user === null } },
    { slug: 'open', drafts: { publishedAt: 'since' }, fields },
    {
      slug: 'ruled', drafts: { validate: true, publishedAt: 'since' }, fields,
      access: { update: () => false, readDrafts: () => ({ title: { equals: 'x' } }), publish: () => false },
    },
    { slug: 'eyes', drafts: true, fields, access: { update: () => false, publish: ({ user, editors }) => !editors.includes(user.id) } },
    { slug: 'first', drafts: true, fields, access: { publish: ({ published }) => published === null && false } },
    { slug: 'wrong', drafts: true, fields, access: { publish: () => { throw new Error('no') }, readDrafts: () => 'yes' } },
  ],
  globals: [
    { slug: 'site', drafts: true, fields },
    { slug: 'bare', fields },
  ],
};`);

  it('shows the options of drafts, each of them, and nothing without drafts', async () => {
    const shown = await shownIn(service);
    assert.deepEqual(
      ['posts', 'open', 'ruled', 'site'].map((slug) => shown.get(slug)?.drafts),
      [
        { validate: false, publishedAt: null },
        { validate: false, publishedAt: 'since' },
        { validate: true, publishedAt: 'since' },
        { validate: false, publishedAt: null },
      ],
    );
    for (const slug of ['plain', 'bare', 'members']) assert.ok(!('drafts' in (shown.get(slug) ?? {})));
  });

  it('tells whether the user may read drafts and publish, by the rule update if there is no other', async () => {
    await service.call('POST', '/api/collections/members', { email: 'ada@example.org', password: secret });
    const { as } = await loggedIn(service, 'members', 'ada@example.org', secret);
    const shown = await shownIn(service, as);
    const rights = (slug: string) => shown.get(slug)?.access;
    const all = { read: true, create: true, update: true, delete: true };
    assert.deepEqual(rights('plain'), all);
    assert.deepEqual(rights('posts'), { ...all, update: false, readDrafts: false, publish: false });
    assert.deepEqual(rights('open'), { ...all, readDrafts: true, publish: true });
    assert.deepEqual(rights('ruled'), { ...all, update: false, readDrafts: true, publish: false });
    // A rule that looks at the editors or the public document may admit to some document.
    assert.deepEqual(rights('eyes'), { ...all, update: false, readDrafts: false, publish: true });
    assert.deepEqual(rights('first'), { ...all, readDrafts: true, publish: true });
    assert.deepEqual(rights('wrong'), { ...all, readDrafts: false, publish: false });
    assert.deepEqual(rights('site'), { read: true, update: true, readDrafts: true, publish: true });
    assert.deepEqual(rights('bare'), { read: true, update: true });
  });
});

describe('The description of GET /api/schemas', () => {
  const fields = [{ name: 'title', type: 'text' }];

  /** The names of the members of a collection and of a global, and of their rights, in the description. */
  function describedOf(drafts: boolean): { members: string[]; rights: string[]; needed: string[] }[] {
    const model = checkConfig({
      collections: [{ slug: 'members', auth: true, fields }],
      globals: [{ slug: 'site', fields, drafts }],
    });
    const { properties } = JSON.parse(JSON.stringify(schemasOf(model, true)));
    return [properties.collections, properties.globals].map(({ items }) => {
      const { properties, required } = items.properties.access;
      return { members: Object.keys(items.properties), rights: Object.keys(properties), needed: required };
    });
  }

  it('has drafts and the rights to them where the configuration has drafts', () => {
    for (const { members, rights, needed } of describedOf(true)) {
      assert.ok(members.includes('drafts'));
      assert.deepEqual(rights, [...needed, 'readDrafts', 'publish']);
    }
    for (const { members, rights, needed } of describedOf(false)) {
      assert.ok(!members.includes('drafts'));
      assert.deepEqual(rights, needed);
    }
  });
});
