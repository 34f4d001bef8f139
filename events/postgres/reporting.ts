import { setTimeout as elapsed } from 'node:timers/promises';
import { messageOf } from '../../storage/errors.ts';
import { reportMilliseconds } from '../../storage/postgres/durations.ts';
import { openPause } from '../replica/wakeable-pause.ts';
import { NodeNameTakenError, type Registry } from './nodes.ts';
import type { Replication } from './standbys.ts';
import type { NodeReport, Standing } from './standing.ts';

/**
 * @param own gives the report of the node.
 * @param onStanding is told the standing of all nodes, after each report.
 * @param listMilliseconds the time in which the first report has to succeed.
 * @param warn is told once why a report could not be made, and again after a report that was.
 */
type ReportingOptions = {
  registry: Registry;
  own: () => NodeReport;
  onStanding?: (standing: Standing, replication: Replication | null) => void;
  warn: (message: string) => void;
  everyMilliseconds?: number;
  listMilliseconds?: number;
};

const closeMilliseconds = 1000;

/** Reports a node until it is closed. */
export function startReporting(options: ReportingOptions) {
  const { registry, own, onStanding = () => {}, warn } = options;
  const { everyMilliseconds = reportMilliseconds.every, listMilliseconds = reportMilliseconds.first } = options;
  let standing: Standing | null = null;
  let warned = '';
  let isClosed = false;
  const pause = openPause();
  const first = Promise.withResolvers<Standing>();
  // A caller may never ask for it.
  first.promise.catch(() => {});
  const late = setTimeout(() => first.reject(new Error(warned)), listMilliseconds);
  const running = run();

  async function run(): Promise<void> {
    while (!isClosed) {
      await report();
      if (!isClosed) await pause.sleep(everyMilliseconds);
    }
  }

  async function report(): Promise<void> {
    try {
      standing = await registry.report(own());
      onStanding(standing, await registry.replication());
      warned = '';
      clearTimeout(late);
      first.resolve(standing);
    } catch (error) {
      const message =
        error instanceof NodeNameTakenError ? error.message : `it is not known how the nodes are: ${messageOf(error)}`;
      if (message !== warned && !isClosed) warn(message);
      warned = message;
    }
  }

  return {
    /**
     * Resolves when this node is on the list; rejects if it could not be put there in time. Before that the node must
     * take nothing from the log, for no erasure would wait for the node.
     */
    listed: first.promise as Promise<unknown>,
    /** The answer to the last report; null before the first. */
    standing: () => standing,
    /** Makes the next report at once. */
    hurry: pause.wake,
    /** @param isLeaving whether the node is to be taken off the list. */
    async close(isLeaving: boolean): Promise<void> {
      isClosed = true;
      clearTimeout(late);
      pause.wake();
      // A server that stands still is not waited for.
      await Promise.race([running, elapsed(closeMilliseconds, undefined, { ref: false })]);
      first.reject(new Error('the node ends'));
      try {
        if (isLeaving) await registry.leave(own().scrubbed);
      } catch (error) {
        warn(`this node stays on the list of nodes: ${messageOf(error)}`);
      } finally {
        await registry.close();
      }
    },
  };
}
