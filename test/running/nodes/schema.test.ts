import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { eventually } from '../../helpers/shared.ts';
import { assertClaims, comes, isReady, readyOf } from './claims.ts';
import { startNode } from './node.ts';
import { apply, next, path } from './schemas.ts';

describeWithPostgres('Another schema for nodes that serve', () => {
  const make = useDatabase();

  it('is applied by a command, once, without a pause in reads', async (t) => {
    const database = await make();
    const { address } = database;
    const old = await startNode(t, address);
    const made = await old.call('POST', path, { title: 'one', slug: 'one' });
    const [a, b] = await Promise.all([
      startNode(t, address, { config: next }),
      startNode(t, address, { config: next, threads: 2 }),
    ]);
    for (const node of [a, b]) {
      assert.deepEqual(await readyOf(node), [503, { status: 'waiting' }]);
      for (const method of ['GET', 'POST']) {
        const { status, headers, body } = await node.call(method, path, method === 'POST' ? { title: 'x' } : undefined);
        assert.equal(status, 503);
        assert.equal(headers.get('retry-after'), '1');
        assert.match(body.message, /waits for its configuration to be applied/);
      }
    }
    // Writes of nodes with the former one are there as well.
    const late = await old.call('POST', path, { title: 'two', slug: 'two' });
    const before = await old.call('GET', `${path}?sort=title`);

    const [one, other] = await Promise.all([apply(a), apply(b)]);
    assert.deepEqual([one.code, other.code], [0, 0], one.stderr + other.stderr);
    assert.match(one.stdout + other.stdout, /applied, at position 4 of the log/);
    assert.match((await apply(a)).stdout, /the log has this configuration already/);
    for (const node of [a, b]) await comes(() => isReady(node));

    await comes(async () => (await readyOf(old))[1].status === 'outdated');
    assert.deepEqual(await readyOf(old), [503, { status: 'outdated', reads: 'served', writes: 'refused' }]);
    const asBefore = await old.call('GET', `${path}?sort=title`);
    assert.deepEqual([asBefore.status, asBefore.body], [200, before.body]);
    assert.equal(asBefore.headers.get('annals-position'), '3');
    const write = await old.call('PATCH', `${path}/${made.body.id}`, { title: 'three' });
    assert.equal(write.status, 503);
    assert.equal(write.headers.get('retry-after'), '1');
    await eventually(() => /has applied another configuration than that of this node/.test(old.output().stderr));
    const read = await b.call('GET', `${path}/${late.body.id}`);
    assert.deepEqual([read.body.title, read.body.address], ['two', 'two']);
    assert.equal((await b.call('POST', path, { title: 'one' })).status, 409);
    assert.equal((await a.call('POST', path, { title: 'three', address: 'two' })).status, 201);
    assert.equal((await b.call('PATCH', `${path}/${made.body.id}`, { address: 'two' })).status, 200);
    await assertClaims(database, [a, b], { posts: ['title'] });
    // A client that names what it has written is not answered as of before.
    const named = await old.call('GET', path, undefined, { headers: { 'annals-position': '5' } });
    assert.equal(named.status, 503);
  });
});
