import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeKind } from './nodes.ts';
import { startPatroni } from './patroni.ts';
import { type Figures, longestPause, openWorld } from './world.ts';

/**
 * The ways in which another member becomes the leader: its server crashes, its machine is gone, or an operator moves
 * it.
 */
export const ways = ['crash', 'power cut', 'switchover'] as const;

/**
 * Has Patroni move the leader under load, `rounds` times, each time in the next way.
 *
 * @param folder a folder that the user postgres can enter.
 * @param admin the superuser of the servers.
 */
export async function failOverByPatroni(
  { kind, headers, rounds }: { kind: NodeKind; headers: Record<string, string>; rounds: number },
  { folder, admin }: { folder: string; admin: { user: string; password: string } },
  report: (line: string) => void,
): Promise<Figures> {
  const patroni = await startPatroni(join(folder, 'patroni'), admin);
  try {
    await patroni.settled();
    const world = await openWorld(patroni, [kind, kind, kind], headers);
    try {
      const load = world.load(12);
      for (let round = 0; round < rounds; round += 1) {
        await world.untilMore(150, load);
        const way = ways[round % ways.length] as (typeof ways)[number];
        const leader = await patroni.settled();
        const since = performance.now();
        if (way === 'crash') patroni.killServer(leader);
        else if (way === 'power cut') patroni.killMember(leader);
        else await patroni.switchOver();
        await world.untilMore(150, load);
        if (way === 'power cut') patroni.startMember(leader);
        report(
          `patroni ${round + 1}: ${way} of ${leader}, writes paused ${Math.round(longestPause(world.seen, since - 500))} ms`,
        );
        // Until now Patroni may have reported the old leader, or one that is to be.
        await pause(2500);
        await patroni.settled();
        for (const node of world.nodes) assert.equal(node.ended(), undefined, node.output());
      }
      return await world.check();
    } finally {
      await world.close();
    }
  } finally {
    await patroni.end();
  }
}
