import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHere } from '../../helpers/embedded.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { callsOf, config } from './config.ts';

describe('releases whose time came while no service ran', () => {
  it('are published at the start, in the order of their times', async (t) => {
    const first = await startHere(t, config);
    const before = callsOf(first);
    const one = await before.post({ title: '0' });
    const ids: string[] = [];
    const time = Date.now() + 3000;
    // Made in another order than that of their times.
    for (const delay of [2, 0, 1]) {
      await before.edit(one, { title: String(delay) });
      const { body } = await before.release({
        title: String(delay),
        at: new Date(time + delay).toISOString(),
        items: [one],
      });
      ids.push(body.id);
    }
    await first.stop();
    await inTime(async () => assert.ok(Date.now() > time + 2));
    const { call } = await startHere(t, config, { data: first.data });
    const after = callsOf({ call });
    await inTime(async () => assert.equal((await after.read(ids[0] ?? '')).body.state, 'published'));
    const { body } = await call('GET', '/api/audit/events?type=release.published');
    const streams = body.docs.map(({ header }: { header: { stream: string } }) => header.stream);
    assert.deepEqual(
      streams,
      [ids[1], ids[2], ids[0]].map((id) => `system/releases/${id}`),
    );
    assert.equal((await after.shown(one))?.title, '2');
  });
});
