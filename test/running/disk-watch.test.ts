import assert from 'node:assert/strict';
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { useSmallDisk } from '../helpers/disk.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
const posts = '/api/collections/posts';

describe('A full disk', () => {
  const disk = useSmallDisk(12_000_000);
  const ballast = join(disk.folder, 'ballast');
  const service = useServiceHere(config, disk.skip ? {} : { data: join(disk.folder, 'data') });

  function takeRoom(): void {
    const { bavail, bsize } = statfsSync(disk.folder);
    writeFileSync(ballast, Buffer.alloc(Math.max(bavail * bsize - 4096, 0)));
  }

  it('makes /ready say that writes are refused and reads go on, until there is room again', {
    skip: disk.skip,
  }, async () => {
    const { body } = await service.call('POST', posts, { title: 'first' });
    assert.equal((await service.call('GET', '/ready')).status, 200);
    takeRoom();
    let refused = 0;
    for (let n = 0; refused < 3; n += 1) {
      assert.ok(n < 3000, 'there is room still');
      const { status } = await service.call('POST', posts, { title: 'x'.repeat(refused > 0 ? 10 : 40_000) });
      refused = status === 503 ? refused + 1 : 0;
    }
    const ready = await service.call('GET', '/ready', undefined, { key: null });
    assert.deepEqual([ready.status, ready.body], [503, { status: 'full', reads: 'served', writes: 'refused' }]);
    assert.equal((await service.call('GET', '/health')).status, 200);
    assert.equal((await service.call('GET', `${posts}/${body.id}`)).body.title, 'first');
    const health = await runHere(['health', '--data', service.data]);
    assert.deepEqual([health.code, /: full$/m.test(health.stderr)], [1, true]);

    // No write comes that would find out.
    rmSync(ballast);
    while ((await service.call('GET', '/ready')).status !== 200) await new Promise((go) => setTimeout(go, 50));
    assert.equal((await service.call('POST', posts, { title: 'again' })).status, 201);
    assert.equal((await service.call('GET', '/ready')).status, 200);
    assert.deepEqual(
      readdirSync(service.data).filter((name) => name.includes('probe')),
      [],
    );
    const messages = service.lines().map(({ msg }) => msg);
    assert.ok(messages.includes('writes are refused: there is no room on the disk; reads go on'));
    assert.ok(messages.includes('there is room on the disk again'));
  });

  it('is over with a write that finds room, before anything else looks', { skip: disk.skip }, async () => {
    takeRoom();
    while ((await service.call('POST', posts, { title: 'x'.repeat(40_000) })).status !== 503);
    rmSync(ballast);
    assert.equal((await service.call('POST', posts, { title: 'small' })).status, 201);
    assert.equal((await service.call('GET', '/ready')).status, 200);
  });
});
