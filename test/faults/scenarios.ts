import { clocks, nodeBehind, nodeKilled, partition, races, slowNode, stoppedUnderLock } from './node-faults.ts';
import type { Scenario } from './scenario.ts';
import { asynchronous, cancelledCommit, primaryKilled, standbyCutOff, standbySilent } from './server-faults.ts';

/** The faults by their names. */
export const scenarios: Record<string, Scenario> = {
  'primary-killed': primaryKilled,
  asynchronous,
  'stopped-under-lock': stoppedUnderLock,
  partition,
  'standby-silent': standbySilent,
  'standby-cut-off': standbyCutOff,
  'cancelled-commit': cancelledCommit,
  races,
  clocks,
  'slow-node': slowNode,
  'node-behind': nodeBehind,
  'node-killed': nodeKilled,
};
