import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { readLog } from '../../../events/log/log-reader.ts';
import { openLogToRead } from '../../../events/store/log-file.ts';
import { readSecret } from '../../../events/vault/vault.ts';
import { epochsOf } from '../../../projections/tables/epochs.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { roundsOf } from '../../helpers/rounds.ts';
import type { Service } from '../../helpers/service.ts';
import { assertClaims, comes, isReady } from './claims.ts';
import { config, startNode } from './node.ts';
import { assertAllThere, startBalancer, startClients } from './rolling.ts';
import { apply, path } from './schemas.ts';

/** Titles are unique in place of slugs, and there is one field more. */
const next = {
  ...config,
  collections: [
    {
      slug: 'posts',
      history: 'public',
      fields: [
        { name: 'title', type: 'text', required: true, unique: true },
        { name: 'slug', type: 'text' },
        { name: 'count', type: 'number' },
        { name: 'text', type: 'text' },
      ],
    },
  ],
};

const rounds = roundsOf(4, 1);

function schemasIn({ data }: Service): number {
  const db = openLogToRead(logFile(data));
  try {
    return epochsOf(readLog(db)).length;
  } finally {
    db.close();
  }
}

async function sizeIn({ sql }: TestDatabase): Promise<number> {
  const [found] = await sql('SELECT size FROM annals.heads');
  return Number(found?.rows[0]?.size);
}

describeWithPostgres('A rolling upgrade with another schema, under load', () => {
  const make = useDatabase();

  it('fails no read, refuses writes for a second at most, and leaves the claims that documents have', async (t) => {
    const database = await make();
    const { address } = database;
    const old = await Promise.all([startNode(t, address, { threads: 1 }), startNode(t, address, { threads: 1 })]);
    const balancer = startBalancer(old, 50);
    const clients = startClients(balancer, { readers: 2, writers: 2 });
    await comes(async () => clients.seen.written.size > 50);
    const fresh = await Promise.all([1, 2].map(() => startNode(t, address, { config: next, threads: 1 })));
    for (const node of fresh) balancer.nodes.add(node);
    const before = clients.seen.written.size;
    await comes(async () => clients.seen.written.size > before + 20);
    assert.deepEqual(clients.seen.refused, []);

    const applied = await Promise.all(fresh.map((node) => apply(node)));
    for (const { code, stderr } of applied) assert.equal(code, 0, stderr);
    for (const node of fresh) await comes(() => isReady(node));
    const during = clients.seen.written.size;
    await comes(async () => clients.seen.written.size > during + 20);
    for (const node of old) {
      balancer.nodes.delete(node);
      await pause(100);
      assert.equal(await node.stop(), 0);
    }
    const after = clients.seen.written.size;
    await comes(async () => clients.seen.written.size > after + 20);
    const seen = await clients.end();
    await balancer.close();

    const { refused, reads, writes } = seen;
    const took = refused.length === 0 ? 0 : (refused.at(-1) ?? 0) - (refused[0] ?? 0);
    t.diagnostic(`${reads} reads, ${writes} writes, ${refused.length} of them refused within ${Math.round(took)} ms`);
    assert.deepEqual(seen.failedReads, []);
    assert.deepEqual(seen.failedWrites, []);
    assert.ok(took <= 1000, `writes were refused for ${took} ms`);
    const [node] = fresh as [Service, Service];
    await assertAllThere(node, seen);
    await assertClaims(database, fresh, { posts: ['title'] });
    assert.equal(schemasIn(node), 2);
  });

  it('is decided once if the node that applies it is killed', async (t) => {
    const database = await make();
    const { address } = database;
    let current = await startNode(t, address);
    for (let count = 0; count < 50; count += 1)
      assert.equal((await current.call('POST', path, { title: `post ${count}`, slug: `post ${count}` })).status, 201);
    const ways: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const wanted = round % 2 === 0 ? next : config;
      const [victim, other] = await Promise.all([
        startNode(t, address, { config: wanted }),
        startNode(t, address, { config: wanted }),
      ]);
      const before = await sizeIn(database);
      const operator = {
        key: null,
        headers: { authorization: `Annals-Operator ${readSecret(join(victim.data, 'vault.db'), 'operator')}` },
      };
      const applying = victim.call('POST', '/api/operator/schema/apply', {}, operator).catch(() => null);
      // The schema is on its way, or in PostgreSQL and perhaps not in the replica.
      if (round % 4 < 2) await pause(Math.random() * 200);
      else await comes(async () => (await sizeIn(database)) > before);
      await victim.kill();
      await applying;
      const { code, stdout, stderr } = await apply(other);
      assert.equal(code, 0, stderr);
      ways.push(stdout.startsWith('applied') ? 'before' : 'after');
      await comes(() => isReady(other));
      const made = await other.call('POST', path, { title: `round ${round}`, slug: `round ${round}` });
      assert.equal(made.status, 201);
      assert.equal((await current.call('POST', path, { title: 'former' })).status, 503);
      assert.equal(schemasIn(other), round + 2);
      await assertClaims(database, [other], { posts: [round % 2 === 0 ? 'title' : 'slug'] });
      await current.stop();
      // The replica of the killed node goes on from any state.
      const again = await startNode(t, address, { config: wanted, data: victim.data });
      assert.deepEqual((await again.call('GET', path)).body, (await other.call('GET', path)).body);
      await again.stop();
      current = other;
    }
    t.diagnostic(`killed before it was applied, or after: ${ways.join(', ')}`);
  });
});
