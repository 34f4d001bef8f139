import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { UnknownOutcomeError } from '../../../events/facts/log.ts';
import { DivergedError } from '../../../events/log/ingesting.ts';
import {
  type SharedLog,
  SharedLogUnavailableError,
  type TakenLog,
  UnknownShipmentError,
} from '../../../events/replica/shared-log.ts';
import { verifyLog } from '../../../events/verify/verify.ts';
import { describeWithPostgres, useDatabase } from '../../helpers/postgres.ts';
import { openTcpProxy } from '../../helpers/proxies.ts';
import { startProxy } from '../../helpers/s3.ts';
import { change, claim, command, contentOf } from '../logs.ts';
import { openNode } from './node.ts';
import { openReplicaNode, type Replica } from './replica-node.ts';

const hour = 3600 * 1000;

describeWithPostgres('Nodes that share a log in PostgreSQL', () => {
  const database = useDatabase();

  it('have the same log, byte for byte, whatever each has appended', async (t) => {
    const { address } = await database();
    const nodes = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address)]);
    const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    await Promise.all(
      nodes.map(async ({ append }, node) => {
        for (let at = 0; at < 12; at += 1) {
          const stream = `people/${node}-${at}`;
          const idempotency = { key: `key-${node}-${at}`, fingerprint: 'f' };
          await append(
            command(stream, 0, { claims: [claim(`${node}-${at}`, 'people.email')], idempotency }),
            command(stream, 1, { releases: [claim(`${node}-${at}`, 'people.email')] }),
            command(`posts/${at}`, null),
          );
        }
      }),
    );
    // A bulk call, which has no event in a stream of its own, and an erasure, which the other node's rows are about.
    await one.append({
      ...command('batches/1', 0, { events: [] }),
      otherStreams: [change('people/x', 0, { claims: [claim('x', 'people.email')] }), change('people/y', 0)],
      idempotency: { key: 'bulk', fingerprint: 'f' },
    });
    const declared = [
      { stream: 'people/1-3', versions: 2 },
      { stream: 'people/x', versions: 1 },
    ];
    await other.current();
    assert.deepEqual(
      await other.append(
        command('people/1-3', 2, {
          events: [{ type: 'document.erased', data: { streams: declared } }],
          otherStreams: [change('people/x', 1, { events: [] })],
          erases: ['people/1-3', 'people/x'],
        }),
      ),
      ['recorded'],
    );
    assert.deepEqual(await one.append(command('people/z', 0, { claims: [claim('x', 'people.email')] })), ['recorded']);
    const late = await openReplicaNode(t, address);
    await Promise.all([one.current(), other.current(), late.current()]);
    assert.equal(one.log.head().size, 76);
    for (const node of [other, late]) assert.deepEqual(rowsOf(node.db), rowsOf(one.db));
    for (const node of [one, other, late]) {
      assert.equal(
        verifyLog(node.db, () => {}),
        null,
      );
      assert.deepEqual(
        node.told.map(({ header }) => header.position),
        Array.from({ length: 76 }, (_, at) => at + 1),
      );
    }
  });

  it('let one win whom several ask for the same stream, value or key', async (t) => {
    const { address } = await database();
    const nodes = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address)]);
    const outcomes: unknown[] = [];
    for (let at = 0; at < 15; at += 1) {
      const found = await Promise.all(
        nodes.map(({ append }, node) =>
          append(
            command(`same/${at}`, 0),
            command(`values/${node}-${at}`, 0, { claims: [claim(`${at}`, 'values.name')] }),
            command(`keys/${node}-${at}`, 0, { idempotency: { key: `key-${at}`, fingerprint: 'f' } }),
          ),
        ),
      );
      outcomes.push(found.map((one) => one.join()).toSorted());
    }
    assert.deepEqual(
      outcomes,
      Array.from({ length: 15 }, () => ['recorded,recorded,recorded', 'version,claim,idempotency'].toSorted()),
    );
    await Promise.all(nodes.map(({ current }) => current()));
    assert.deepEqual(nodes[0] && rowsOf(nodes[0].db), nodes[1] && rowsOf(nodes[1].db));
  });

  it('show what one has appended to a read on another that begins afterwards', async (t) => {
    const { address } = await database();
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address)]);
    for (let at = 1; at <= 20; at += 1) {
      await one.append(command(`posts/${at}`, 0));
      await Promise.all([other.current(), other.current(), other.current()]);
      assert.equal(other.log.head().size, at);
    }
  });

  it('show it also to a read on a node that has a write waiting for the log', async (t) => {
    const { address } = await database();
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      tail: async (...given) => {
        await opened;
        return await log.tail(...given);
      },
    });
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address, { spoil })]);
    await one.append(command('posts/1', 0, { idempotency: { key: 'key', fingerprint: 'f' } }));
    const holder = await openNode(address);
    const taken = await holder.log.take(one.log.head(), 20_000, 20_000);
    const writing = other.append(command('posts/2', 0), command('posts/1', 1));
    open();
    await other.current();
    assert.equal(other.log.head().size, 1);
    await taken.release();
    assert.deepEqual(await writing, ['recorded', 'recorded']);
    await one.current();
    assert.deepEqual(rowsOf(one.db), rowsOf(other.db));
    await holder.log.close();
  });

  it('take the log again if they lost it before they came to use it', async (t) => {
    const { address, sql } = await database();
    let whenTaken: (() => Promise<void>) | null = null;
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      async take(...given): Promise<TakenLog> {
        const taken = await log.take(...given);
        const run = whenTaken;
        whenTaken = null;
        await run?.();
        return taken;
      },
    });
    const [one, other] = await Promise.all([openReplicaNode(t, address, { spoil }), openReplicaNode(t, address)]);
    await one.append(command('posts/1', 0));
    whenTaken = async () => {
      await sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
      );
      await other.append(command('posts/2', 0));
      await one.current();
    };
    assert.deepEqual(await one.append(command('posts/2', 0), command('posts/3', 0)), ['version', 'recorded']);
    await other.current();
    assert.equal(other.log.head().size, 3);
    assert.deepEqual(rowsOf(one.db), rowsOf(other.db));
  });

  it('follow without being asked', async (t) => {
    const { address } = await database();
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address)]);
    await one.append(command('posts/1', 0));
    for (let left = 100; other.log.head().size === 0; left -= 1) {
      assert.ok(left > 0);
      await pause(20);
    }
  });

  it('ask only where the log ends while there is nothing new', async (t) => {
    const { address } = await database();
    const asked = { head: 0, tail: 0 };
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      head: () => {
        asked.head += 1;
        return log.head();
      },
      tail: (...given) => {
        asked.tail += 1;
        return log.tail(...given);
      },
    });
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address, { spoil })]);
    await one.append(command('posts/1', 0));
    await other.current();
    // For a second after the last event there may be more.
    await pause(1500);
    const before = { ...asked };
    // A look that was under way may still fetch a page.
    for (let left = 500; asked.head < before.head + 4; left -= 1) {
      assert.ok(left > 0, `${asked.tail - before.tail} pages were asked for`);
      await pause(20);
    }
    assert.ok(asked.tail <= before.tail + 1, `${asked.tail - before.tail} pages were asked for`);
    await one.append(command('posts/2', 0));
    for (let left = 500; other.log.head().size < 2; left -= 1) {
      assert.ok(left > 0);
      await pause(20);
    }
    assert.equal(other.failure(), null);
  });

  it('catch up through a network that does not carry a whole page in time', async (t) => {
    const { address } = await database();
    const one = await openReplicaNode(t, address);
    await one.append(command('posts/0', 0));
    const network = await Promise.all(address.hosts.map((host) => openTcpProxy(host)));
    t.after(() => Promise.all(network.map((proxy) => proxy.close())));
    const hosts = network.map(({ host, port }) => ({ host, port }));
    // A page that takes longer is given up, as it is after 5 seconds otherwise.
    const spoil = (log: SharedLog): SharedLog => ({ ...log, tail: (after, limit) => log.tail(after, limit, 1000) });
    const slow = await openReplicaNode(t, { ...address, hosts }, { spoil });
    await slow.current();
    for (const proxy of network) proxy.throttle(200_000);
    const data = { text: 'x'.repeat(1000) };
    const commands = Array.from({ length: 400 }, (_, at) =>
      command(`posts/many-${at}`, 0, { events: [{ type: 'document.created', data }] }),
    );
    await one.append(...commands);
    for (let left = 600; slow.log.head().size < one.log.head().size; left -= 1) {
      assert.ok(left > 0, `it is at ${slow.log.head().size} of ${one.log.head().size}`);
      await pause(50);
    }
    assert.deepEqual(rowsOf(slow.db), rowsOf(one.db));
  });

  it('look now and then for a position that a read waits for, and that does not come', async (t) => {
    const { address } = await database();
    let looks = 0;
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      tail(...given) {
        looks += 1;
        return log.tail(...given);
      },
    });
    const node = await openReplicaNode(t, address, { spoil });
    await node.append(command('posts/1', 0));
    looks = 0;
    await assert.rejects(node.reach(999_999), SharedLogUnavailableError);
    // The node waits for 2 seconds, with a pause of 20 ms after each look.
    assert.ok(looks > 1 && looks < 150, `${looks} looks`);
  });

  it('date events by the clock of PostgreSQL, however wrong their own is', async (t) => {
    const { address } = await database();
    const [late, early] = await Promise.all([
      openReplicaNode(t, address, { skew: -hour }),
      openReplicaNode(t, address, { skew: hour }),
    ]);
    for (const [at, node] of [early, late, early, late].entries()) await node.append(command(`posts/${at}`, 0));
    await early.current();
    const headers = early.told.map(({ header }) => header);
    for (const { recordedAt } of headers)
      assert.ok(Math.abs(Date.parse(recordedAt) - Date.now()) < hour / 10, recordedAt);
    const ids = headers.map(({ id }) => id);
    assert.deepEqual(ids, ids.toSorted());
  });

  it('answer a write as it was, whether its shipment with an unknown outcome was appended or not', async (t) => {
    const { address } = await database();
    const plan: ('appended' | 'not appended')[] = [];
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      async take(...given): Promise<TakenLog> {
        const taken = await log.take(...given);
        return {
          ...taken,
          async ship(shipment) {
            const fate = plan.shift();
            await (fate === 'not appended' ? taken.release() : taken.ship(shipment));
            if (fate) throw new UnknownShipmentError(fate);
          },
        };
      },
    });
    const [one, other] = await Promise.all([openReplicaNode(t, address, { spoil }), openReplicaNode(t, address)]);
    const fates = [
      ['appended'],
      ['not appended'],
      ['not appended', 'appended'],
      ['not appended', 'not appended'],
    ] as const;
    for (const [at, fate] of fates.entries()) {
      plan.push(...fate);
      const idempotency = { key: `key-${at}`, fingerprint: 'f' };
      const found = await one.append(
        command(`posts/${at}`, 0, { claims: [claim(`${at}`)], idempotency }),
        command('free', null),
      );
      assert.deepEqual(found, ['recorded', 'recorded']);
      assert.deepEqual(plan, []);
    }
    await other.current();
    assert.equal(other.log.head().size, 8);
    assert.deepEqual(rowsOf(one.db), rowsOf(other.db));
    assert.deepEqual(
      one.told.map(({ header }) => header.position),
      [1, 2, 3, 4, 5, 6, 7, 8],
    );
  });

  it('do not confirm a write while no standby has it, though it can be seen', async (t) => {
    const { address } = await database();
    let isStandbyGone = false;
    // As when the wait of each commit is cancelled: it is carried out, and other nodes see it.
    const cancelled = async (end: () => Promise<void>) => {
      await end();
      if (isStandbyGone) throw new UnknownShipmentError('canceling wait for synchronous replication');
    };
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      async take(...given): Promise<TakenLog> {
        const taken = await log.take(...given);
        return {
          ...taken,
          ship: (shipment) => cancelled(() => taken.ship(shipment)),
          confirm: () => cancelled(() => taken.confirm()),
        };
      },
    });
    const [one, other] = await Promise.all([
      openReplicaNode(t, address, { spoil }),
      openReplicaNode(t, address, { spoil }),
    ]);
    const write = () => command('posts/1', 0, { idempotency: { key: 'key', fingerprint: 'f' } });
    isStandbyGone = true;
    await assert.rejects(one.append(write()), UnknownShipmentError);
    await other.current();
    assert.equal(other.log.head().size, 1);
    await assert.rejects(other.append(write()), UnknownShipmentError);
    await assert.rejects(other.writer.confirmed(), UnknownShipmentError);
    isStandbyGone = false;
    assert.deepEqual(await other.append(write()), ['idempotency']);
    await one.writer.confirmed();
    assert.deepEqual(await one.append(write()), ['idempotency']);
    assert.equal(one.log.head().size, 1);
  });

  it('have what one of them could not write itself, and so does that one at its next write', async (t) => {
    const { address } = await database();
    let isFull = true;
    const spoilReplica = (log: Replica): Replica => ({
      ...log,
      prepare(commands) {
        const prepared = log.prepare(commands);
        const commit = () => {
          if (!isFull) return prepared.commit();
          prepared.rollBack();
          throw new Error('database or disk is full');
        };
        return { ...prepared, commit };
      },
    });
    const [one, other] = await Promise.all([
      openReplicaNode(t, address, { spoilReplica }),
      openReplicaNode(t, address),
    ]);
    const idempotency = { key: 'key', fingerprint: 'f' };
    await assert.rejects(one.append(command('posts/1', 0, { idempotency })), UnknownOutcomeError);
    isFull = false;
    assert.deepEqual(await one.append(command('posts/1', 0, { idempotency })), ['idempotency']);
    await other.current();
    assert.deepEqual(rowsOf(one.db), rowsOf(other.db));
    assert.equal(one.told.length, 1);
  });

  it('refuse all writes that wait within the patience of one, and have nothing of them', async (t) => {
    const { address } = await database();
    const spoil = (log: SharedLog): SharedLog => ({
      ...log,
      take: async (_, within = 0) => {
        await pause(within);
        throw new SharedLogUnavailableError('no server takes writes');
      },
    });
    const [one, other] = await Promise.all([
      openReplicaNode(t, address, { spoil, patience: 300 }),
      openReplicaNode(t, address),
    ]);
    const since = performance.now();
    const refused = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) => one.append(command(`posts/${at}`, 0))),
    );
    assert.ok(performance.now() - since < 2000);
    for (const one of refused)
      assert.ok(one.status === 'rejected' && one.reason instanceof SharedLogUnavailableError, one.status);
    await other.current();
    assert.equal(other.log.head().size, 0);
  });

  it('stop when the shared log is another one than theirs', async (t) => {
    const { address, sql } = await database();
    const [one, other] = await Promise.all([openReplicaNode(t, address), openReplicaNode(t, address)]);
    await one.append(command('posts/1', 0), command('posts/2', 0));
    await other.current();
    // Another past: as on a standby that lacked the end when it took the place of the primary.
    await sql(
      'DELETE FROM annals.events WHERE position = 2',
      'DELETE FROM annals.payloads WHERE position = 2',
      'UPDATE annals.heads SET size = 1',
    );
    await assert.rejects(one.append(command('posts/3', 0)), { name: 'LogWentBackError' });
    for (let left = 100; other.failure() === null; left -= 1) {
      assert.ok(left > 0);
      await pause(20);
    }
    assert.ok(other.failure() instanceof DivergedError);
    assert.equal(other.log.head().size, 2);
  });

  it('find out what became of a write whose answer was lost', async (t) => {
    const { address } = await database();
    const [host] = address.hosts;
    const proxy = await startProxy(`http://${host?.host}:${host?.port}`);
    const { hostname, port } = new URL(proxy.url);
    const cutOff = await openReplicaNode(t, { ...address, hosts: [{ host: hostname, port: Number(port) }] });
    const other = await openReplicaNode(t, address);
    await cutOff.append(command('posts/0', 0));
    // The connection ends somewhere within the shipments that follow, at another place each time.
    for (let at = 1; at <= 5; at += 1) {
      proxy.drop(at * 600);
      assert.deepEqual(await cutOff.append(command(`posts/${at}`, 0, { claims: [claim(`${at}`, 'posts.slug')] })), [
        'recorded',
      ]);
    }
    await other.current();
    assert.equal(other.log.head().size, 6);
    assert.deepEqual(rowsOf(cutOff.db), rowsOf(other.db));
  });
});

/** Every table that a replica has from the log it follows. */
function rowsOf(db: Parameters<typeof contentOf>[0]): Record<string, unknown> {
  const others = ['commands', 'erasures'].map((table) => [
    table,
    db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
  ]);
  return { ...contentOf(db), ...Object.fromEntries(others) };
}
