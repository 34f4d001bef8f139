import type { Servers } from '../helpers/postgres.ts';
import { path } from './clients.ts';
import type { NodeKind } from './nodes.ts';
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

/** Runs a scenario in a world that ends with it. @param kinds of its nodes. */
export function inWorld(
  kinds: (kind: NodeKind) => NodeKind[],
  run: Run,
  { leavesServers = false }: { leavesServers?: boolean } = {},
): Scenario {
  return {
    leavesServers,
    async run({ kind, isShort, headers = {}, servers }) {
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
