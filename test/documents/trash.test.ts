import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

const config = `
const role = (name) => ({ user }) => user?.role === name;
const mine = ({ user }) => (user ? { owner: { equals: user.id } } : false);
export default {
  bcryptCost: 4,
  audit: ({ user, apiKey }) => apiKey ? true : user?.role === 'auditor' ? true : user?.role === 'clerk' ? ['headers'] : false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'role', type: 'text' }] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }, { name: 'rank', type: 'number' }] },
    {
      slug: 'notes',
      admin: { useAsTitle: 'title' },
      fields: [
        { name: 'owner', type: 'text' },
        { name: 'title', type: 'text', access: { read: ({ doc }) => doc !== null && doc.owner !== '' } },
        { name: 'rank', type: 'number' },
      ],
      access: { read: mine, delete: ({ doc }) => doc.rank < 3 },
    },
    { slug: 'kept', fields: [], access: { delete: () => false, create: () => true } },
    { slug: 'teams', fields: [{ name: 'lead', type: 'text' }] },
    {
      slug: 'tasks',
      fields: [
        { name: 'teams', type: 'relationship', relationTo: 'teams', hasMany: true },
        { name: 'owner', type: 'relationship', relationTo: 'teams' },
      ],
      access: {
        read: ({ user }) => ({ 'teams.lead': { equals: user.id } }),
        delete: ({ user }) => ({ 'owner.lead': { not_equals: user.id } }),
      },
    },
  ],
};`;

type Trashed = { collection: string; id: string; title: string | null; reason: string | null; version: number };

