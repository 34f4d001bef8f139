import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { openLined, type Writer, writerOf } from '../documents/drafts/recorded.ts';
import { startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';

const config: Config = {
  rateLimit: false,
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'code', type: 'text', unique: true },
        { name: 'title', type: 'text' },
        { name: 'stock', type: 'number' },
      ],
    },
  ],
};

const ids: Record<string, string> = {};
const batches = {
  publishing: '01970000-0000-7000-8000-0000000000b1',
  moved: '01970000-0000-7000-8000-0000000000b2',
  making: '01970000-0000-7000-8000-0000000000b3',
};

const service = useStarted((t) => {
  const data = join(temporaryFolder(t), 'data');
  const directory = openLined(data, config);
  const posts: Record<string, Writer> = {};
  const post = (name: string) => {
    const made = writerOf(directory, 'posts');
    ids[name] = made.id;
    posts[name] = made;
    return made;
  };
  const never = post('never');
  never.draft({ code: 'n', title: 'never' });
  const changed = post('changed');
  changed.create({ code: 'c', title: 'old', stock: 1 });
  changed.save({ title: 'new' });
  const taken = post('taken');
  taken.create({ code: 't', title: 'public' });
  taken.save({ title: 'draft' });
  const gone = post('gone');
  gone.create({ code: 'g', title: 'public' });
  gone.save({ title: 'draft' });
  const drafted = post('drafted');
  drafted.create({ code: 'd', title: 'one' });
  const batch = { batch: batches.publishing };
  never.publish({}, batch);
  changed.publish({}, batch);
  taken.unpublish(batch);
  gone.remove(batch);
  drafted.save({ title: 'two' }, batch);
  const moved = post('moved');
  moved.create({ code: 'm', title: 'old', stock: 1 });
  moved.save({ title: 'new' });
  moved.publish({}, { batch: batches.moved });
  moved.patch({ stock: 5 });
  moved.save({ title: 'newest' });
  const made = post('made');
  made.draft({ code: 'x', title: 'made' }, { batch: batches.making });
  directory.close();
  return startHere(t, config as object, { data });
});

/** The title of a document for readers and for editors; null where they get nothing. */
async function titles(name: string) {
  const path = `/api/audit/documents/posts/${ids[name]}`;
  const { body } = await service.call('GET', path);
  const { body: version } = await service.call('GET', `${path}/versions/${body.document.version}`);
  return [version.published?.title ?? null, version.document?.title ?? null];
}

describe('Undoing a bulk call about documents with drafts', () => {
  it('tells with dryRun, then gives the public states and the drafts of before', async () => {
    const path = `/api/batches/${batches.publishing}/undo`;
    const { body: asked } = await service.call('POST', `${path}?dryRun=true`);
    assert.deepEqual(
      asked.results.map(({ outcome }: { outcome: string }) => outcome),
      ['updated', 'updated', 'updated', 'restored', 'updated'],
    );
    assert.deepEqual(await titles('never'), ['never', 'never']);
    const { status, body } = await service.call('POST', path, {});
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.changed, 5);
    assert.deepEqual(await titles('never'), [null, 'never']);
    assert.deepEqual(await titles('changed'), ['old', 'new']);
    assert.deepEqual(await titles('taken'), ['public', 'draft']);
    assert.deepEqual(await titles('gone'), ['public', 'draft']);
    assert.deepEqual(await titles('drafted'), ['one', 'one']);
    const { body: batch } = await service.call('GET', `/api/batches/${batches.publishing}`);
    assert.equal(batch.undoneBy, body.batch);
    assert.deepEqual(batch.outcomes, {
      created: 0,
      updated: 1,
      deleted: 1,
      restored: 0,
      published: 2,
      unpublished: 1,
    });
    const { body: undoing } = await service.call('GET', `/api/batches/${body.batch}`);
    assert.equal(undoing.undoes, batches.publishing);
    // Both its events are undone together, and the undoing too.
    const again = await service.call('POST', `/api/batches/${body.batch}/undo`, {});
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual(await titles('changed'), ['new', 'new']);
    assert.deepEqual(await titles('gone'), [null, null]);
  });

  it('is a conflict if a document has gone on since, and leaves that alone if it is forced', async () => {
    const path = `/api/batches/${batches.moved}/undo`;
    const refused = await service.call('POST', path, {});
    assert.equal(refused.status, 409);
    assert.match(refused.body.message, /is at version 5, the call made 3/);
    const { status, body } = await service.call('POST', path, { force: true });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(await titles('moved'), ['old', 'newest']);
    const { body: document } = await service.call('GET', `/api/collections/posts/${ids.moved}`);
    assert.equal(document.stock, 5);
  });

  it('ends a draft that the call created', async () => {
    const { status } = await service.call('POST', `/api/batches/${batches.making}/undo`, {});
    assert.equal(status, 200);
    assert.deepEqual(await titles('made'), [null, null]);
    // Its unique value is free again.
    const free = await service.call('POST', '/api/collections/posts', { code: 'x' });
    assert.equal(free.status, 201, JSON.stringify(free.body));
  });
});
