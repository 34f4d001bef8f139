import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../../config/define.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { useStarted } from '../../helpers/shared.ts';
import { type Seeding, startSeeded } from './seeded.ts';

type Args = { req: { headers: Record<string, unknown> }; doc: JsonObject | null };
const roleOf = ({ req }: Args) => String(req.headers['x-role']);
const mine = { owner: { equals: 'own' } };

const config: Config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      access: {
        // A rule that looks at the document, a condition, and neither.
        read: (args) => {
          const role = roleOf(args);
          if (role === 'looker') return args.doc?.owner !== 'hidden';
          if (role === 'where') return { owner: { not_equals: 'hidden' } };
          return role !== 'editor';
        },
        update: () => false,
        readDrafts: (args) => {
          const role = roleOf(args);
          if (role === 'looker') return args.doc?.owner === 'own';
          return role === 'where' ? mine : role === 'editor';
        },
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'owner', type: 'text' },
        { name: 'n', type: 'number' },
        { name: 'secret', type: 'text', access: { read: (args) => args.doc?.owner === 'own' } },
        { name: 'shout', type: 'text', hooks: { afterRead: [({ value }) => `${value}!`] } },
        { name: 'next', type: 'relationship', relationTo: 'posts' },
      ],
    },
    {
      slug: 'notes',
      access: { read: () => true },
      fields: [{ name: 'post', type: 'relationship', relationTo: 'posts' }],
    },
    {
      slug: 'broken',
      drafts: true,
      access: {
        read: () => true,
        readDrafts: () => {
          throw new Error('no');
        },
      },
      fields: [{ name: 'post', type: 'relationship', relationTo: 'posts' }],
    },
  ],
};

const ids: Record<string, string> = {};
const posts = '/api/collections/posts';

function seed({ publish, draft, change }: Seeding): void {
  const of = (title: string, owner: string, n: number) => ({ title, owner, n, secret: 's', shout: 'a', next: null });
  ids.hidden = publish('posts', of('hidden', 'hidden', 1));
  ids.shown = publish('posts', of('shown', 'some', 2));
  ids.opened = publish('posts', of('opened before', 'hidden', 3));
  change('posts', ids.opened, { title: 'opened', owner: 'own', next: ids.hidden });
  ids.closed = publish('posts', of('closed before', 'some', 4));
  change('posts', ids.closed, { title: 'closed', owner: 'hidden' });
  ids.new = draft('posts', { ...of('new', 'own', 5), next: ids.shown });
  ids.foreign = draft('posts', of('foreign', 'some', 6));
  publish('notes', { post: ids.new });
  publish('broken', { post: ids.shown });
}

describe('The rules of drafts', () => {
  const service = useStarted((t) => startSeeded(t, config, seed));

  const get = (path: string, role: string) =>
    service.call('GET', path, undefined, { key: null, headers: { 'x-role': role } });

  it('decide about drafts, and read about what is public, by conditions as by functions', async () => {
    for (const role of ['where', 'looker']) {
      const { body } = await get(`${posts}?draft=true&sort=n`, role);
      const shown = body.docs.map(({ title, __status }: JsonObject) => [title, __status]);
      // The public document below a hidden draft stays, and a draft needs no right to what is public.
      assert.deepEqual(
        shown,
        [
          ['shown', 'published'],
          ['opened', 'changed'],
          ['closed before', 'published'],
          ['new', 'draft'],
        ],
        role,
      );
      assert.equal(body.total, 4, role);
      assert.equal((await get(`${posts}/count?draft=true`, role)).body.total, 4);
      const statuses = await Promise.all(
        [ids.hidden, ids.opened, ids.closed, ids.new, ids.foreign].map(
          async (id) => (await get(`${posts}/${id}?draft=true`, role)).status,
        ),
      );
      // To a caller without a credential whose rule gives a condition, a missing document is a hidden one.
      assert.deepEqual(statuses, [401, 200, 200, 200, role === 'where' ? 401 : 404], role);
      const groups = await get(`${posts}/aggregate?draft=true&groupBy=owner`, role);
      assert.equal(groups.body.total, 2, role);
    }
  });

  it('show drafts alone to a caller who may read nothing that is public', async () => {
    const { body } = await get(`${posts}?draft=true&sort=n`, 'editor');
    assert.deepEqual(
      body.docs.map(({ title }: JsonObject) => title),
      ['opened', 'closed', 'new', 'foreign'],
    );
    assert.equal((await get(posts, 'editor')).status, 401);
  });

  it('go on behind a cursor, with a total, and without one', async () => {
    for (const role of ['where', 'looker', 'editor']) {
      for (const count of ['exact', 'none']) {
        const seen: unknown[] = [];
        let next: string | null = '';
        while (next !== null) {
          const path: string = `${posts}?draft=true&sort=-n&limit=1&count=${count}&next=${next}`;
          const { body } = await get(path, role);
          seen.push(...body.docs.map(({ n }: JsonObject) => n));
          assert.ok(seen.length < 10, 'the pages have no end');
          next = body.next;
        }
        assert.deepEqual(seen, role === 'editor' ? [6, 5, 4, 3] : [5, 4, 3, 2], `${role} ${count}`);
      }
    }
  });

  it('of fields, and hooks, see the draft', async () => {
    const { body } = await get(`${posts}/${ids.opened}?draft=true&depth=1`, 'where');
    assert.deepEqual([body.secret, body.shout, body.next], ['s', 'a!', ids.hidden]);
    const closed = (await get(`${posts}/${ids.closed}?draft=true`, 'where')).body;
    assert.ok(!('secret' in closed));
    const selected = (await get(`${posts}/${ids.opened}?draft=true&select=title,__status`, 'where')).body;
    assert.deepEqual(selected, { id: ids.opened, title: 'opened', __status: 'changed' });
    const filtered = await get(`${posts}?draft=true&where[next.title][equals]=shown`, 'where');
    assert.deepEqual(
      filtered.body.docs.map(({ id }: JsonObject) => id),
      [ids.new],
    );
  });

  it('that throw show no draft, and hide no other collection', async () => {
    assert.equal((await get('/api/collections/broken?draft=true', 'where')).status, 403);
    assert.equal((await get('/api/counts?draft=true', 'where')).body.collections.broken.total, 1);
    assert.equal((await get('/api/counts?draft=true', 'anyone')).status, 401);
    // Collections without drafts lead to what is public.
    assert.equal((await get('/api/collections/notes?depth=1', 'where')).body.docs[0].post, ids.new);
  });
});