describe('The trash', () => {
  const service = useServiceHere(config);
  const users: Record<string, { as: CallOptions; id: string }> = {};

  async function send(method: string, path: string, body?: unknown, options?: CallOptions) {
    const answer = await service.call(method, `/api${path}`, body, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  const create = async (slug: string, values: object): Promise<string> => {
    return (await send('POST', `/collections/${slug}`, values)).id;
  };

  const remove = (slug: string, id: string, options?: CallOptions) => {
    return send('DELETE', `/collections/${slug}/${id}`, undefined, options);
  };

  const asOf = (role: string) => users[role]?.as ?? assert.fail(role);

  before(async () => {
    const password = 'correct horse battery';
    for (const role of ['auditor', 'clerk', 'guest']) {
      const email = `${role}@example.org`;
      const { id } = await send('POST', '/collections/users', { email, password, role });
      users[role] = { id, as: (await loggedIn(service, 'users', email, password)).as };
    }
  });

  it('holds a deleted document until it is restored', async () => {
    const id = await create('posts', { title: 'One' });
    await send('PATCH', `/collections/posts/${id}`, { title: 'Two' });
    const before = Date.now();
    await remove('posts', id, {
      ...asOf('auditor'),
      headers: { ...asOf('auditor').headers, 'x-change-reason': 'a typo' },
    });
    const { docs, ...page } = await send('GET', '/collections/posts/trash');
    const [{ deletedAt, ...one }] = docs;
    assert.ok(Date.parse(deletedAt) >= before - 1000);
    assert.deepEqual(one, {
      collection: 'posts',
      id,
      title: 'Two',
      deletedBy: { type: 'user', id: `users/${users.auditor?.id}` },
      reason: 'a typo',
      version: 2,
    });
    assert.deepEqual(page, {
      total: 1,
      limit: 10,
      page: 1,
      totalPages: 1,
      hasNextPage: false,
      hasPrevPage: false,
      nextPage: null,
      prevPage: null,
    });
    assert.deepEqual((await send('GET', '/trash')).docs, docs);

    await send('POST', `/collections/posts/${id}/restore`, { version: one.version });
    assert.equal((await send('GET', '/collections/posts/trash')).total, 0);
    await remove('posts', id);
    const again = await send('GET', '/collections/posts/trash');
    assert.equal(again.total, 1);
    assert.equal(again.docs[0].version, 4);
  });

  it('shows title and reason to those who may see payloads, and who deleted to those who may see headers', async () => {
    const seen = async (role: string) => {
      const { docs } = await send('GET', '/collections/posts/trash', undefined, asOf(role));
      return [docs[0].title, docs[0].deletedBy, docs[0].reason];
    };
    const key = (await send('GET', '/collections/posts/trash')).docs[0].deletedBy;
    assert.equal(key.type, 'apiKey');
    assert.deepEqual(await seen('auditor'), ['Two', key, null]);
    assert.deepEqual(await seen('clerk'), [null, key, null]);
    assert.deepEqual(await seen('guest'), [null, null, null]);
  });

  it('has no erased document', async () => {
    const id = await create('posts', { title: 'Gone' });
    await remove('posts', id);
    const { total } = await send('GET', '/collections/posts/trash');
    await send('POST', '/audit/erasures', { collection: 'posts', id, reason: 'asked for' });
    const { docs, total: left } = await send('GET', '/collections/posts/trash');
    assert.equal(left, total - 1);
    assert.ok(docs.every((one: Trashed) => one.id !== id));
    assert.ok((await send('GET', '/trash')).docs.every((one: Trashed) => one.id !== id));
  });

  it('is for callers who may read and delete', async () => {
    const statusOf = async (path: string, options?: CallOptions) => {
      return (await service.call('GET', `/api${path}`, undefined, options)).status;
    };
    assert.equal(await statusOf('/collections/posts/trash', anonymous), 401);
    assert.equal(await statusOf('/trash', anonymous), 401);
    assert.equal(await statusOf('/collections/kept/trash', asOf('auditor')), 403);
    assert.equal(await statusOf('/collections/kept/trash'), 200);
    const id = await create('kept', {});
    await remove('kept', id);
    const shown = async (options?: CallOptions) => {
      return (await send('GET', '/trash?limit=100', undefined, options)).docs
        .map((one: Trashed) => one.id)
        .includes(id);
    };
    assert.deepEqual([await shown(), await shown(asOf('auditor'))], [true, false]);

    const scope = (operations: string[]) => ({ collections: ['posts'], operations });
    const made = async (operations: string[]): Promise<CallOptions> => {
      const { secret } = await send('POST', '/keys', { name: operations.join(), scopes: [scope(operations)] });
      return { key: secret };
    };
    const [reader, both] = [await made(['read']), await made(['read', 'delete'])];
    assert.equal(await statusOf('/collections/posts/trash', reader), 403);
    assert.equal(await statusOf('/trash', reader), 403);
    const { docs } = await send('GET', '/trash', undefined, both);
    assert.ok(docs.length > 0);
    assert.ok(
      docs.every(
        (one: Trashed & { deletedBy: unknown }) =>
          one.collection === 'posts' && one.title === null && one.deletedBy === null,
      ),
    );
  });

  it('refuses other parameters than those of a page', async () => {
    for (const path of ['/trash', '/collections/posts/trash']) {
      const { status, body } = await service.call('GET', `/api${path}?limt=1`);
      assert.equal(status, 400);
      assert.equal(
        body.message,
        'limt is not a query parameter; did you mean "limit"?; allowed: "limit", "page", "asOf"',
      );
    }
  });

  it('is what the rules say of each document as it last was', async () => {
    const owners = ['guest', 'auditor', 'other'] as const;
    const note = fc.record({
      owner: fc.constantFrom(...owners),
      earlier: fc.constantFrom(...owners),
      rank: fc.integer({ min: 0, max: 5 }),
      fate: fc.constantFrom('deleted', 'restored', 'deleted again', 'kept'),
    });
    const notes: { id: string; owner: string; rank: number; isGone: boolean }[] = [];
    const ownerOf = (role: string) => users[role]?.id ?? role;
    for (const { owner, earlier, rank, fate } of fc.sample(note, 25)) {
      const id = await create('notes', { owner: ownerOf(earlier), title: 'A note', rank: 5 - rank });
      await send('PATCH', `/collections/notes/${id}`, { owner: ownerOf(owner), rank });
      notes.push({ id, owner, rank, isGone: fate.startsWith('deleted') });
      if (fate === 'kept') continue;
      await remove('notes', id);
      if (fate !== 'deleted') await send('POST', `/collections/notes/${id}/restore`, { version: 2 });
      if (fate === 'deleted again') await remove('notes', id);
    }
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('guest', 'auditor', null),
        fc.integer({ min: 3, max: 30 }),
        async (role, limit) => {
          const wanted = notes.filter(({ isGone, owner, rank }) => {
            return isGone && (role === null || (owner === role && rank < 3));
          });
          const found: Trashed[] = [];
          for (let page: number | null = 1; page !== null; ) {
            const query = `?limit=${limit}&page=${page}`;
            const answer = await send(
              'GET',
              `/collections/notes/trash${query}`,
              undefined,
              role ? asOf(role) : undefined,
            );
            assert.equal(answer.total, wanted.length);
            found.push(...answer.docs);
            page = answer.nextPage;
          }
          assert.deepEqual(found.map(({ id }) => id).sort(), wanted.map(({ id }) => id).sort());
        },
      ),
      { numRuns: 8 },
    );
    // The rule of the field that is to be the title looks at the document, so the next one is.
    const own = await create('notes', { owner: ownerOf('auditor'), title: 'A note', rank: 0 });
    await remove('notes', own);
    const titleFor = async (options?: CallOptions) => {
      return (await send('GET', '/collections/notes/trash?limit=1', undefined, options)).docs[0].title;
    };
    assert.deepEqual([await titleFor(asOf('auditor')), await titleFor()], [ownerOf('auditor'), 'A note']);
  });

  it('is as of then with asOf: what was deleted by then and had not come back', async () => {
    const ids = [await create('posts', { title: 'a' }), await create('posts', { title: 'b' })];
    const gone = new Set<string>();
    const { total } = await send('GET', '/collections/posts/trash');
    const expected = new Map<number, string[]>();
    const note = () => expected.set(recordedEvents(service.data).length, [...gone].sort());
    note();
    for (const step of [
      'delete 0',
      'change 1',
      'restore 0',
      'change 0',
      'delete 1',
      'delete 0',
      'restore 1',
    ] as const) {
      const [what, which] = step.split(' ');
      const id = ids[Number(which)] ?? assert.fail();
      if (what === 'delete') gone.add(id);
      if (what === 'delete') await remove('posts', id);
      if (what === 'restore') gone.delete(id);
      if (what === 'restore') await send('POST', `/collections/posts/${id}/restore`, { version: 1 });
      if (what === 'change') await send('PATCH', `/collections/posts/${id}`, { title: `${step} ${expected.size}` });
      note();
    }
    for (const path of ['/collections/posts/trash', '/trash']) {
      for (const [position, wanted] of expected) {
        const { status, body, headers } = await service.call('GET', `/api${path}?limit=100&asOf=${position}`);
        const found = body.docs.map(({ id }: Trashed) => id).filter((id: string) => ids.includes(id));
        assert.deepEqual([status, found.sort()], [200, wanted], `${path} as of ${position}`);
        assert.equal(headers.get('annals-position'), String(position));
      }
    }
    const [start = 0, first = 0] = expected.keys();
    assert.equal((await send('GET', `/collections/posts/trash?asOf=${start}`)).total, total);
    const [then] = (await send('GET', `/collections/posts/trash?limit=1&asOf=${first}`)).docs;
    assert.deepEqual([then.id, then.title, then.version], [ids[0], 'a', 1]);
    assert.equal((await send('GET', '/trash?asOf=2001-01-01')).total, 0);
    assert.equal((await service.call('GET', '/api/trash?asOf=2999-01-01')).status, 400);
  });

  it('shows the past to a caller whom the rules admit to the past and the last version', async () => {
    const [guest, auditor] = ['guest', 'auditor'].map((role) => users[role]?.id ?? assert.fail()) as [string, string];
    const make = async (owner: string, later: string, isGone: boolean) => {
      const id = await create('notes', { owner, title: 'A note', rank: 0 });
      await remove('notes', id);
      const then = recordedEvents(service.data).length;
      await send('POST', `/collections/notes/${id}/restore`, { version: 1 });
      await send('PATCH', `/collections/notes/${id}`, { owner: later });
      if (isGone) await remove('notes', id);
      const path = `/collections/notes/trash?limit=1&asOf=${then}`;
      const seen = async (role: string) => {
        const { docs } = await send('GET', path, undefined, asOf(role));
        return docs[0]?.id === id;
      };
      assert.equal((await send('GET', path)).docs[0]?.id, id, 'a key is asked about no rule');
      for (const other of [path, `/trash?asOf=${then}`]) {
        assert.equal((await service.call('GET', `/api${other}`, undefined, asOf('guest'))).status, 403, other);
      }
      return seen('auditor');
    };
    for (const isGone of [true, false]) {
      assert.equal(await make(auditor, auditor, isGone), true);
      assert.equal(await make(auditor, guest, isGone), false);
      assert.equal(await make(guest, auditor, isGone), false);
    }
  });

  it('asks rules that go through relationships about what was related when each was deleted', async () => {
    const [guest, auditor] = ['guest', 'auditor'].map((role) => users[role]?.id ?? assert.fail()) as [string, string];
    const [one, two] = [await create('teams', { lead: auditor }), await create('teams', { lead: 'somebody' })];
    const wanted: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      const lead = n % 2 === 0 ? guest : auditor;
      await send('PATCH', `/collections/teams/${one}`, { lead });
      await send('PATCH', `/collections/teams/${two}`, { lead: n % 3 === 0 ? guest : 'somebody' });
      const id = await create('tasks', { teams: [two, one], owner: two });
      await remove('tasks', id);
      if (lead === guest && n % 3 !== 0) wanted.unshift(id);
    }
    const { docs, total } = await send('GET', '/collections/tasks/trash?limit=100', undefined, asOf('guest'));
    assert.deepEqual([docs.map(({ id }: Trashed) => id), total], [wanted, 10]);
  });
});
