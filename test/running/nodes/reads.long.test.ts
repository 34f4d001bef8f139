import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';
import { describeWithServers, makeDatabase, type Servers, startServers } from '../../helpers/postgres.ts';
import type { Service } from '../../helpers/service.ts';
import { eventually, logLines, useStarted } from '../../helpers/shared.ts';
import { startNode } from './node.ts';

type Nodes = { call: Service['call']; linear: Service; session: Service; eventual: Service };

describeWithServers('Nodes whose log does not answer', () => {
  let servers: Servers;
  const made = Promise.withResolvers<PostgresAddress>();
  before(async () => {
    servers = await startServers();
    made.resolve((await makeDatabase(servers.hosts)).address);
  });
  after(() => servers.end());

  const nodes = useStarted<Nodes>(async (t) => {
    const address = await made.promise;
    const start = (reads: string) => startNode(t, address, { environment: { ANNALS_READS: reads } });
    const linear = await start('linear');
    const [session, eventual] = await Promise.all([start('session'), start('eventual')]);
    return { call: linear.call, linear, session, eventual };
  });
  const path = '/api/collections/posts';

  it('of the reads session see the position that the client names, as soon as they answer', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { body, headers } = await nodes.linear.call('POST', path, { title: `session ${round}` });
      const position = String(headers.get('annals-position'));
      const read = await nodes.session.call('GET', `${path}/${body.id}`, undefined, {
        headers: { 'annals-position': position },
      });
      assert.equal(read.status, 200);
    }
  });

  it('of the reads session answer 400 to a text that is not a position', async () => {
    const headers = { 'annals-position': 'the last one' };
    const { status, body } = await nodes.session.call('GET', path, undefined, { headers });
    assert.equal(status, 400);
    assert.deepEqual(body.errors, [
      {
        field: 'annals-position',
        in: 'header',
        code: 'format',
        message: 'annals-position must be a position, as the answer to a write has it',
      },
    ]);
  });

  it('of the reads session answer 503 if they do not come to a position in time', async () => {
    const began = performance.now();
    const { status, headers } = await nodes.session.call('GET', path, undefined, {
      headers: { 'annals-position': '1000000' },
    });
    assert.equal(status, 503);
    assert.equal(headers.get('retry-after'), '1');
    assert.ok(performance.now() - began >= 2000);
  });

  it('of the reads eventual come to what others have written', async () => {
    const { body } = await nodes.linear.call('POST', path, { title: 'eventual' });
    await eventually(async () => (await nodes.eventual.call('GET', `${path}/${body.id}`)).status === 200);
  });

  it('decide a write by all that was acknowledged before, whatever reads wait for', async () => {
    for (const node of [nodes.eventual, nodes.session]) {
      const { body } = await nodes.linear.call('POST', path, { title: 'to be changed' });
      assert.equal((await node.call('PATCH', `${path}/${body.id}`, { title: 'changed' })).status, 200);
    }
  });

  it('answer 503 to writes while no standby confirms them, and find out afterwards what became of each', async () => {
    servers.freeze('b');
    const keys = ['one', 'two', 'three'].map((name) => ({ 'idempotency-key': `while-no-standby-${name}` }));
    const began = performance.now();
    const refused = await Promise.all(
      keys.map((headers) => nodes.linear.call('POST', path, { title: 'once' }, { headers })),
    );
    const took = performance.now() - began;
    assert.deepEqual(
      refused.map(({ status }) => status),
      [503, 503, 503],
    );
    assert.ok(took < 5500, `it took ${took} ms`);
    for (const { headers, body } of refused) {
      assert.equal(headers.get('retry-after'), '1');
      assert.match(body.message, /nothing of this write was recorded|sent again with the same Idempotency-Key/);
    }
    // Reads show durable events, and go on.
    assert.equal((await nodes.linear.call('GET', path)).status, 200);
    servers.thaw('b');
    await eventually(async () => (await nodes.linear.call('POST', path, { title: 'goes on' })).status === 201);
    const again = await Promise.all(
      keys.map((headers) => nodes.session.call('POST', path, { title: 'once' }, { headers })),
    );
    assert.deepEqual(
      again.map(({ status }) => status),
      [201, 201, 201],
    );
    const found = await nodes.linear.call('GET', `${path}?where[title][equals]=once`);
    assert.equal(found.body.total, 3);
  });

  it('say that they are behind, and answer what needs no other node, while PostgreSQL does not answer', async () => {
    const { headers } = await nodes.linear.call('POST', path, { title: 'the last one' });
    const seen = String(headers.get('annals-position'));
    await eventually(
      async () =>
        (await nodes.session.call('GET', path, undefined, { headers: { 'annals-position': seen } })).status === 200,
    );
    servers.freeze('a');
    const began = performance.now();
    const waited = await nodes.linear.call('GET', path);
    assert.equal(waited.status, 503);
    assert.match(waited.body.message, /does not see what other nodes have written/);
    assert.ok(performance.now() - began < 3000);
    assert.equal((await nodes.eventual.call('GET', path)).status, 200);
    assert.equal((await nodes.session.call('GET', path)).status, 200);
    const known = { headers: { 'annals-position': seen } };
    assert.equal((await nodes.session.call('GET', path, undefined, known)).status, 200);
    // A session could have ended on another node.
    const token = { key: null, headers: { authorization: 'Bearer none' } };
    assert.equal((await nodes.eventual.call('GET', path, undefined, token)).status, 503);
    for (const node of [nodes.linear, nodes.session, nodes.eventual]) {
      assert.equal((await node.call('GET', '/health')).status, 200);
      await eventually(async () => (await node.call('GET', '/ready')).status === 503);
      assert.deepEqual((await node.call('GET', '/ready')).body, { status: 'behind' });
    }
    const write = await nodes.linear.call('POST', path, { title: 'refused' });
    assert.equal(write.status, 503);
    servers.thaw('a');
    for (const node of [nodes.linear, nodes.session, nodes.eventual]) {
      await eventually(async () => (await node.call('GET', '/ready')).status === 200);
      assert.equal((await node.call('GET', path)).status, 200);
    }
    const lines = () => logLines(nodes.linear).map(({ msg }) => String(msg));
    await eventually(() => lines().includes('this node sees again what other nodes append'));
    const told = lines();
    assert.ok(told.some((line) => line.startsWith('writes are refused: ')));
    assert.ok(told.includes('writes go on'));
    assert.ok(told.some((line) => line.startsWith('this node does not see what other nodes append: ')));
    assert.ok(!told.some((line) => line.includes('writes@')));
  });

  it('end at SIGTERM while PostgreSQL stands still', async () => {
    servers.freeze('a');
    assert.equal(await nodes.session.stop(), 0, nodes.session.output().stderr.slice(-2000));
    servers.thaw('a');
  });
});
