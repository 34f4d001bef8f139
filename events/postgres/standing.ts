import { reportMilliseconds } from '../../storage/postgres/durations.ts';

/** The state of a node. */
type NodeState =
  /** It takes in the log for the first time since its start. */
  | 'joining'
  /** It answers requests. */
  | 'ready';

/**
 * The report of a node. `schema`: the hash of its schema. `applied`: the number of events that it has. `scrubbed`: the
 * position up to which its files have nothing of erasures.
 */
export type NodeReport = { version: string; schema: string; state: NodeState; applied: number; scrubbed: number };

/** A node on the list. `seen`: its last report, in milliseconds since the epoch, by the clock of PostgreSQL. */
export type NodeRow = NodeReport & { node: string; seen: number };

/**
 * The nodes of a log, and the progress of erasures. `now`: the clock of PostgreSQL. `size`: the number of events in the
 * log. `erased`: the position of the newest erasure, 0 before the first; `cleaned`: the position of the last erasure of
 * which the files of PostgreSQL have nothing; `stage`: the work on the next one.
 */
export type Standing = {
  now: number;
  size: number;
  nodes: NodeRow[];
  erased: number;
  cleaned: number;
  stage: string;
};

/** Why an erasure is not finished everywhere yet, for an operator; null when it is. */
export function obstacleOf({ now, nodes, cleaned, stage }: Standing, position: number): string | null {
  const late = nodes.filter(({ scrubbed }) => scrubbed < position);
  if (late.length > 0) {
    return late
      .map(({ node, seen }) =>
        now - seen > reportMilliseconds.absent
          ? `the node ${node} is not there (last seen ${new Date(seen).toISOString()}), and its files may have it`
          : `the node ${node} still cleans its files`,
      )
      .join('; ');
  }
  if (cleaned >= position) return null;
  return stage === '' ? 'PostgreSQL still has it in its files' : `PostgreSQL still has it in its files: ${stage}`;
}
