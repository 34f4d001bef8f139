import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { asAdmin } from '../helpers/postgres.ts';
import { inWorld, timedRead, timedWrite, two } from './scenario.ts';
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
  const back = world.seen.find(
    (one) => one.kind === 'write' && one.fate === 'acknowledged' && one.ended > promoted,
  )?.ended;
  const after = Math.round((back ?? Number.POSITIVE_INFINITY) - promoted);
  assert.ok(after <= 2000, `writes were back ${after} ms after the promotion`);
  return { ...figures, notes: [...figures.notes, `writes back ${after} ms after the promotion`] };
});

/** The standby has not every commit, so the promotion loses some: the checker has to find them, and each node has to stop. */
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
  // Stopped, it would still be sent what it is to lose.
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
    notes: [`the control: it has to lose, and all nodes stopped ${noticed} ms after the promotion`],
  };
});

/** No standby answers: nothing is acknowledged, each write is refused in time, reads go on; then each is decided under its key. */
export const standbySilent = inWorld(two, async (world, isShort) => {
  const { servers } = world;
  const [node] = world.nodes as [World['nodes'][0]];
  const load = world.load(8);
  await world.untilMore(40, load);
  servers.freeze('b');
  await pause(300);
  const before = load.count();
  const wrote = await timedWrite(node.url, world.headers);
  const read = await timedRead(node.url, world.headers);
  await pause(isShort ? 500 : 60_000 - wrote.took);
  const acknowledged = load.count() - before;
  servers.thaw('b');
  await world.untilMore(40, load);
  const figures = await world.check();
  assert.deepEqual([wrote.status, read.status, acknowledged], [503, 404, 0]);
  assert.ok(wrote.took <= 6500, `a write was refused after ${wrote.took} ms`);
  return { ...figures, notes: [`a write was refused after ${wrote.took} ms, a read took ${read.took} ms`] };
});

/** Commits that wait for a standby are cancelled, and then the primary is gone: none of them may have been acknowledged. */
export const cancelledCommit = inWorld(two, async (world) => {
  const { servers } = world;
  const load = world.load(8);
  await world.untilMore(40, load);
  // Stopped, it would still be sent what it is not to have.
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
