import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { LogWentBackError, SharedLogUnavailableError, UnknownShipmentError } from '../../../events/shared-log.ts';
import { asAdmin, describeWithServers, makeDatabase, type Servers, startServers } from '../../helpers/postgres.ts';
import { type Node, openNode, type Told } from './node.ts';

/** One who writes through a node until it is told to stop: 8 events at a time, each under a key of its own. */
function writeTo(node: Node, name: string) {
  const acknowledged = new Set<string>();
  let isStopped = false;
  let longest = 0;
  let error: unknown = null;

  /** As a client does it: again under the same keys for as long as the service is not available. */
  async function appended(keys: readonly string[]): Promise<Told[]> {
    for (;;) {
      try {
        return await node.append(
          keys.map((key) => ({ stream: `posts/${key}`, version: 1, key, body: key, value: key })),
        );
      } catch (thrown) {
        if (!(thrown instanceof SharedLogUnavailableError || thrown instanceof UnknownShipmentError)) throw thrown;
        if (isStopped) return [];
      }
    }
  }

  async function run(): Promise<void> {
    for (let batch = 0; !isStopped; batch += 1) {
      const keys = Array.from({ length: 8 }, (_, at) => `${name}-${batch}-${at}`);
      const since = performance.now();
      const told = await appended(keys);
      longest = Math.max(longest, performance.now() - since);
      for (const [at, one] of told.entries())
        if (one === 'recorded' || one === 'attempt') acknowledged.add(keys[at] ?? '');
    }
  }
  const running = run().catch((thrown) => {
    error = thrown;
  });

  return {
    acknowledged,
    error: () => error,
    longest: () => longest,
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };
}

/** The payloads in a log, in order, as a node reads them that comes anew; its replica gives the root of the head. */
async function readAnew(address: Parameters<typeof openNode>[0]): Promise<string[]> {
  const node = await openNode(address);
  await node.follow();
  const bodies: string[] = [];
  for (let after = 0; ; ) {
    const { events, head } = await node.log.tail(after, 1000);
    bodies.push(...events.map(({ body }) => body ?? ''));
    after += events.length;
    if (head) break;
  }
  await node.log.close();
  return bodies;
}

async function withTwoNodes(servers: Servers) {
  const { address } = await makeDatabase(servers.hosts);
  const nodes = await Promise.all([openNode(address), openNode(address)]);
  return { address, nodes, clients: nodes.map((node, at) => writeTo(node, `n${at}`)) };
}

async function untilMore(clients: readonly { acknowledged: Set<string> }[], more: number): Promise<void> {
  const count = () => clients.map(({ acknowledged }) => acknowledged.size);
  const before = count();
  for (let left = 600; !count().every((size, at) => size >= (before[at] ?? 0) + more); left -= 1) {
    if (left === 0) throw new Error(`only ${count()} after ${before}`);
    await pause(50);
  }
}

describeWithServers('A log in PostgreSQL whose primary is killed under load', () => {
  it('has all that was acknowledged, once, on the standby that takes its place', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const { address, nodes, clients } = await withTwoNodes(servers);
    await untilMore(clients, 80);
    await servers.kill('a');
    await pause(200);
    await servers.promote();
    await untilMore(clients, 80);
    await Promise.all(clients.map((client) => client.stop()));
    assert.deepEqual(
      clients.map((client) => client.error()),
      [null, null],
    );
    const found = await readAnew(address);
    const acknowledged = clients.flatMap((client) => [...client.acknowledged]);
    assert.deepEqual(
      acknowledged.filter((key) => !found.includes(key)),
      [],
    );
    assert.equal(new Set(found).size, found.length);
    for (const node of nodes) await node.follow();
    assert.deepEqual(nodes[0]?.head(), nodes[1]?.head());
    t.diagnostic(
      `${acknowledged.length} acknowledged; longest write ${clients.map((one) => Math.round(one.longest())).join(', ')} ms`,
    );
    await Promise.all(nodes.map(({ log }) => log.close()));
  });

  it('loses acknowledged writes if the standby was not synchronous, and each node notices', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    await asAdmin(
      servers.hosts,
      'postgres',
      "ALTER SYSTEM SET synchronous_standby_names = ''",
      'SELECT pg_reload_conf()',
    );
    const { address, nodes, clients } = await withTwoNodes(servers);
    await untilMore(clients, 24);
    // Frozen, it would still be sent what it is to lose.
    await servers.kill('b');
    await untilMore(clients, 80);
    await servers.kill('a');
    await servers.start('b');
    await servers.promote();
    for (let left = 600; clients.some((client) => client.error() === null); left -= 1) {
      assert.ok(left > 0, 'a node did not notice');
      await pause(50);
    }
    assert.ok(
      clients.every((client) => client.error() instanceof LogWentBackError),
      String(clients[0]?.error()),
    );
    const found = await readAnew(address);
    const lost = clients.flatMap((client) => [...client.acknowledged]).filter((key) => !found.includes(key));
    assert.ok(lost.length > 0);
    t.diagnostic(`${lost.length} lost; ${clients.map((client) => client.error()).join('; ')}`);
    await Promise.all(clients.map((client) => client.stop()));
    await Promise.all(nodes.map(({ log }) => log.close()));
  });

  it('is not available within 5 seconds while the standby stands still, and each key is decided rightly afterwards', async (t) => {
    const servers = await startServers();
    t.after(servers.end);
    const { address } = await makeDatabase(servers.hosts);
    const [one, other] = await Promise.all([openNode(address), openNode(address)]);
    await one.append([{ stream: 'posts/0', version: 1 }]);
    servers.freeze('b');
    const since = performance.now();
    const refused = await Promise.allSettled([
      one.append([{ stream: 'posts/1', version: 1, key: 'k1', body: 'k1' }]),
      other.append([{ stream: 'posts/2', version: 1, key: 'k2', body: 'k2' }]),
    ]);
    assert.deepEqual(
      refused.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.ok(performance.now() - since < 6500);
    servers.thaw('b');
    const again = async (node: Node, key: string) => {
      for (let left = 20; left > 0; left -= 1) {
        try {
          return await node.append([{ stream: `posts/${key.slice(1)}`, version: 1, key, body: key }]);
        } catch (error) {
          if (!(error instanceof SharedLogUnavailableError || error instanceof UnknownShipmentError)) throw error;
        }
      }
      throw new Error('it did not come back');
    };
    await again(one, 'k1');
    await again(other, 'k2');
    const found = await readAnew(address);
    assert.deepEqual(found.toSorted(), ['k1', 'k2', '{"of":"posts/0"}']);
    await Promise.all([one.log.close(), other.log.close()]);
  });
});
