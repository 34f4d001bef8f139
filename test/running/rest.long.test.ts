import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startService } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const { glibcVersionRuntime: glibc } = (process.report.getReport() as { header: { glibcVersionRuntime?: string } })
  .header;
const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

/** MB of memory that belong to a process alone. */
function anonymous(pid: number): number {
  const found = /^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1];
  return (Number(found) * 1024) / 1e6;
}

/** How often the threads of a process have waited for something so far, and have woken up again. */
function wakeUps(pid: number): number {
  const all = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'),
  );
  return all.reduce((sum, text) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(text)?.[1]), 0);
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
    await eventually(() => anonymous(pid) < before - 20);
    const { status, body } = await call('GET', '/api/collections/posts?limit=1');
    assert.deepEqual([status, body.total], [200, 200]);
    assert.equal(await stop(), 0);
  });

  it('hardly wakes up', async (t) => {
    const { call, child } = await startService(t, config, { environment: { ANNALS_VERIFY_PERCENT: '0' } });
    assert.equal((await call('POST', '/api/collections/posts', { title: 'the last' })).status, 201);
    const { pid = 0 } = child;
    let [before, since] = [wakeUps(pid), performance.now()];
    // V8 has some work after a start. Of the main thread it is one a second, of three others three in ten seconds.
    await eventually(() => {
      if (performance.now() - since < 10_000) return false;
      const perSecond = ((wakeUps(pid) - before) * 1000) / (performance.now() - since);
      [before, since] = [wakeUps(pid), performance.now()];
      return perSecond < 5;
    });
  });

  const skip = glibc === undefined ? 'needs glibc, whose memory it is' : false;
  it('gives back the memory of lists of the past, some time after the last one', { skip }, async (t) => {
    const fields = ['a', 'b', 'c'].map((name) => ({ name, type: 'text', index: true }));
    const { call, child } = await startService(t, { collections: [{ slug: 'posts', fields }] });
    const text = 'x'.repeat(200);
    for (let first = 0; first < 4000; first += 1000) {
      const docs = Array.from({ length: 1000 }, (_, n) => ({ a: `${first + n} ${text}`, b: text, c: text }));
      assert.equal((await call('POST', '/api/collections/posts/bulk', { docs })).status, 201);
    }
    const { pid = 0 } = child;
    const before = anonymous(pid);
    for (let position = 2000; position < 4000; position += 100) {
      for (let time = 0; time < 3; time += 1) {
        const { status } = await call('GET', `/api/collections/posts?limit=1&sort=-a&asOf=${position}`);
        assert.equal(status, 200);
      }
    }
    const most = anonymous(pid);
    assert.ok(most - before > 40, `${before} MB before, ${most} with copies`);
    // The copies are kept for 30 to 60 s.
    await eventually(() => anonymous(pid) < most - 0.8 * (most - before));
  });
});
