import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Config } from '../../../config/define.ts';
import { openLined, writerOf } from '../../documents/drafts/recorded.ts';
import { startHere } from '../../helpers/embedded.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { findingIn } from '../../projections/directory.ts';

const config: Config = {
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'slug', type: 'text', unique: true },
        { name: 'title', type: 'text' },
      ],
    },
  ],
};

it('An erasure takes the drafts and the published states of a document out of every file', async (t) => {
  const data = join(temporaryFolder(t), 'data');
  const directory = openLined(data, config);
  const post = writerOf(directory, 'posts');
  post.draft({ slug: 'canary-a', title: 'canary-b' }, { by: 'staff/ada', why: 'canary-c' });
  post.publish({}, { why: 'canary-d' });
  post.save({ slug: 'canary-e', title: 'canary-f' });
  post.review('requested', { version: 3, note: 'canary-g' });
  const other = writerOf(directory, 'posts');
  other.draft({ slug: 'kept', title: 'kept' });
  directory.close();
  const service = await startHere(t, config as object, { data });
  const asked = { collection: 'posts', id: post.id, reason: 'asked' };
  const { status, body } = await service.call('POST', '/api/audit/erasures', asked);
  assert.equal(status, 201, JSON.stringify(body));
  const { body: history } = await service.call('GET', `/api/audit/documents/posts/${post.id}/versions/3`);
  assert.deepEqual([history.erased, history.document, history.published], [true, null, null]);
  await service.stop();
  for (const name of readdirSync(data)) {
    if (/\.(db|db-wal)$/.test(name)) assert.doesNotMatch(readFileSync(join(data, name), 'latin1'), /canary/, name);
  }
  assert.equal(findingIn(data), null);
  const again = openLined(data, config);
  t.after(() => again.close());
  // Its unique values are free in both lines.
  const next = writerOf(again, 'posts');
  next.create({ slug: 'canary-a' });
  next.save({ slug: 'canary-e' });
  assert.equal(next.lines().draft?.slug, 'canary-e');
});
