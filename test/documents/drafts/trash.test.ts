import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../../config/define.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { useStarted } from '../../helpers/shared.ts';
import { type Seeding, startSeeded } from './seeded.ts';

type Request = { req: { headers: Record<string, unknown> } };
const isRole = ({ req }: Request, ...roles: string[]) => roles.includes(String(req.headers['x-role']));

const config: Config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text' },
        { name: 'owner', type: 'text' },
      ],
      access: {
        read: () => true,
        delete: () => true,
        update: () => false,
        readDrafts: (args) => (isRole(args, 'own') ? { owner: { equals: 'own' } } : isRole(args, 'editor')),
      },
    },
  ],
  audit: (args) => isRole(args, 'editor', 'own', 'auditor'),
};

function seed({ publish, draft, change, unpublish, remove }: Seeding): void {
  const plain = publish('posts', { title: 'plain', owner: null });
  const changed = publish('posts', { title: 'before', owner: 'own' });
  change('posts', changed, { title: 'geheim after' });
  const foreign = publish('posts', { title: 'foreign', owner: null });
  change('posts', foreign, { title: 'geheim foreign' });
  const never = draft('posts', { title: 'geheim new', owner: 'own' });
  const taken = publish('posts', { title: 'taken back', owner: null });
  unpublish('posts', taken);
  for (const id of [plain, changed, foreign, never, taken]) remove('posts', id);
}

describe('The trash of a collection with drafts', () => {
  const service = useStarted((t) => startSeeded(t, config, seed));

  async function titles(role: string, query = ''): Promise<unknown[]> {
    const options = { key: null, headers: { 'x-role': role } };
    const { status, body } = await service.call('GET', `/api/collections/posts/trash${query}`, undefined, options);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.total, body.docs.length);
    const all = await service.call('GET', `/api/trash${query}`, undefined, options);
    assert.deepEqual(all.body.docs, body.docs);
    return body.docs.map(({ title, version }: JsonObject) => [title, version]);
  }

  it('shows what was public to a caller who may read no draft, and nothing of documents that never were', async () => {
    assert.deepEqual(await titles('auditor'), [
      ['foreign', 1],
      ['before', 1],
      ['plain', 1],
    ]);
  });

  it('shows the last state of each document to a caller who may read drafts', async () => {
    assert.deepEqual(await titles('editor'), [
      ['taken back', 1],
      ['geheim new', 1],
      ['geheim foreign', 2],
      ['geheim after', 2],
      ['plain', 1],
    ]);
    assert.deepEqual(await titles('own'), [
      ['geheim new', 1],
      ['foreign', 1],
      ['geheim after', 2],
      ['plain', 1],
    ]);
  });
});
