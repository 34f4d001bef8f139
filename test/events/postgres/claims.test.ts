import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { claimHash } from '../../../events/postgres/rows.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { runsOf } from '../../helpers/runs.ts';
import { commandBy, rowsOf, steps } from '../histories.ts';
import { change, claim, command } from '../logs.ts';
import { openReplicaNode } from './replica-node.ts';

const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

type ClaimRow = { scope: string; value: string; stream: string };
type Node = Awaited<ReturnType<typeof openReplicaNode>>;

function heldIn(db: Sqlite): [value: string, stream: string][] {
  const rows = db.prepare<[], ClaimRow>('SELECT scope, value, stream FROM claims ORDER BY 1, 2').all();
  return rows.map(({ value, stream }) => [JSON.parse(value), stream]);
}

/** Every node has the same rows, and PostgreSQL the same claims. */
async function assertSame({ sql }: TestDatabase, nodes: readonly Node[]): Promise<void> {
  await Promise.all(nodes.map(({ current }) => current()));
  const [one, ...others] = nodes as [Node, ...Node[]];
  for (const { db, failure } of others) {
    assert.equal(failure(), null);
    assert.deepEqual(rowsOf(db), rowsOf(one.db));
  }
  const [found] = await sql("SELECT encode(claim, 'hex') AS claim, stream FROM annals.claims");
  const there = (found?.rows ?? []).map(({ claim: hash, stream }) => `${hash} ${stream}`);
  const here = one.db.prepare<[], ClaimRow>('SELECT scope, value, stream FROM claims').all();
  assert.deepEqual(
    there.toSorted(),
    here.map(({ scope, value, stream }) => `${claimHash(scope, value)} ${stream}`).toSorted(),
  );
}

describeWithPostgres(`Unique values in a log that nodes share (TEST_SEED=${seed})`, () => {
  const make = useDatabase();

  it('are those of every node, whatever their random commands give up and take, in one command or across', async (t) => {
    const database = await make();
    const nodes = [await openReplicaNode(t, database.address), await openReplicaNode(t, database.address)];
    const seen: Record<string, number> = {};
    for (const batches of fc.sample(steps, { seed, numRuns: runsOf(60) })) {
      for (const { commands, page } of batches) {
        // Both decide on the same state, and one is first.
        const both = page === null ? nodes.slice(0, 1) : nodes;
        const outcomes = await Promise.all(
          both.map((node, at) => node.append(...commands.slice(at).map((one) => commandBy(node, one)))),
        );
        for (const one of outcomes.flat()) seen[String(one)] = (seen[String(one)] ?? 0) + 1;
      }
      await assertSame(database, nodes);
    }
    const [changes] = await database.sql(
      `SELECT count(*)::int AS count FROM annals.claim_changes AS given JOIN annals.claim_changes AS taken
         USING (log, position, scope, value) WHERE NOT given.is_taken AND taken.is_taken AND given.stream <> taken.stream`,
    );
    assert.ok((seen.recorded ?? 0) > 0, JSON.stringify(seen));
    if (runsOf(60) === 60) assert.ok(changes?.rows[0].count >= 20, `${changes?.rows[0].count} taken over`);
  });

  it('are swapped by one of two nodes that swap at the same time, and none is lost', async (t) => {
    const database = await make();
    const nodes = [await openReplicaNode(t, database.address), await openReplicaNode(t, database.address)];
    const [one] = nodes as [Node];
    const named = ['a', 'b', 'c'] as const;
    await one.append(...named.map((name) => command(`posts/${name}`, 0, { claims: [claim(name)] })));
    await assertSame(database, nodes);
    const swap = (...streams: string[]) => {
      const held = new Map(heldIn(one.db).map(([value, stream]) => [stream, value]));
      const values = streams.map((stream) => held.get(stream) ?? '');
      const otherStreams = streams.map((stream, at) => {
        const claims = [claim(values[(at + 1) % values.length] ?? '')];
        // Only the claims can refuse it.
        return change(stream, null, { releases: [claim(values[at] ?? '')], claims });
      });
      return command('bulk/1', null, { events: [], otherStreams });
    };
    for (let round = 0; round < 6; round += 1) {
      const before = heldIn(one.db);
      const commands = [swap('posts/a', 'posts/b'), swap('posts/b', 'posts/c')];
      const outcomes = await Promise.all(nodes.map(({ append }, at) => append(commands[at] ?? command('', 0))));
      await assertSame(database, nodes);
      const after = heldIn(one.db);
      assert.deepEqual(outcomes.flat().filter((outcome) => outcome === 'recorded').length, 1, String(outcomes));
      assert.deepEqual(after.map(([, stream]) => stream).toSorted(), ['posts/a', 'posts/b', 'posts/c']);
      assert.deepEqual(after.filter(([, stream], at) => before[at]?.[1] === stream).length, 1);
    }
  });
});
