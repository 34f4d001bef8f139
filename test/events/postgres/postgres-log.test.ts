import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openPostgresLog } from '../../../events/postgres/postgres-log.ts';
import { prepareTables, steps } from '../../../events/postgres/tables.ts';
import { LogWentBackError, SharedLogUnavailableError, TooFarBehindError } from '../../../events/replica/shared-log.ts';
import { connect } from '../../../storage/postgres/connection.ts';
import { UnfitServerError } from '../../../storage/postgres/errors.ts';
import { refuseUnfit } from '../../../storage/postgres/fitness.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { startProxy } from '../../helpers/s3.ts';
import { longValue, openNode, shipmentAfter, type Told } from './node.ts';

const nothing = () => {};

describeWithPostgres('A log in PostgreSQL', () => {
  const database = useDatabase();
  let shared: Promise<TestDatabase> | null = null;
  let sites = 0;

  /** Two nodes of a log that is new. `here` tells it from the logs of other tests in the same tables. */
  async function twoNodes() {
    shared ??= database();
    const { address, sql } = await shared;
    sites += 1;
    const site = `site ${sites}`;
    const [one, other] = await Promise.all([openNode(address, { site }), openNode(address, { site })]);
    const here = `log = (SELECT log FROM annals.heads WHERE site = '${site}')`;
    return { one, other, address, site, sql, here, close: () => Promise.all([one.log.close(), other.log.close()]) };
  }

  it('is one for all nodes that start at the same time', async () => {
    const { address, sql } = await database();
    const nodes = await Promise.all([1, 2, 3, 4].map(() => openNode(address)));
    assert.equal(new Set(nodes.map(({ log }) => log.name)).size, 1);
    const [heads] = await sql('SELECT log, site, size FROM annals.heads');
    assert.deepEqual(heads?.rows, [{ log: 1, site: '', size: '0' }]);
    await Promise.all(nodes.map(({ log }) => log.close()));
  });

  it('gives each site of a database a log of its own', async () => {
    const { address } = await database();
    const open = (site: string) => openPostgresLog({ address, site, makeName: () => `annals/${site}`, warn: nothing });
    const logs = await Promise.all(['a', 'b', 'c', 'a'].map(open));
    assert.deepEqual(
      logs.map(({ name }) => name),
      ['annals/a', 'annals/b', 'annals/c', 'annals/a'],
    );
    await Promise.all(logs.map((log) => log.close()));
  });

  it('gives other nodes what one has appended, byte for byte', async () => {
    const { one, other, close } = await twoNodes();
    const body = JSON.stringify({ text: 'a "quoted" \\ {brace}, NULL, Zürich 🦊 \u0001', none: null });
    await one.append([
      { stream: 'posts/1', version: 1, value: 'a', key: 'k', body },
      { stream: 'posts/1', version: 2 },
    ]);
    const missing = await other.log.tail({ size: 0 }, 10);
    assert.equal(missing.events[0]?.body, body);
    assert.deepEqual(missing.claims, [
      { position: 1, stream: 'posts/1', scope: 'posts.slug', value: 'a', isTaken: true },
    ]);
    assert.deepEqual(
      missing.idempotencyRecords.map(({ key, position, stream, version }) => ({ key, position, stream, version })),
      [{ key: 'k', position: 1, stream: 'posts/1', version: 1 }],
    );
    await other.follow();
    assert.deepEqual(other.head(), one.head());
    assert.deepEqual(await other.log.head(), one.head());
    await close();
  });

  it('gives it in pages, of which only the last says where the log ends', async () => {
    const { one, other, close } = await twoNodes();
    await one.append(Array.from({ length: 5 }, (_, at) => ({ stream: `posts/${at}`, version: 1, value: `v${at}` })));
    const pages = [
      await other.log.tail({ size: 0 }, 2),
      await other.log.tail({ size: 2 }, 2),
      await other.log.tail({ size: 4 }, 2),
      await other.log.tail({ size: 5 }, 2),
    ];
    assert.deepEqual(
      pages.map(({ events, claims, head }) => [events.length, claims.length, head?.size ?? null]),
      [
        [2, 2, null],
        [2, 2, null],
        [1, 1, 5],
        [0, 0, 5],
      ],
    );
    await close();
  });

  it('lets one of several nodes win each stream, value and key that all want at once', async () => {
    const { address, sql } = await database();
    const nodes = await Promise.all([1, 2, 3].map(() => openNode(address)));
    const rounds = 40;
    const told = await Promise.all(
      nodes.map(async (node, name) => {
        const all: Told[] = [];
        for (let at = 0; at < rounds; at += 1) {
          const wishes = [
            { stream: `same/${at}`, version: 1 },
            { stream: `node/${name}/${at}`, version: 1, value: `v${at}` },
            { stream: `keys/${name}/${at}`, version: 1, key: `k${at}` },
          ];
          all.push(...(await node.append(wishes)));
        }
        return all;
      }),
    );
    const count = (what: string) => told.flat().filter((one) => one === what).length;
    assert.deepEqual(
      [count('recorded'), count('version'), count('claim'), count('idempotency')],
      [3 * rounds, 2 * rounds, 2 * rounds, 2 * rounds],
    );
    const [claims, idempotencyRecords] = await sql('SELECT 1 FROM annals.claims', 'SELECT 1 FROM annals.attempts');
    assert.deepEqual([claims?.rowCount, idempotencyRecords?.rowCount], [rounds, rounds]);
    for (const node of nodes) await node.follow();
    assert.equal(new Set(nodes.map((node) => node.head().root.toString('hex'))).size, 1);
    await Promise.all(nodes.map(({ log }) => log.close()));
  });

  it('holds values that are longer than a key of PostgreSQL', async () => {
    const { one, other, close } = await twoNodes();
    const value = longValue('a');
    assert.deepEqual(await one.append([{ stream: 'posts/1', version: 1, value }]), ['recorded']);
    assert.deepEqual(await other.append([{ stream: 'posts/2', version: 1, value }]), ['claim']);
    await close();
  });

  it('refuses a value twice also to a node that does not know that it is taken', async () => {
    const { one, other, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1, value: 'a' }]);
    const taken = await other.log.take(other.head());
    const shipment = shipmentAfter(taken.head, { stream: 'posts/2', value: 'a' });
    await assert.rejects(taken.ship(shipment), /holds other things than this node's replica/);
    assert.equal((await one.log.head()).size, 1);
    assert.deepEqual(await one.append([{ stream: 'posts/2', version: 1 }]), ['recorded']);
    await close();
  });

  it('frees a value that was given up, in the same shipment too', async () => {
    const { one, other, sql, here, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1, value: 'a' }]);
    const taken = await one.log.take(one.head());
    const base = shipmentAfter(taken.head, { stream: 'posts/1', version: 2 });
    const claim = { scope: 'posts.slug', value: 'a' };
    const brief = { scope: 'posts.slug', value: 'brief' };
    await taken.ship({
      ...base,
      claims: [
        { ...claim, position: 2, stream: 'posts/1', isTaken: false },
        { ...claim, position: 2, stream: 'posts/2', isTaken: true },
        { ...brief, position: 2, stream: 'posts/2', isTaken: true },
        { ...brief, position: 2, stream: 'posts/2', isTaken: false },
      ],
    });
    const [claims] = await sql(`SELECT stream FROM annals.claims WHERE ${here}`);
    assert.deepEqual(claims?.rows, [{ stream: 'posts/2' }]);
    assert.deepEqual(
      (await other.log.tail({ size: 1 }, 10)).claims.map(({ value, isTaken }) => [value, isTaken]),
      [
        ['a', false],
        ['a', true],
        ['brief', true],
        ['brief', false],
      ],
    );
    await close();
  });

  it('gives the claims and idempotency records of commands without an event of their own', async () => {
    const { one, other, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1, value: 'a', key: 'k1' }]);
    const idempotency = { fingerprint: 'f', position: 1, stream: 'batches/1', version: 0, recordedAt: 1 };
    const bulk = await one.log.take(one.head());
    const base = shipmentAfter(bulk.head, { stream: 'posts/2' });
    const claims = [{ position: 1, stream: 'posts/2', scope: 'posts.slug', value: 'b', isTaken: true }];
    await bulk.ship({ ...base, claims, idempotencyRecords: [{ ...idempotency, key: 'k2' }] });
    const missing = await other.log.tail({ size: 1 }, 10);
    assert.deepEqual([missing.claims, missing.idempotencyRecords], [claims, [{ ...idempotency, key: 'k2' }]]);
    // A change of nothing is recorded for its key alone.
    const idle = await one.log.take(base.head);
    const third = { ...idempotency, position: 2, key: 'k3' };
    await idle.ship({ from: 2, head: base.head, events: [], claims: [], idempotencyRecords: [third], erasures: [] });
    const taken = await other.log.take(base.head);
    assert.deepEqual(taken.missing(2), {
      from: 2,
      head: base.head,
      events: [],
      claims: [],
      idempotencyRecords: [third],
      erasures: [],
    });
    await taken.ship(shipmentAfter(taken.head, { stream: 'posts/3' }));
    assert.deepEqual(
      (await other.log.tail({ size: 0 }, 2)).idempotencyRecords.map(({ key }) => key),
      ['k1', 'k2'],
    );
    assert.deepEqual(
      (await other.log.tail({ size: 2 }, 1)).idempotencyRecords.map(({ key }) => key),
      ['k3'],
    );
    await close();
  });

  it('keeps nothing of what a shipment erases, neither of earlier ones nor of itself', async () => {
    const { one, other, sql, here, close } = await twoNodes();
    await one.append([
      { stream: 'posts/1', version: 1, value: 'secret', key: 'k1', body: '{"text":"secret"}' },
      { stream: 'posts/2', version: 1, value: 'kept', key: 'k2' },
    ]);
    const taken = await one.log.take(one.head());
    const base = shipmentAfter(taken.head, { stream: 'posts/1', version: 2, body: '{"text":"secret too"}' });
    const erasing = shipmentAfter(base.head, { stream: 'erasures/1' });
    const idempotency = { fingerprint: 'f', version: 1, recordedAt: 1 };
    await taken.ship({
      from: 2,
      head: erasing.head,
      events: [...base.events, ...erasing.events],
      claims: [{ position: 3, stream: 'posts/1', scope: 'posts.title', value: 'secret title', isTaken: true }],
      idempotencyRecords: [
        { ...idempotency, key: 'k3', position: 3, stream: 'posts/1' },
        { ...idempotency, key: 'k4', position: 4, stream: 'posts/1' },
      ],
      erasures: [{ position: 4, payloads: [1, 3], streams: ['posts/1'], idempotencyOf: ['posts/1'], files: ['aa'] }],
    });
    const missing = await other.log.tail({ size: 0 }, 10);
    assert.deepEqual(
      missing.events.map(({ body }) => body === null),
      [true, false, true, false],
    );
    assert.deepEqual(
      missing.claims.map(({ value }) => value),
      ['kept'],
    );
    assert.deepEqual(
      missing.idempotencyRecords.map(({ key }) => key),
      ['k2', 'k4'],
    );
    assert.deepEqual(missing.erasures, [{ position: 4, files: ['aa'] }]);
    const tables = ['events', 'payloads', 'claims', 'claim_changes', 'attempts', 'erasures'];
    const found = await sql(
      ...tables.map((table) => `SELECT 1 FROM annals.${table} AS t WHERE ${here} AND t::text LIKE '%secret%'`),
    );
    assert.deepEqual(
      found.map(({ rowCount }) => rowCount),
      tables.map(() => 0),
    );
    await close();
  });

  it('forgets idempotency records that are too old', async () => {
    const { one, sql, here, close } = await twoNodes();
    const old = Array.from({ length: 1200 }, (_, at) => ({ stream: `posts/${at}`, version: 1, key: `old ${at}` }));
    await one.append(old);
    await sql(`UPDATE annals.attempts SET recorded_at = recorded_at - 61000 WHERE ${here}`);
    await one.append([{ stream: 'posts/x', version: 1, key: 'new' }]);
    await one.log.forgetIdempotencyRecords(60_000);
    const [left] = await sql(`SELECT key FROM annals.attempts WHERE ${here}`);
    assert.deepEqual(left?.rows, [{ key: 'new' }]);
    await close();
  });

  it('tells a node that lacks too much to catch up first', async () => {
    const { one, other, close } = await twoNodes();
    await one.append(Array.from({ length: 1001 }, (_, at) => ({ stream: `posts/${at}`, version: 1 })));
    await assert.rejects(other.log.take(other.head()), TooFarBehindError);
    await other.follow();
    assert.deepEqual(await other.append([{ stream: 'posts/x', version: 1 }]), ['recorded']);
    await close();
  });

  it('has the clock of PostgreSQL, not that of a node', async () => {
    const { one, close } = await twoNodes();
    const taken = await one.log.take(one.head());
    assert.ok(Math.abs(taken.now - Date.now()) < 60_000, String(taken.now));
    await taken.release();
    await close();
  });

  it('is not available to a node that waits for another one too long, and is afterwards', async () => {
    const { one, other, close } = await twoNodes();
    const taken = await one.log.take(one.head());
    await assert.rejects(other.log.take(other.head(), 300), SharedLogUnavailableError);
    await taken.release();
    assert.deepEqual(await other.append([{ stream: 'posts/1', version: 1 }]), ['recorded']);
    await close();
  });

  it('is taken from a node that holds it for more than 2 seconds, whose later shipment has no effect', async () => {
    const { one, other, close } = await twoNodes();
    let waited = 0;
    const slow = one.append([{ stream: 'posts/1', version: 1, body: '"slow"' }], async () => {
      if (waited > 0) return;
      const since = performance.now();
      assert.deepEqual(await other.append([{ stream: 'posts/1', version: 1, body: '"quick"' }]), ['recorded']);
      waited = performance.now() - since;
    });
    await assert.rejects(slow, SharedLogUnavailableError);
    assert.ok(waited > 1500, `${waited} ms`);
    assert.deepEqual(await one.append([{ stream: 'posts/1', version: 1 }]), ['version']);
    assert.equal((await one.log.tail({ size: 0 }, 10)).events[0]?.body, '"quick"');
    await close();
  });

  it('has once what a node ships that stood still for more than 2 seconds, and finds out at once', async () => {
    const { one, other, close } = await twoNodes();
    let times = 0;
    const told = await one.append([{ stream: 'posts/1', version: 1 }], async () => {
      times += 1;
      // As if the process had been stopped: it learns nothing meanwhile.
      if (times === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2600);
    });
    assert.deepEqual([told, times], [['recorded'], 2]);
    await other.follow();
    assert.deepEqual(other.head(), one.head());
    assert.equal(other.head().size, 1);
    await close();
  });

  it('answers with what it did while its node was cut off, when the node is back', async () => {
    const { other, address, site, close } = await twoNodes();
    const [host] = address.hosts;
    const proxy = await startProxy(`http://${host?.host}:${host?.port}`);
    const { hostname, port } = new URL(proxy.url);
    const cutOff = await openNode(
      { ...address, hosts: [{ host: hostname, port: Number(port) }] },
      { patience: 1500, site },
    );
    await cutOff.append([{ stream: 'posts/0', version: 1 }]);
    proxy.stall();
    const since = performance.now();
    await assert.rejects(cutOff.append([{ stream: 'posts/1', version: 1, body: '"cut off"' }]));
    assert.ok(performance.now() - since < 5000);
    assert.deepEqual(await other.append([{ stream: 'posts/1', version: 1, body: '"other"' }]), ['recorded']);
    await proxy.heal();
    assert.deepEqual(await cutOff.append([{ stream: 'posts/1', version: 1 }]), ['version']);
    await cutOff.follow();
    assert.equal((await other.log.tail({ size: 1 }, 10)).events[0]?.body, '"other"');
    await cutOff.log.close();
    await close();
  });

  it('goes on after its sessions were ended', async () => {
    const { one, sql, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1 }]);
    await one.log.head();
    await sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'annals' AND datname = current_database()",
    );
    assert.deepEqual(await one.append([{ stream: 'posts/2', version: 1 }]), ['recorded']);
    assert.equal((await one.log.head()).size, 2);
    await close();
  });

  it('went back if it ends before what a node has seen, or holds other events', async () => {
    const { one, address, site, sql, here, close } = await twoNodes();
    await one.append([
      { stream: 'posts/1', version: 1 },
      { stream: 'posts/2', version: 1 },
    ]);
    await sql(`UPDATE annals.heads SET root = decode(repeat('00', 32), 'hex') WHERE ${here}`);
    await assert.rejects(one.log.head(), { name: 'LogWentBackError', message: /at 2 it holds other events/ });
    // Also for one that has not looked before, and whose replica ends there.
    const restarted = await openNode(address, { site });
    await assert.rejects(restarted.log.tail(one.head(), 10), { message: /at 2 it holds other events/ });
    await restarted.log.close();
    await sql(`UPDATE annals.heads SET size = 1 WHERE ${here}`);
    await assert.rejects(one.log.head(), { name: 'LogWentBackError', message: /it ends at 1, this node has seen 2/ });
    await assert.rejects(one.log.take(one.head()), LogWentBackError);
    await assert.rejects(one.log.tail({ size: 2 }, 10), LogWentBackError);
    await close();
  });

  it('lets no role of a node change or delete an event', async () => {
    const { one, address, close } = await twoNodes();
    await one.append([{ stream: 'posts/1', version: 1 }]);
    const connection = await connect(address, 5000, nothing);
    const changes = ['DELETE FROM annals.events', "UPDATE annals.events SET header = ''", 'TRUNCATE annals.events'];
    for (const text of [...changes, "UPDATE annals.payloads SET body = ''", 'TRUNCATE annals.payloads'])
      await assert.rejects(connection.run({ text }), { code: '42501' });
    await connection.close();
    await close();
  });

  it('refuses a role that may', async () => {
    const { address, sql } = await database();
    await (await openNode(address)).log.close();
    await sql(`GRANT DELETE ON annals.events TO ${address.user}`);
    await assert.rejects(openNode(address), {
      name: 'UnfitServerError',
      message: /the role may DELETE annals\.events.*REVOKE DELETE ON annals\.events/,
    });
  });

  it('refuses a role that may not make its tables, and takes it when they are made', async () => {
    const { address, sql } = await database();
    await sql(`ALTER DATABASE ${address.database} OWNER TO CURRENT_USER`);
    await assert.rejects(openNode(address), {
      name: 'UnfitServerError',
      message: /may not make the tables of the log \(permission denied for database .*\): let the owner/,
    });
  });

  it('refuses tables of a newer version, and leaves them as they are', async () => {
    const { address, sql } = await database();
    const node = await openNode(address);
    await node.log.close();
    await sql('UPDATE annals.tables SET version = 99');
    await assert.rejects(openNode(address), {
      name: 'UnfitServerError',
      message: `the tables of the log in PostgreSQL have version 99; this version of Annals knows versions up to ${steps.length}`,
    });
  });

  it('brings its tables to the next version once, when several nodes start', async () => {
    const { address, sql } = await database();
    const connections = await Promise.all([1, 2, 3].map(() => connect(address, 5000, nothing)));
    await Promise.all(connections.map((connection) => prepareTables(connection)));
    const more = [...steps, ['CREATE TABLE annals.further (a int)', 'INSERT INTO annals.further VALUES (1)']];
    await Promise.all(connections.map((connection) => prepareTables(connection, more)));
    const [version, further] = await sql('SELECT version FROM annals.tables', 'SELECT a FROM annals.further');
    assert.deepEqual([version?.rows, further?.rows], [[{ version: steps.length + 1 }], [{ a: 1 }]]);
    await Promise.all(connections.map((connection) => connection.close()));
  });

  it('finds the server that takes writes among its hosts, whatever their order', async () => {
    const { address, site, close } = await twoNodes();
    const hosts = [{ host: '127.0.0.1', port: 1 }, ...address.hosts.toReversed()];
    const node = await openNode({ ...address, hosts }, { site });
    assert.deepEqual(await node.append([{ stream: 'posts/1', version: 1 }]), ['recorded']);
    await node.log.close();
    await close();
  });

  it('says why no server takes writes, without the password', async () => {
    const { address, close } = await twoNodes();
    const standby = { ...address, hosts: [...address.hosts.slice(1), { host: '127.0.0.1', port: 1 }] };
    const error = await refusalOf(openNode(standby, { opening: 1500 }));
    assert.ok(error instanceof SharedLogUnavailableError);
    assert.match(error.message, /it is a standby.*127\.0\.0\.1:1: connect ECONNREFUSED/);
    const wrong = await refusalOf(openNode({ ...address, password: 'wrong-word' }, { opening: 1500 }));
    assert.match(wrong.message, /password authentication failed/);
    assert.doesNotMatch(wrong.message, /wrong-word/);
    await close();
  });
});

describe('The settings of a server', () => {
  const sound = [
    { name: 'fsync', setting: 'on' },
    { name: 'full_page_writes', setting: 'on' },
    { name: 'server_encoding', setting: 'UTF8' },
    { name: 'synchronous_standby_names', setting: 'ANY 1 (b, c)' },
  ];
  const but = (name: string, setting: string) => sound.map((row) => (row.name === name ? { name, setting } : row));

  it('are refused if a failure of the machine damages the log', () => {
    assert.throws(() => refuseUnfit(but('fsync', 'off')), { name: 'UnfitServerError', message: /fsync = off/ });
    assert.throws(() => refuseUnfit(but('full_page_writes', 'off')), UnfitServerError);
    assert.throws(() => refuseUnfit(but('server_encoding', 'LATIN1')), /the encoding LATIN1; the log needs UTF8/);
  });

  it('are warned of if no standby has every commit, and are fine otherwise', () => {
    assert.match(refuseUnfit(but('synchronous_standby_names', '')) ?? '', /no synchronous standby/);
    assert.equal(refuseUnfit(sound), null);
    assert.equal(refuseUnfit([]), null);
  });
});

async function refusalOf(opening: Promise<unknown>): Promise<Error> {
  try {
    await opening;
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was not refused');
}
