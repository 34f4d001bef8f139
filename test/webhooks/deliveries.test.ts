import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { type Delivery, deliveriesIn, openDeliveries } from '../../server/webhooks/deliveries.ts';
import { patience } from '../../server/webhooks/delivery-tables.ts';
import { openDispatcher } from '../../server/webhooks/dispatcher.ts';
import { quickFolder } from '../projections/directory.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');
const log = { id: 'annals/test', size: 10 };
const of = (stream: string, position: number) => ({ webhook: 'hook', id: `d${position}`, stream, position });
const trouble = { at: now, failure: 'it answered 503' };

/** A queue with the events 1 and 2 of one document, and 3 of another. */
function openQueue(t: TestContext) {
  const deliveries = openDeliveries(join(quickFolder(), 'webhooks.db'), log, now);
  t.after(deliveries.close);
  deliveries.begin('hook', 0);
  deliveries.enqueue(['hook'], 3, [of('posts/a', 1), of('posts/a', 2), of('posts/b', 3)], now);
  const due = (at: number) => deliveries.due('hook', at, 10);
  const positions = (at: number) => due(at).map(({ position }) => position);
  const one = (position: number, at: number) => due(at).find((each) => each.position === position) as Delivery;
  return { ...deliveries, positions, one };
}

describe('The deliveries of a document', () => {
  it('are due one after the other, in order, and those of others meanwhile', (t) => {
    const { positions, one, succeed, fail } = openQueue(t);
    assert.deepEqual(positions(now), [1, 3]);
    fail(one(1, now), { ...trouble, dueAt: now + 1000 });
    assert.deepEqual([positions(now), positions(now + 999), positions(now + 1000)], [[3], [3], [3, 1]]);
    succeed(one(3, now), now);
    succeed(one(1, now + 1000), now + 1000);
    assert.deepEqual(positions(now + 1000), [2]);
  });

  it('are due again from the earliest on once a parked one is retried, despite a later one under way', (t) => {
    const { positions, one, fail, retry, succeed } = openQueue(t);
    fail(one(1, now), { ...trouble, dueAt: null });
    assert.deepEqual(positions(now), [2, 3]);
    const underWay = one(2, now);
    retry('hook', 'd1', now);
    fail(underWay, { ...trouble, dueAt: now + 1000 });
    assert.deepEqual(positions(now + 1000), [1, 3]);
    succeed(one(1, now), now + 2000);
    assert.deepEqual(positions(now + 2000), [3, 2]);
  });

  it('are due at once when the document changes again', (t) => {
    const { positions, one, fail, enqueue } = openQueue(t);
    fail(one(1, now), { ...trouble, dueAt: now + 3_600_000 });
    enqueue(['hook'], 4, [of('posts/a', 4)], now + 1000);
    assert.deepEqual(positions(now + 1000), [3, 1]);
  });
});

describe('An attempt that fails', () => {
  it('is repeated for three days, and then its delivery is parked', async (t) => {
    const deliveries = deliveriesIn(join(quickFolder(), 'webhooks.db'), log, now);
    t.after(deliveries.close);
    await deliveries.begin('hook', 0);
    await deliveries.enqueue(['hook'], 1, [of('posts/a', 1)], now);
    const after: [seconds: number, parked: number, dueIn: number | null][] = [];
    for (const time of [now, now + patience - 1000, now + patience]) {
      assert.equal((await deliveries.due('hook', time, 1)).length, 1);
      const failing = Promise.withResolvers<void>();
      const dispatcher = openDispatcher({
        name: 'hook',
        deliveries: {
          ...deliveries,
          fail: async (...given) => {
            await deliveries.fail(...given);
            failing.resolve();
          },
        },
        send: () => Promise.reject(new Error('it answered 503')),
        retrySeconds: [3600],
        log: pino({ level: 'silent' }),
        now: () => time,
      });
      await dispatcher.fill();
      await failing.promise;
      await dispatcher.close();
      const { found } = await deliveries.page('hook', { state: 'all', limit: 10, page: 1 });
      const [{ isParked = false, dueAt = null } = {}] = found;
      after.push([(time - now) / 1000, Number(isParked), dueAt === null ? null : dueAt - time]);
    }
    const [[, , first] = [], ...rest] = after;
    // A quarter more or less of an hour.
    assert.ok(first && first >= 2_700_000 && first <= 4_500_000, String(first));
    assert.deepEqual(rest, [
      [patience / 1000 - 1, 0, 1000],
      [patience / 1000, 1, null],
    ]);
  });
});
