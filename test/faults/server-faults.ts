import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { asAdmin } from '../helpers/postgres.ts';
import { openTcpProxy } from '../helpers/proxies.ts';
import {
  assertWithin,
  inWorld,
  pick,
  refusalMilliseconds,
  timedRead,
  timedWrite,
  two,
  watchLateness,
} from './scenario.ts';
import { until, type World } from './world.ts';

export const primaryKilled = inWorld(two, async (world, isShort) => {
  const { servers } = world;
  const load = world.load(12);
  await world.untilMore(isShort ? 100 : 200 + Math.random() * 400, load);
  await servers.kill('a');
  await pause(100 + Math.random() * 400);
  await servers.promote();
  const promoted = performance.now();
  await world.untilMore(isShort ? 100 : 300, load);
  const figures = await world.check();
  const after = backAfter(world, promoted);
  assert.ok(after <= 2000, `writes were back ${after} ms after the promotion`);
  return { ...figures, measured: { 'writes back after the promotion': after } };
});

/**
 * The standby has not every commit, so the promotion loses some: the checker has to find them, and each node has to
 * stop.
 */
export const asynchronous = inWorld(two, async (world, isShort) => {
  const { servers } = world;
  await asAdmin(
    servers.hosts,
    'postgres',
    "ALTER SYSTEM SET synchronous_standby_names = ''",
    'SELECT pg_reload_conf()',
  );
  const load = world.load(8);
  await world.untilMore(40, load);
  // If the standby were stopped, it would still be sent the events that it is to lose.
  await servers.kill('b');
  await world.untilMore(isShort ? 60 : 300, load);
  await servers.kill('a');
  await servers.start('b');
  await servers.promote();
  const promoted = performance.now();
  await until(() => world.nodes.every((node) => node.ended() !== undefined), 'the end of all nodes');
  for (const node of world.nodes) assert.match(node.output(), /the log went back|differ/, node.name);
  const noticed = Math.round(performance.now() - promoted);
  const figures = await world.check({ mayLose: true });
  assert.ok(figures.missing > 0, 'nothing was lost, so nothing was tried');
  assert.equal(figures.twice, 0);
  return {
    ...figures,
    measured: { 'all nodes stopped after the promotion': noticed },
    notes: ['the control: it has to lose'],
  };
});

/**
 * No standby answers: nothing is acknowledged, each write is refused in time, reads go on; then each is decided under
 * its key.
 */
export const standbySilent = inWorld(two, async (world, isShort) => {
  const { servers } = world;
  const [node] = world.nodes as [World['nodes'][0]];
  const load = world.load(8);
  await world.untilMore(40, load);
  servers.freeze('b');
  await pause(300);
  const before = load.count();
  const lateness = watchLateness();
  const wrote = await timedWrite(node.url, world.headers);
  const allowed = lateness.end();
  const read = await timedRead(node.url, world.headers);
  await pause(isShort ? 500 : 60_000 - wrote.took);
  const acknowledged = load.count() - before;
  servers.thaw('b');
  await world.untilMore(40, load);
  const figures = await world.check();
  assert.deepEqual([wrote.status, read.status, acknowledged], [503, 404, 0]);
  assertWithin({ 'a write': wrote.took }, refusalMilliseconds, allowed);
  return { ...figures, measured: { 'a write was refused after': wrote.took, 'a read took': read.took } };
});

/**
 * Bytes between the primary and its standby are lost, one way or both: nothing is acknowledged, each write is refused
 * in time and decided afterwards. Then they are lost again, and the standby is promoted.
 */
export const standbyCutOff = inWorld(two, async (world, isShort) => {
  const { servers } = world;
  const [node] = world.nodes as [World['nodes'][0]];
  const between = await openTcpProxy(servers.hosts[0] as (typeof servers.hosts)[0]);
  try {
    await servers.follow(between);
    await until(async () => {
      const [found] = await asAdmin(servers.hosts, 'postgres', 'SELECT client_port FROM pg_stat_replication');
      return found?.rows.length === 1 && between.ports().includes(found.rows[0].client_port);
    }, 'a standby that follows through the network');
    const load = world.load(8);
    await world.untilMore(40, load);
    const way = isShort ? 'both' : pick(['up', 'down', 'both'] as const);
    between.drop(way);
    // Answers that are under way still come.
    await pause(300);
    const before = load.count();
    const lateness = watchLateness();
    const [wrote, read] = await Promise.all([timedWrite(node.url, world.headers), timedRead(node.url, world.headers)]);
    const allowed = lateness.end();
    await pause(isShort ? 0 : 10_000);
    const acknowledged = load.count() - before;
    between.pass();
    await world.untilMore(40, load);
    between.drop(way);
    await pause(isShort ? 300 : 2000);
    await servers.kill('a');
    await servers.promote();
    const promoted = performance.now();
    await world.untilMore(40, load);
    const figures = await world.check();
    assert.deepEqual([wrote.status, read.status, acknowledged], [503, 404, 0]);
    assertWithin({ 'a write': wrote.took }, refusalMilliseconds, allowed);
    const measured = {
      'a write was refused after': wrote.took,
      'a read took': read.took,
      'writes back after the promotion': backAfter(world, promoted),
    };
    return { ...figures, measured, notes: [`lost: ${way}`] };
  } finally {
    await between.close();
  }
});

/**
 * Commits that wait for a standby are cancelled, and then the primary is gone: none of them may have been acknowledged.
 */
export const cancelledCommit = inWorld(two, async (world) => {
  const { servers } = world;
  const load = world.load(8);
  await world.untilMore(40, load);
  // If the standby were stopped, it would still be sent the events that it must not have.
  await servers.kill('b');
  await pause(300);
  const before = load.count();
  let cancelled = 0;
  await until(async () => {
    const [found] = await asAdmin(
      servers.hosts.slice(0, 1),
      'postgres',
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    );
    cancelled += found?.rowCount ?? 0;
    return cancelled >= 20;
  }, 'commits that wait');
  const acknowledged = load.count() - before;
  await servers.kill('a');
  await servers.start('b');
  await servers.promote();
  await world.untilMore(40, load);
  const stopped = world.nodes.filter((node) => node.ended() !== undefined);
  for (const node of stopped) assert.match(node.output(), /the log went back|differ/);
  const figures = await world.check({ mayLose: stopped.length > 0 });
  assert.deepEqual([figures.missing, figures.twice, acknowledged], [0, 0, 0]);
  return {
    ...figures,
    notes: [`${cancelled} cancelled; ${stopped.length} nodes stopped, since they had seen what was lost`],
  };
});

/** The milliseconds from a promotion to the first write that is acknowledged after it. */
function backAfter({ seen }: World, promoted: number): number {
  const back = seen.find((one) => one.kind === 'write' && one.fate === 'acknowledged' && one.ended > promoted)?.ended;
  return Math.round((back ?? Number.POSITIVE_INFINITY) - promoted);
}
