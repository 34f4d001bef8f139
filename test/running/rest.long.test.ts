import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startService } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

/** MB of memory that belong to a process alone. */
function anonymous(pid: number): number {
  const found = /^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
  return (Number(found) * 1024) / 1e6;
}

describe('A service at rest', { skip: process.platform !== 'linux' && 'only Linux tells what a process holds' }, () => {
  it('gives back the memory that its start and its requests took, and goes on as before', async (t) => {
    const { call, child, stop } = await startService(t, config);
    for (let made = 0; made < 200; made += 1) {
      assert.equal((await call('POST', '/api/collections/posts', { title: `post ${made}` })).status, 201);
    }
    const { pid = 0 } = child;
    const before = anonymous(pid);
    // 45 MB less on a quiet machine: the room for young objects of three threads, and their garbage.
    await eventually(() => anonymous(pid) < before - 20, 60_000);
    const { status, body } = await call('GET', '/api/collections/posts?limit=1');
    assert.deepEqual([status, body.total], [200, 200]);
    assert.equal(await stop(), 0);
  });
});
