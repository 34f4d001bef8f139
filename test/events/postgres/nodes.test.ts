import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forgetNode, openRegistry, readLateness, readLogs, readStanding } from '../../../events/postgres/nodes.ts';
import { startReporting } from '../../../events/postgres/reporting.ts';
import { type NodeReport, obstacleOf, type Standing } from '../../../events/postgres/standing.ts';
import { connect } from '../../../storage/postgres/connection.ts';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import { eventually } from '../../helpers/shared.ts';
import { openNode, shipmentAfter } from './node.ts';

const nothing = () => {};
const report: NodeReport = { version: '1.0.0', schema: 'abc', state: 'ready', applied: 1, scrubbed: 1 };

describeWithPostgres('The nodes of a log in PostgreSQL', () => {
  const database = useDatabase();
  let shared: Promise<TestDatabase> | null = null;
  let sites = 0;

  /** A log with one event, and a registry for each name. */
  async function withNodes(...names: string[]) {
    shared ??= database();
    const { address, sql } = await shared;
    sites += 1;
    const site = `site ${sites}`;
    const node = await openNode(address, { site });
    await node.append([{ stream: 'posts/1', version: 1 }]);
    const { tables } = node.log;
    const registries = names.map((name, at) =>
      openRegistry({ address, tables, node: name, instance: `${site} ${at}` }),
    );
    const connection = await connect(address, 5000, nothing);
    const close = async () => {
      await Promise.all([node.log.close(), connection.close(), ...registries.map((one) => one.close())]);
    };
    const seenEarlier = (name: string, seconds: number) =>
      sql(`UPDATE annals.nodes SET seen = seen - ${seconds * 1000} WHERE node = '${name}' AND log = ${tables.log}`);
    return { node, site, tables, address, registries, connection, close, sql, seenEarlier };
  }

  it('tell each other how far they are, by the clock of PostgreSQL', async () => {
    const { registries, connection, tables, site, close } = await withNodes('a', 'b');
    const [a, b] = registries;
    await a?.report(report);
    const standing = (await b?.report({ ...report, state: 'joining', applied: 0, scrubbed: 0 })) as Standing;
    const { nodes, now, ...rest } = standing;
    assert.deepEqual(rest, { size: 1, erased: 0, cleaned: 0, stage: '' });
    assert.deepEqual(
      nodes.map(({ seen, ...row }) => [row, now - seen < 5000 && now >= seen]),
      [
        [{ node: 'a', ...report }, true],
        [{ node: 'b', ...report, state: 'joining', applied: 0, scrubbed: 0 }, true],
      ],
    );
    assert.ok(Math.abs(now - Date.now()) < 60_000);
    assert.deepEqual((await readStanding(connection, tables.log)).nodes, nodes);
    assert.equal((await readLogs(connection)).get(site), tables.log);
    await close();
  });

  it('are off the list when they leave in order, and stay on it otherwise', async () => {
    const { registries, connection, tables, close } = await withNodes('a', 'b');
    for (const registry of registries) await registry.report(report);
    await registries[0]?.leave(1);
    assert.deepEqual(
      (await readStanding(connection, tables.log)).nodes.map(({ node }) => node),
      ['b'],
    );
    await close();
  });

  it('stay on the list when they leave with files that have something of an erasure', async () => {
    const { registries, node, connection, tables, close } = await withNodes('a');
    await registries[0]?.report(report);
    await node.append([{ stream: 'posts/2', version: 1, erases: { payloads: [1], streams: [], files: [] } }]);
    const left = async () => (await readStanding(connection, tables.log)).nodes.length;
    await registries[0]?.leave(1);
    assert.equal(await left(), 1);
    await registries[0]?.leave(2);
    assert.equal(await left(), 0);
    await close();
  });

  it('are refused under the name of another one that lives, and have it when that one is gone', async () => {
    const { registries, address, tables, close, seenEarlier } = await withNodes('a');
    await registries[0]?.report(report);
    const copy = openRegistry({ address, tables, node: 'a', instance: 'copy' });
    await assert.rejects(copy.report(report), {
      name: 'NodeNameTakenError',
      message: /another node reports under the name a: its data directory was copied.*ANNALS_NODE/,
    });
    await seenEarlier('a', 6);
    assert.equal((await copy.report(report)).nodes.length, 1);
    await assert.rejects(registries[0]?.report(report) ?? Promise.resolve(), { name: 'NodeNameTakenError' });
    // The refused node ends without taking the other one off the list.
    await registries[0]?.leave(1);
    assert.equal((await copy.report(report)).nodes.length, 1);
    await copy.close();
    await close();
  });

  it('are forgotten when they were not seen for a minute, or by force', async () => {
    const { registries, connection, tables, close, seenEarlier } = await withNodes('a', 'b');
    for (const registry of registries) await registry.report(report);
    const forget = (node: string, isForced = false) => forgetNode(connection, { log: tables.log, node, isForced });
    assert.equal(await forget('a'), 'seen');
    assert.equal(await forget('c'), 'unknown');
    await seenEarlier('a', 61);
    assert.equal(await forget('a'), 'forgotten');
    assert.equal(await forget('b', true), 'forgotten');
    assert.deepEqual((await readStanding(connection, tables.log)).nodes, []);
    await close();
  });

  it('say since when they are late', async () => {
    const { registries, node, connection, tables, close } = await withNodes('a', 'b');
    const taken = await node.log.take(node.head());
    const { events, ...rest } = shipmentAfter(taken.head, { stream: 'posts/2' });
    const time = '2026-11-20T12:00:00.000Z';
    const header = (text: string) => JSON.stringify({ ...JSON.parse(text), recordedAt: time });
    await taken.ship({ ...rest, events: events.map((event) => ({ ...event, header: header(event.header) })) });
    await registries[0]?.report({ ...report, applied: 2 });
    const standing = await registries[1]?.report(report);
    const late = await readLateness(connection, tables.log, standing?.nodes ?? []);
    assert.deepEqual([...late], [['b', Date.parse(time)]]);
    await close();
  });

  it('hold back no erasure from before they began with nothing, and each that their older files may have', async () => {
    const { registries, node, address, tables, seenEarlier, close } = await withNodes('a');
    const taken = await node.log.take(node.head());
    const erased = { position: 2, payloads: [1], streams: [], idempotencyOf: [], files: [] };
    await taken.ship({ ...shipmentAfter(taken.head, { stream: 'posts/2' }), erasures: [erased] });
    const scrubbed = async (own: Partial<NodeReport>) =>
      (await registries[0]?.report({ ...report, ...own }))?.nodes[0]?.scrubbed;
    assert.equal(await scrubbed({ state: 'joining', applied: 0, scrubbed: 0 }), 2);
    assert.equal(await scrubbed({ applied: 1, scrubbed: 1 }), 2);
    assert.equal(await scrubbed({ applied: 2, scrubbed: 2 }), 2);
    // The node's files were restored from a backup.
    assert.equal(await scrubbed({ applied: 1, scrubbed: 1 }), 1);
    // So are those of another process of this name, and from a backup with as many events, which were not clean yet.
    assert.equal(await scrubbed({ applied: 2, scrubbed: 2 }), 2);
    await seenEarlier('a', 6);
    const restored = openRegistry({ address, tables, node: 'a', instance: 'restored' });
    assert.equal((await restored.report({ ...report, applied: 2, scrubbed: 1 })).nodes[0]?.scrubbed, 1);
    await restored.close();
    await close();
  });

  it('report by themselves, and go on when PostgreSQL does', async () => {
    const { registries, sql, connection, tables, close } = await withNodes('a');
    const warnings: string[] = [];
    const own = { ...report };
    const reporting = startReporting({
      registry: registries[0] as (typeof registries)[number],
      own: () => own,
      warn: (message) => warnings.push(message),
      everyMilliseconds: 20,
    });
    await reporting.listed;
    assert.equal(reporting.standing()?.nodes[0]?.applied, 1);
    own.applied = 7;
    await sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%annals.nodes%' AND pid <> pg_backend_pid()",
    );
    await eventually(() => reporting.standing()?.nodes[0]?.applied === 7);
    await reporting.close(true);
    assert.deepEqual([(await readStanding(connection, tables.log)).nodes, warnings], [[], []]);
    await close();
  });
});

const standing: Standing = { now: 100_000, size: 9, nodes: [], erased: 9, cleaned: 0, stage: '' };

it('An erasure that is not finished says what it waits for', () => {
  const node = { ...report, node: 'a', seen: 99_500, scrubbed: 3 };
  assert.match(String(obstacleOf({ ...standing, nodes: [node] }, 4)), /^the node a still cleans its files$/);
  assert.match(
    String(obstacleOf({ ...standing, nodes: [node, { ...node, node: 'b', seen: 0 }] }, 4)),
    /^the node a still cleans its files; the node b is not there \(last seen 1970-01-01T00:00:00.000Z\)/,
  );
  const clean = { ...standing, nodes: [{ ...node, scrubbed: 4 }] };
  assert.equal(obstacleOf({ ...clean, stage: 'it waits' }, 4), 'PostgreSQL still has it in its files: it waits');
  assert.equal(obstacleOf({ ...clean, cleaned: 4 }, 4), null);
});
