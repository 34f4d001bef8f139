import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../../config/define.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { useStarted } from '../../helpers/shared.ts';
import { type Seeding, startSeeded } from './seeded.ts';

type Request = { req: { headers: Record<string, unknown> } };
const isRole = ({ req }: Request, ...roles: string[]) => roles.includes(String(req.headers['x-role']));

const access = {
  read: () => true,
  update: () => false,
  readDrafts: (args: Request) => (isRole(args, 'own') ? { owner: { equals: 'own' } } : isRole(args, 'editor')),
};

const config: Config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      access,
      fields: [
        { name: 'title', type: 'text' },
        { name: 'owner', type: 'text' },
        { name: 'next', type: 'relationship', relationTo: 'posts' },
        { name: 'before', type: 'join', collection: 'posts', on: 'next' },
      ],
    },
  ],
  globals: [{ slug: 'site', drafts: true, access, fields: [{ name: 'title', type: 'text' }] }],
  audit: (args) => isRole(args, 'editor', 'own', 'auditor') && ['payloads'],
};

const posts = '/api/collections/posts';
const at: Record<string, number> = {};
const ids: Record<string, string> = {};

function seed({ directory, publish, draft, change, publishDraft, unpublish, remove, setGlobal }: Seeding): void {
  const note = (name: string) => {
    at[name] = directory.log.head().size;
  };
  ids.one = publish('posts', { title: 'one', owner: 'own', next: null });
  note('one');
  ids.two = draft('posts', { title: 'two', owner: null, next: ids.one });
  change('posts', ids.one, { title: 'one changed', next: ids.two });
  note('drafts');
  change('posts', ids.one, { owner: null });
  note('given');
  publishDraft('posts', ids.one);
  publishDraft('posts', ids.two);
  note('published');
  unpublish('posts', ids.one);
  note('unpublished');
  remove('posts', ids.one);
  setGlobal('site', { title: 'first' });
  note('global');
  change('site', 'site', { title: 'second' });
  note('end');
  ids.three = draft('posts', { title: 'three', owner: 'own', next: null });
  ids.four = draft('posts', { title: 'four', owner: 'own', next: null });
  note('own');
  change('posts', ids.three, { owner: null });
}

describe('asOf with drafts', () => {
  const service = useStarted((t) => startSeeded(t, config, seed));

  const get = (path: string, role: string) =>
    service.call('GET', path, undefined, { key: null, headers: { 'x-role': role } });

  async function titles(name: string, role: string, query: string): Promise<unknown[]> {
    const { status, body } = await get(`${posts}?sort=title&asOf=${at[name]}${query}`, role);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.total, body.docs.length);
    return body.docs.map(({ title }: JsonObject) => title);
  }

  it('gives what was public then, and with draft=true what editors had', async () => {
    const expected = {
      one: [['one'], ['one']],
      drafts: [['one'], ['one changed', 'two']],
      published: [
        ['one changed', 'two'],
        ['one changed', 'two'],
      ],
      unpublished: [['two'], ['one changed', 'two']],
      end: [['two'], ['two']],
    };
    for (const [name, [isPublic, draft]] of Object.entries(expected)) {
      assert.deepEqual(await titles(name, 'editor', ''), isPublic, name);
      assert.deepEqual(await titles(name, 'editor', '&draft=true'), draft, name);
      const { body } = await get(`${posts}/count?asOf=${at[name]}&draft=true`, 'editor');
      assert.equal(body.total, draft?.length);
    }
  });

  it('reads one document, with its relations, joins and members as they were', async () => {
    const read = (id: string, name: string, query = '') => get(`${posts}/${id}?asOf=${at[name]}${query}`, 'editor');
    const one = (await read(ids.one ?? '', 'drafts', '&draft=true&depth=1')).body;
    assert.deepEqual(
      [one.title, one.__status, one.next.title, one.next.__status],
      ['one changed', 'changed', 'two', 'draft'],
    );
    const two = (await read(ids.two ?? '', 'drafts', '&draft=true')).body;
    assert.deepEqual([two.__status, two.__publishedAt, two.before], ['draft', null, [ids.one]]);
    assert.equal((await read(ids.one ?? '', 'drafts')).body.title, 'one');
    assert.equal((await read(ids.two ?? '', 'drafts')).status, 404);
    assert.equal((await read(ids.one ?? '', 'unpublished')).status, 404);
    assert.equal((await read(ids.one ?? '', 'unpublished', '&draft=true')).body.__status, 'draft');
    const site = async (name: string, query: string) =>
      (await get(`/api/globals/site?asOf=${at[name]}${query}`, 'editor')).body.title;
    assert.deepEqual(
      [await site('end', ''), await site('end', '&draft=true'), await site('global', '&draft=true')],
      ['first', 'second', 'first'],
    );
  });

  it('asks the rule about the draft as it was and about the newest state', async () => {
    // Both drafts were the caller's own, of which one is not any more.
    assert.deepEqual(await titles('own', 'own', '&draft=true'), ['four', 'two']);
    assert.deepEqual(await titles('own', 'editor', '&draft=true'), ['four', 'three', 'two']);
    const statusOf = async (id = '', name = 'own') =>
      (await get(`${posts}/${id}?asOf=${at[name]}&draft=true`, 'own')).status;
    assert.deepEqual([await statusOf(ids.three), await statusOf(ids.four)], [404, 200]);
    assert.equal(await statusOf(ids.two, 'drafts'), 404);
    // A deleted document is as it last was.
    assert.deepEqual(await titles('drafts', 'own', '&draft=true'), ['one changed']);
    assert.deepEqual(await titles('given', 'own', '&draft=true'), ['one']);
  });

  it('needs both rights, and proves the public state alone', async () => {
    assert.equal((await get(`${posts}?asOf=${at.drafts}&draft=true`, 'auditor')).status, 401);
    assert.equal((await get(`${posts}?asOf=${at.drafts}&draft=true`, 'anyone')).status, 401);
    const proven = await get(`${posts}/${ids.two}?asOf=${at.end}&draft=true&proven=true`, 'editor');
    assert.equal(proven.status, 400);
    assert.equal(proven.body.errors[0].field, 'draft');
  });
});
