import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, ask, path } from './clients.ts';
import { withClock } from './nodes.ts';
import { inWorld, leavesServers, timedRead, timedWrite, two } from './scenario.ts';
import { longestPause, type World } from './world.ts';

/** The lock of a node that stands still is free after 2 seconds; a busy machine may add as much. In 5 seconds a write is refused. */
const mostWaiting = 4900;

/** Stops a node at a moment at which it has the lock of the log. */
async function freezeUnderLock({ nodes: [node], sql }: World): Promise<void> {
  assert.ok(node);
  for (let left = 300; left > 0; left -= 1) {
    node.freeze();
    await pause(120);
    const ports = [0, ...node.network.flatMap((one) => one.ports())];
    const [found] = await sql(
      `SELECT 1 FROM pg_stat_activity WHERE client_port IN (${ports}) AND state = 'idle in transaction'
       AND clock_timestamp() - state_change > interval '100 ms'`,
    );
    if (found?.rowCount) return;
    node.thaw();
    await pause(Math.random() * 30);
  }
  throw new Error('the node was never stopped under the lock');
}

export const stoppedUnderLock = inWorld(
  two,
  async (world, isShort) => {
    const [stopped, other] = world.nodes as [World['nodes'][0], World['nodes'][0]];
    const loads = [world.load(6, [stopped]), world.load(6, [other])] as const;
    await world.untilMore(20, loads[0]);
    await world.untilMore(20, loads[1]);
    await freezeUnderLock(world);
    const since = performance.now();
    await world.untilMore(isShort ? 20 : 100, loads[1]);
    if (!isShort) await pause(4000);
    const longest = Math.round(longestPause(world.seen, since));
    stopped.thaw();
    await world.untilMore(20, loads[0]);
    const figures = await world.check();
    assert.ok(longest <= mostWaiting, `the other node waited ${longest} ms`);
    return { ...figures, notes: [`the other node waited ${longest} ms for the lock`] };
  },
  leavesServers,
);

export const partition = inWorld(
  two,
  async (world, isShort) => {
    const [cutOff, other] = world.nodes as [World['nodes'][0], World['nodes'][0]];
    const loads = [world.load(6, [cutOff]), world.load(6, [other])] as const;
    await world.untilMore(20, loads[0]);
    await world.untilMore(20, loads[1]);
    const way = isShort ? 'both' : pick(['up', 'down', 'both'] as const);
    const how = isShort ? 'drop' : pick(['drop', 'hold'] as const);
    for (const one of cutOff.network) one[how](way);
    const since = performance.now();
    const [read, wrote] = await Promise.all([
      timedRead(cutOff.url, world.headers),
      timedWrite(cutOff.url, world.headers),
    ]);
    await world.untilMore(40, loads[1]);
    const longest = Math.round(longestPause(world.seen, since));
    for (const one of cutOff.network) one.pass();
    await world.untilMore(20, loads[0]);
    const figures = await world.check();
    assert.deepEqual([read.status, wrote.status], [503, 503]);
    assert.ok(
      read.took <= 6500 && wrote.took <= 6500,
      `a read was refused after ${read.took} ms, a write after ${wrote.took}`,
    );
    // It may have been cut off while it had the lock.
    assert.ok(longest <= mostWaiting, `the other node waited ${longest} ms`);
    const note = `${how}, ${way}: a linear read was refused after ${read.took} ms, a write after ${wrote.took} ms; the other node waited ${longest} ms`;
    return { ...figures, notes: [note] };
  },
  leavesServers,
);

