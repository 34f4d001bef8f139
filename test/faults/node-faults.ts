import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, ask, type Load, path } from './clients.ts';
import { withClock } from './nodes.ts';
import {
  assertWithin,
  inWorld,
  leavesServers,
  lockMilliseconds,
  pick,
  refusalMilliseconds,
  timedRead,
  timedWrite,
  two,
  watchLateness,
} from './scenario.ts';
import { longestPause, until, type World } from './world.ts';

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
    const lateness = watchLateness();
    await freezeUnderLock(world);
    const since = performance.now();
    await world.untilMore(isShort ? 20 : 100, loads[1]);
    if (!isShort) await pause(4000);
    const measured = { 'the other node waited for the lock': Math.round(longestPause(world.seen, since)) };
    const allowed = lateness.end();
    stopped.thaw();
    await world.untilMore(20, loads[0]);
    const figures = await world.check();
    assertWithin(measured, lockMilliseconds, allowed);
    return { ...figures, measured };
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
    const lateness = watchLateness();
    const [read, wrote] = await Promise.all([
      timedRead(cutOff.url, world.headers),
      timedWrite(cutOff.url, world.headers),
    ]);
    await world.untilMore(40, loads[1]);
    const waited = Math.round(longestPause(world.seen, since));
    const allowed = lateness.end();
    for (const one of cutOff.network) one.pass();
    await world.untilMore(20, loads[0]);
    const figures = await world.check();
    assert.deepEqual([read.status, wrote.status], [503, 503]);
    assertWithin({ 'a read': read.took, 'a write': wrote.took }, refusalMilliseconds, allowed);
    // The node may have been cut off while it had the lock.
    assertWithin({ 'the other node': waited }, lockMilliseconds, allowed);
    const measured = {
      'a linear read was refused after': read.took,
      'a write was refused after': wrote.took,
      'the other node waited': waited,
    };
    return { ...figures, measured, notes: [`${how}, ${way}`] };
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
        for (let left = 10; (answer === null || answer.status === 503) && left > 0; left -= 1)
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
    // The node may be stopped while it has the lock, for as long as the stop lasts.
    const measured = { 'the longest pause': longest };
    assertWithin(measured, lockMilliseconds, 0);
    return { ...figures, measured, notes: [`${many} writes meanwhile`] };
  },
  leavesServers,
);

/** So slow a network carries fewer than 10 events in a second, and 1,000 in two minutes. */
const bytesPerSecond = 10_000;

/**
 * A node gets less through its network than the other one appends, and falls more than 10 seconds behind. It says so,
 * and is ready again when it has caught up. PostgreSQL and the other node work all the while.
 */
export const nodeBehind = inWorld(
  two,
  async (world, isShort) => {
    const [late, other] = world.nodes as [World['nodes'][0], World['nodes'][0]];
    const loads = [world.load(2, [other])];
    await world.untilMore(10, loads[0] as Load);
    assert.equal((await readyOf(late)).status, 200);
    for (const one of late.network) one.throttle(bytesPerSecond);
    const since = performance.now();
    for (let left = isShort ? 4 : 16; left > 0; left -= 1) await appendMany(other, world.headers);
    const appended = performance.now();
    await until(async () => (await readyOf(late)).status !== 200, 'a node that is not ready');
    const noticed = Math.round(performance.now() - since);
    // All writes were recorded more than 10 seconds ago then.
    await pause(Math.max(11_000 - (performance.now() - appended), 0));
    assert.deepEqual(await readyOf(late), { status: 503, body: { status: 'behind' } });
    await until(async () => (await readyOf(other)).status === 200, 'that the other node is ready');
    await world.untilMore(10, loads[0] as Load);
    const read = await timedRead(late.url, world.headers);
    for (const one of late.network) one.pass();
    const mended = performance.now();
    await until(async () => (await readyOf(late)).status === 200, 'a node that is ready again');
    const measured = { 'not ready after': noticed, 'ready again after': Math.round(performance.now() - mended) };
    await world.untilMore(10, world.load(2, [late]));
    const figures = await world.check();
    assert.equal(read.status, 503);
    return { ...figures, measured };
  },
  { leavesServers: true, isOfServices: true },
);

async function readyOf({ url }: World['nodes'][0]): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(20_000) });
  return { status: response.status, body: await response.json() };
}

/** Appends many events at once, which are no part of the history. A busy machine may make the node late. */
async function appendMany({ url }: World['nodes'][0], headers: Record<string, string>): Promise<void> {
  const key = randomUUID();
  const docs = Array.from({ length: 250 }, (_, at) => ({ name: `one of many ${key} ${at}` }));
  for (let left = 10; ; left -= 1) {
    const response = await fetch(`${url}${path}/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...headers },
      body: JSON.stringify({ docs }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (response.status === 201) return;
    assert.ok(response.status === 503 && left > 0, `${response.status} ${text}`);
  }
}

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
    return { ...(await world.check()), measured: { 'the longest pause': longest } };
  },
  leavesServers,
);
