/** `joining`: it catches up. `ready`: it answers. */
export type NodeState = 'joining' | 'ready';

/**
 * A node tells this of itself. `schema`: the hash of its schema. `applied`: the events that it has. `scrubbed`: its
 * files have nothing of erasures up to this position.
 */
export type NodeReport = { version: string; schema: string; state: NodeState; applied: number; scrubbed: number };

/** `seen`: its last report, in milliseconds since the epoch, by the clock of PostgreSQL. */
export type NodeRow = NodeReport & { node: string; seen: number };

/**
 * The nodes of a log, and how far erasures are. `now`: the clock of PostgreSQL. `size`: the events in the log.
 * `erased`: the position of the newest erasure, 0 before the first; `cleaned`: that of the last one of which PostgreSQL
 * has nothing in its files; `stage`: the work on it.
 */
export type Standing = {
  now: number;
  size: number;
  nodes: NodeRow[];
  erased: number;
  cleaned: number;
  stage: string;
};

/** A node that was not seen for so many milliseconds is not there, and its name is free for another process. */
export const absentMilliseconds = 5000;

/** Why an erasure is not finished anywhere yet, for an operator; null when it is. */
export function obstacleOf({ now, nodes, cleaned, stage }: Standing, position: number): string | null {
  const late = nodes.filter(({ scrubbed }) => scrubbed < position);
  if (late.length > 0) {
    return late
      .map(({ node, seen }) =>
        now - seen > absentMilliseconds
          ? `the node ${node} is not there (last seen ${new Date(seen).toISOString()}), and its files may have it`
          : `the node ${node} still cleans its files`,
      )
      .join('; ');
  }
  if (cleaned >= position) return null;
  return stage === '' ? 'PostgreSQL still has it in its files' : `PostgreSQL still has it in its files: ${stage}`;
}
