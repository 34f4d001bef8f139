import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openArrival } from '../../../events/postgres/arrival.ts';
import { moveIn } from '../../../events/postgres/moving-in.ts';
import { openPostgresVault } from '../../../events/postgres/vault/vault.ts';
import { UnknownShipmentError } from '../../../events/replica/shared-log.ts';
import { describeWithServers, makeDatabase, startServers, type TestDatabase } from '../../helpers/postgres.ts';
import { command, openTestLog } from '../logs.ts';
import { openNode, shipmentAfter } from './node.ts';

const nothing = () => {};

describeWithServers('A log in PostgreSQL whose standby does not answer', () => {
  // The setting is one of the whole server, so no other test may have that.
  let shared: TestDatabase;
  let end = async () => {};
  before(async () => {
    const servers = await startServers();
    end = servers.end;
    shared = await makeDatabase(servers.hosts);
  });
  after(() => end());
  let sites = 0;

  async function twoNodes() {
    sites += 1;
    const site = `site ${sites}`;
    const { address, sql } = shared;
    const [one, other] = await Promise.all([openNode(address, { site }), openNode(address, { site })]);
    return { one, other, address, site, sql, close: () => Promise.all([one.log.close(), other.log.close()]) };
  }

  it('takes a commit whose wait was cancelled for unknown, and finds it when it looks', async () => {
    const { one, other, sql, close } = await twoNodes();
    await one.append([{ stream: 'posts/0', version: 1 }]);
    // As long as this standby does not come, no commit ends.
    await sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", 'SELECT pg_reload_conf()');
    try {
      const taken = await one.log.take(one.head(), 20_000);
      const shipment = shipmentAfter(taken.head, { stream: 'posts/1' });
      const shipping = assert.rejects(taken.ship(shipment), UnknownShipmentError);
      await untilOne(async () => {
        const [waiting] = await sql(
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()",
        );
        return waiting?.rowCount === 1;
      });
      await shipping;
    } finally {
      await sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()');
    }
    const taken = await other.log.take(other.head());
    assert.deepEqual(
      taken.missing(other.head().size).events.map(({ stream }) => stream),
      ['posts/0', 'posts/1'],
    );
    await taken.confirm();
    await close();
  });

  it('is not available within the patience of a node when no standby answers, and knows afterwards what it has', async () => {
    const { address, site, sql, close } = await twoNodes();
    const node = await openNode(address, { patience: 1000, site });
    await sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", 'SELECT pg_reload_conf()');
    try {
      const since = performance.now();
      await assert.rejects(node.append([{ stream: 'posts/1', version: 1, key: 'k' }]), UnknownShipmentError);
      assert.ok(performance.now() - since < 5000);
      // The event is not seen yet, and readers go on.
      assert.equal((await node.log.head()).size, 0);
    } finally {
      await sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()');
    }
    // The client sends the same write again: it was recorded, and once.
    await untilOne(
      async () =>
        (await node.append([{ stream: 'posts/1', version: 1, key: 'k' }]).catch(nothing))?.[0] === 'idempotency',
    );
    assert.equal((await node.log.head()).size, 1);
    await node.log.close();
    await close();
  });

  it('has one session of a vault wait for the standby, however many calls are refused meanwhile', async (t) => {
    const { address, sql } = shared;
    const options = { site: '', secrets: [], warn: nothing, patience: 2000, opening: 20_000 };
    const vault = await openPostgresVault({ address, ...options });
    t.after(vault.close);
    const fail = (account: string) =>
      vault.port.counters.change(account, (before) => {
        const failures = (before?.failures ?? 0) + 1;
        return { failures, lockedUntil: null, touched: 0, isKnown: true };
      });
    await untilOne(async () => (await fail('ada').catch(nothing)) !== undefined);
    const before = (await vault.port.counters.get('ada'))?.failures;
    await sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", 'SELECT pg_reload_conf()');
    try {
      for (let at = 0; at < 4; at += 1) await assert.rejects(fail(`user ${at}`), { code: 'unavailable' });
      const [waiting] = await sql(
        "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()",
      );
      assert.deepEqual(waiting?.rows, [{ count: 1 }]);
      // Reads go on.
      assert.equal((await vault.port.counters.get('ada'))?.failures, before);
    } finally {
      await sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()');
    }
    await untilOne(async () => (await fail('ada').catch(nothing))?.failures !== undefined);
  });

  it('takes a log in when it answers again, though the last step was given up first', async (t) => {
    const { address, sql } = shared;
    const { log, path } = openTestLog(t);
    const write = () => void log.append([command(`posts/${log.head().size}`, 0)]);
    write();
    const arrival = await openArrival({ address, site: 'moved', warn: nothing });
    t.after(arrival.close);
    const { log: number } = await arrival.begin('annals/test');
    let tries = 0;
    let mended: Promise<unknown> = Promise.resolve();
    const moved = await moveIn({
      file: path,
      arrival,
      companion: {
        begin() {
          tries += 1;
        },
        copy: async () => {
          await arrival.change({ text: 'UPDATE annals.heads SET site = site WHERE log = $1', values: [number] });
          if (tries > 1) return;
          await sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", 'SELECT pg_reload_conf()');
          mended = pause(6000).then(() =>
            sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()'),
          );
          await untilOne(async () => {
            await arrival.change({ text: 'UPDATE annals.heads SET site = site WHERE log = $1', values: [number] });
            return false;
          });
        },
        commit: nothing,
        rollBack: nothing,
      },
      progress: {
        // Events that are written meanwhile are copied in the last step.
        copied: () => tries === 0 && log.head().size < 5 && write(),
        compared: nothing,
      },
    }).finally(() => mended);
    assert.ok(tries > 1);
    assert.equal(moved.size, log.head().size);
    const [head] = await sql(`SELECT state, size FROM annals.heads WHERE log = ${number}`);
    assert.deepEqual(head?.rows, [{ state: 'here', size: String(log.head().size) }]);
  });

  it('is read on while old idempotency records are forgotten, which waits for no standby', async () => {
    const { one, site, sql, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1, key: 'old' }]);
    await sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", 'SELECT pg_reload_conf()');
    try {
      await pause(100);
      const forgotten = one.log.forgetIdempotencyRecords(-60_000);
      const heads = Array.from({ length: 20 }, async (_, at) => {
        await pause(at * 50);
        return (await one.log.head()).size;
      });
      assert.deepEqual(new Set(await Promise.all(heads)), new Set([1]));
      await forgotten;
      const [left] = await sql(`SELECT 1 FROM annals.attempts JOIN annals.heads USING (log) WHERE site = '${site}'`);
      assert.equal(left?.rowCount, 0);
    } finally {
      await sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()');
    }
    await close();
  });

  it('warns, once, if no standby has every commit', async () => {
    const { address, site, sql, close } = await twoNodes();
    await sql("ALTER SYSTEM SET synchronous_standby_names = ''", 'SELECT pg_reload_conf()');
    try {
      await pause(100);
      const node = await openNode(address, { site });
      await node.log.head();
      assert.deepEqual(
        node.warnings.map((warning) => /no synchronous standby/.test(warning)),
        [true],
      );
      await node.log.close();
    } finally {
      await sql("ALTER SYSTEM SET synchronous_standby_names = 'b'", 'SELECT pg_reload_conf()');
    }
    await close();
  });
});

async function untilOne(isSo: () => Promise<boolean>): Promise<void> {
  for (let left = 100; !(await isSo()); left -= 1) {
    if (left === 0) throw new Error('it did not come to that');
    await pause(50);
  }
}
