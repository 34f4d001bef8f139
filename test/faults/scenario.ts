import assert from 'node:assert/strict';
import type { Servers } from '../helpers/postgres.ts';
import { path } from './clients.ts';
import { kinds as allKinds, type NodeKind } from './nodes.ts';
import { type Figures, openWorld, type World } from './world.ts';

/**
 * @param kind the nodes.
 * @param isShort for `.ci/run`: some seconds.
 * @param headers of each request.
 * @param servers those that are there already, for a fault that leaves them as they are.
 */
export type Options = { kind: NodeKind; isShort: boolean; headers?: Record<string, string>; servers?: Servers };

/** One fault, tried once; `leavesServers` is one that can be tried on servers that others use as well. */
export type Scenario = { leavesServers: boolean; run: (options: Options) => Promise<Figures> };

type Run = (world: World, isShort: boolean) => Promise<Figures>;

/**
 * Runs a scenario in a world that ends with it.
 *
 * @param kinds of its nodes.
 * @param isOfServices whether it needs whole services, whatever nodes are asked for.
 */
export function inWorld(
  kinds: (kind: NodeKind) => NodeKind[],
  run: Run,
  { leavesServers = false, isOfServices = false }: { leavesServers?: boolean; isOfServices?: boolean } = {},
): Scenario {
  return {
    leavesServers,
    async run({ isShort, servers, ...given }) {
      const { kind, headers = {} } = isOfServices ? (allKinds.service as (typeof allKinds)[string]) : given;
      const world = await openWorld(leavesServers ? servers : undefined, kinds(kind), headers);
      try {
        return await run(world, isShort);
      } finally {
        await world.close();
      }
    },
  };
}

/** The kinds of two nodes that are the same. */
export const two = (kind: NodeKind) => [kind, kind];
export const leavesServers = { leavesServers: true };

/** Asks a node for a read once: how it ended, and after how many milliseconds. */
export async function timedRead(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; took: number }> {
  const since = performance.now();
  const response = await fetch(`${url}${path}/none`, { headers, signal: AbortSignal.timeout(20_000) });
  await response.arrayBuffer();
  return { status: response.status, took: Math.round(performance.now() - since) };
}

/** A write that is no part of the history: it has no tag. */
export async function timedWrite(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; took: number }> {
  const since = performance.now();
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ name: `untagged ${since}` }),
    signal: AbortSignal.timeout(20_000),
  });
  await response.arrayBuffer();
  return { status: response.status, took: Math.round(performance.now() - since) };
}

/** The longest time, in milliseconds, after which a service refuses a write, or a read that waits for others. */
export const refusalMilliseconds = 5000;

/** The longest time, in milliseconds, until another node has the lock of a suspended node. */
export const lockMilliseconds = 2500;

/**
 * The deadlines of a service are timers, which a busy machine rings late, and an answer passes several processes. So a
 * time may be longer than its deadline by half a second, and by five times what a timer was late here meanwhile; that
 * much, but never more than 1.5 seconds, beyond which it would say nothing any more.
 */
export function watchLateness(): { end: () => number } {
  const everyMilliseconds = 20;
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - everyMilliseconds);
    last = now;
  }, everyMilliseconds);
  return {
    /** The milliseconds that are allowed. */
    end() {
      clearInterval(timer);
      return Math.round(Math.min(500 + 5 * worst, 1500));
    },
  };
}

/** Asserts that measured times are within the deadline, plus the delay of the machine. */
export function assertWithin(measured: Record<string, number>, deadline: number, allowed: number): void {
  for (const [what, took] of Object.entries(measured))
    assert.ok(took <= deadline + allowed, `${what}: ${took} ms, of ${deadline} and ${allowed} for a busy machine`);
}

export function pick<T>(all: readonly [T, ...T[]]): T {
  return all[Math.floor(Math.random() * all.length)] as T;
}