/** All nodes are asked at once for the same value, for the next version of one document, and with the same key. */
export const races = inWorld(
  (kind) => [kind, kind, kind],
  async (world, isShort) => {
    const rounds = isShort ? 40 : 400;
    const urls = world.nodes.map(({ url }) => url);
    const { headers } = world;
    const made = await ask(urls[0] as string, {
      method: 'POST',
      path,
      body: { marker: 'race-0', name: 'race' },
      headers: { ...headers, 'idempotency-key': 'race-0' },
    });
    world.saw({ session: 'r', tag: 'race-0', began: 0, answer: made });
    let version = 1;
    for (let at = 1; at <= rounds; at += 1) {
      const send = async (
        node: number,
        tag: string,
        request: { method: string; path: string; body: unknown },
        expected?: number,
      ) => {
        const condition = expected === undefined ? {} : { 'if-match': `"${expected}-x"` };
        const began = performance.now();
        const given = { ...headers, ...condition, 'idempotency-key': tag };
        let answer: Answer = null;
        // A busy machine may make a node late.
        for (let left = 10; answer === null && left > 0; left -= 1)
          answer = await ask(urls[node] as string, { ...request, headers: given });
        world.saw({ session: `r${node}`, tag, began, answer, ...(expected === undefined ? {} : { expected }) });
        return answer;
      };
      const answers = await Promise.all(
        urls.flatMap((_, node) => [
          send(node, `value-${at}-${node}`, {
            method: 'POST',
            path,
            body: { marker: `value-${at}-${node}`, name: `v${at}` },
          }),
          send(
            node,
            `stream-${at}-${node}`,
            { method: 'PATCH', path: `${path}/${made?.id}`, body: { note: `stream-${at}-${node}` } },
            version,
          ),
          send(node, `key-${at}`, { method: 'POST', path, body: { marker: `key-${at}`, name: `k${at}` } }),
        ]),
      );
      const told = answers.map((answer) => answer?.status);
      assert.deepEqual(told.toSorted(), [200, 201, 201, 201, 201, 409, 409, 412, 412], `round ${at}`);
      version += 1;
    }
    const figures = await world.check();
    return { ...figures, notes: [`${rounds} times one of three won each value, version and key`] };
  },
  leavesServers,
);

/** Clocks that are an hour off change neither the times of events nor their order. */
export const clocks = inWorld(
  (kind) => [withClock(kind, '+1h'), withClock(kind, '-1h'), kind],
  async (world, isShort) => {
    const load = world.load(9);
    await world.untilMore(isShort ? 60 : 400, load);
    const figures = await world.check();
    const found = await world.headersOfLog();
    for (const { recordedAt } of found)
      assert.ok(Math.abs(Date.parse(recordedAt) - Date.now()) < 600_000, `recorded at ${recordedAt}`);
    const ids = found.map(({ id }) => id);
    assert.deepEqual(ids, ids.toSorted(), 'ids are in the order of the log');
    return { ...figures, notes: ['clocks an hour ahead, an hour behind and right'] };
  },
  leavesServers,
);

/** A node that gets a twentieth of a processor. */
export const slowNode = inWorld(
  two,
  async (world, isShort) => {
    const [slow, other] = world.nodes as [World['nodes'][0], World['nodes'][0]];
    const loads = [world.load(6, [slow]), world.load(6, [other])] as const;
    await world.untilMore(20, loads[1]);
    const since = performance.now();
    const end = since + (isShort ? 4000 : 20_000);
    while (performance.now() < end) {
      slow.freeze();
      await pause(190);
      slow.thaw();
      await pause(10);
    }
    const longest = Math.round(longestPause(world.seen, since));
    const many = world.seen.filter(
      (one) => one.kind === 'write' && one.fate === 'acknowledged' && one.ended >= since,
    ).length;
    await world.untilMore(10, loads[0]);
    const figures = await world.check();
    // It may be stopped while it has the lock, for as long as it stands.
    assert.ok(longest <= 2500, `the other node waited ${longest} ms`);
    return { ...figures, notes: [`${many} writes meanwhile; the longest pause was ${longest} ms`] };
  },
  leavesServers,
);

/** A node is killed again and again, comes back on its replica, and catches up. */
export const nodeKilled = inWorld(
  two,
  async (world, isShort) => {
    const [killed, other] = world.nodes as [World['nodes'][0], World['nodes'][0]];
    const loads = [world.load(6), world.load(4, [other])] as const;
    const since = performance.now();
    for (let left = isShort ? 2 : 8; left > 0; left -= 1) {
      await world.untilMore(40, loads[0]);
      await killed.kill();
      await world.untilMore(30, loads[1]);
      await killed.start();
    }
    await world.untilMore(40, loads[0]);
    const longest = Math.round(longestPause(world.seen, since));
    return { ...(await world.check()), notes: [`the longest pause was ${longest} ms`] };
  },
  leavesServers,
);

function pick<T>(all: readonly [T, ...T[]]): T {
  return all[Math.floor(Math.random() * all.length)] as T;
}
