import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHere } from '../../helpers/embedded.ts';
import { type Service, startService } from '../../helpers/service.ts';
import { recordedEvents } from '../../helpers/shared.ts';

const posts = '/api/collections/posts';

describe('Idempotency-Key', () => {
  it('replays after a crash that came between the commit and the answer', async (t) => {
    const config = { collections: [{ slug: 'posts', fields: [{ name: 'n', type: 'number' as const }] }] };
    const crashed = await startService(t, config, { environment: { ANNALS_THREADS: '1' } });
    const send = (to: Pick<Service, 'call'>, n: number) =>
      to.call('POST', posts, { n }, { headers: { 'idempotency-key': `crash-${n}` } });
    // As many as the crash finds under way have no answer, though some of them are recorded.
    const sending = Array.from({ length: 60 }, (_, n) => send(crashed, n).catch(() => null));
    await Promise.race(sending);
    await crashed.kill();
    const answered = await Promise.all(sending);
    const stored = recordedEvents(crashed.data).filter(({ type }) => type === 'document.created');
    const next = await startHere(t, config, { data: crashed.data });
    const again = await Promise.all(answered.map((_, n) => send(next, n)));
    for (const [n, { status, body }] of again.entries()) {
      assert.deepEqual([status, body.n, body.id], [201, n, answered[n]?.body.id ?? body.id]);
    }
    const replayed = again.filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
    assert.equal(replayed.length, stored.length);
    assert.equal((await next.call('GET', posts)).body.total, 60);
  });
});
