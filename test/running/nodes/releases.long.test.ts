import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { callsOf, config } from '../../documents/releases/config.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { roundsOf } from '../../helpers/rounds.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { inTime } from '../../helpers/wait-for.ts';
import { startNode } from './node.ts';

const rounds = roundsOf(100, 2);
const count = 5;

describeWithPostgres('A release of nodes', () => {
  const make = useDatabase();

  it(`is published once, and whole, if one of two is killed at its time: ${rounds} rounds`, {
    timeout: 60_000 * Math.max(5, rounds),
  }, async (t) => {
    const { address } = await make();
    const start = (data: string) => startNode(t, address, { config, data });
    const folders = [temporaryFolder(t), temporaryFolder(t)] as const;
    const nodes = [await start(folders[0]), await start(folders[1])];
    const [first] = nodes;
    assert.ok(first);
    const items = await Promise.all(Array.from({ length: count }, () => callsOf(first).post({ title: 'x' })));
    for (let round = 0; round < rounds; round += 1) {
      const killed = round % 2;
      const [victim, survivor] = [nodes[killed], nodes[1 - killed]];
      assert.ok(victim && survivor);
      const calls = callsOf(survivor);
      const title = `round ${round}`;
      for (const item of items) await calls.edit(item, { title });
      const { body } = await calls.release({ title, at: new Date(Date.now() + 300).toISOString(), items });
      await pause(randomInt(1800));
      await victim.kill();
      await inTime(async () => assert.equal((await calls.read(body.id)).body.state, 'published'));
      const list = await survivor.call('GET', `/api/collections/posts?where[title][equals]=${title}`);
      assert.equal(list.body.total, count);
      nodes[killed] = await start(folders[killed] ?? '');
      const path = `/api/audit/events?stream=system/releases/${body.id}&type=release.published`;
      assert.equal((await survivor.call('GET', path)).body.docs.length, 1);
    }
  });
});
