import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { openPostgresVault } from '../../events/postgres/vault/vault.ts';
import { type Deliveries, deliveriesIn } from '../../server/webhooks/deliveries.ts';
import { openSharedDeliveries } from '../../server/webhooks/shared-deliveries.ts';
import { describeWithPostgres, useDatabase } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/service.ts';

const kinds = ['enqueue', 'succeed', 'fail', 'park', 'retry', 'release', 'retryAll'] as const;

type Step = { kind: (typeof kinds)[number]; pick: number; streams: number[] };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  pick: fc.nat(5),
  streams: fc.array(fc.nat(2), { maxLength: 3 }),
});

/** Does steps, and tells all that is to be seen of the queue after each. */
async function told(deliveries: Deliveries, steps: readonly Step[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  let position = 10;
  let now = 1_000_000;
  await deliveries.begin('a', position);
  await deliveries.begin('a', 99);
  for (const { kind, pick, streams } of steps) {
    now += 1000;
    const due = await deliveries.due('a', now, 10);
    const one = due[pick % Math.max(due.length, 1)];
    const { found: all } = await deliveries.page('a', { state: 'all', limit: 100, page: 1 });
    if (kind === 'enqueue') {
      const found = streams.map((stream, at) => ({
        webhook: 'a',
        id: `d${position + at + 1}`,
        stream: `posts/${stream}`,
        position: position + at + 1,
      }));
      position += streams.length;
      await deliveries.enqueue(['a'], position, found, now);
    } else if (kind === 'retry') seen.push(await deliveries.retry('a', all[pick]?.id ?? 'none', now));
    else if (kind === 'release') await deliveries.release('a', now, pick % 2 === 0 ? 0 : now - 3000);
    else if (kind === 'retryAll') await deliveries.retryAll('a', now);
    else if (one && kind === 'succeed') await deliveries.succeed(one, now);
    else if (one)
      await deliveries.fail(one, { at: now, failure: 'x', dueAt: kind === 'park' ? null : now + pick * 2000 });
    if (one) seen.push(await deliveries.isDue(one));
    seen.push(await deliveries.progress('a'), await deliveries.position('a'), due);
    for (const state of ['all', 'waiting', 'parked'] as const)
      seen.push(await deliveries.page('a', { state, limit: 2, page: 1 + (pick % 2) }));
  }
  return seen;
}

describeWithPostgres('The deliveries that nodes have together', () => {
  const database = useDatabase();

  it('are given, made, tried again and parked as those in a file', async (t) => {
    const { address } = await database();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        runs += 1;
        const vault = await openPostgresVault({ address, site: `run ${runs}`, secrets: [], warn: () => {} });
        const path = join(temporaryFolder(t), 'webhooks.db');
        const file = deliveriesIn(path, { id: 'annals/test', size: 10 }, 1_000_000);
        try {
          assert.deepEqual(await told(openSharedDeliveries(vault.rows), steps), await told(file, steps));
        } finally {
          await vault.close();
          await file.close();
        }
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 12) },
    );
  });

  it('are not given again by a node that was overtaken', async (t) => {
    const { address } = await database();
    const open = { address, site: '', secrets: [], warn: () => {} };
    const vaults = await Promise.all([openPostgresVault(open), openPostgresVault(open)]);
    t.after(() => Promise.all(vaults.map((vault) => vault.close())));
    const [one, other] = vaults.map(({ rows }) => openSharedDeliveries(rows)) as [Deliveries, Deliveries];
    await one.begin('a', 0);
    const found = [{ webhook: 'a', id: 'd1', stream: 'posts/1', position: 1 }];
    await one.enqueue(['a'], 1, found, 1000);
    const [delivery] = await other.due('a', 1000, 10);
    assert.ok(delivery && (await one.isDue(delivery)));
    await other.succeed(delivery, 1001);
    assert.equal(await one.isDue(delivery), false);
    await one.enqueue(['a'], 1, found, 1002);
    assert.deepEqual(await other.due('a', 2000, 10), []);
  });
});
