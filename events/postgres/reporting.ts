import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../storage/errors.ts';
import { NodeNameTakenError, type Registry } from './nodes.ts';
import type { Replication } from './standbys.ts';
import type { NodeReport, Standing } from './standing.ts';

/**
 * @param own gives what the node has to say of itself.
 * @param onStanding is told how all are, after each report.
 * @param listMilliseconds the time in which the first report has to succeed.
 * @param warn is told once why a report could not be made, and again after one that was.
 */
export type ReportingOptions = {
  registry: Registry;
  own: () => NodeReport;
  onStanding?: (standing: Standing, replication: Replication | null) => void;
  warn: (message: string) => void;
  everyMilliseconds?: number;
  listMilliseconds?: number;
};

export type Reporting = ReturnType<typeof startReporting>;

const closeMilliseconds = 1000;

/** Reports a node for as long as it lives. */
export function startReporting(options: ReportingOptions) {
  const { registry, own, onStanding = () => {}, warn, everyMilliseconds = 1000, listMilliseconds = 15_000 } = options;
  let standing: Standing | null = null;
  let warned = '';
  let isClosed = false;
  let wake = () => {};
  const first = Promise.withResolvers<Standing>();
  first.promise.catch(() => {});
  const late = setTimeout(() => first.reject(new Error(warned)), listMilliseconds);
  const running = run();

  async function run(): Promise<void> {
    while (!isClosed) {
      await report();
      if (!isClosed) await sleep();
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

  function sleep(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, everyMilliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    /**
     * Resolves when this node is on the list; throws where it could not be put there within some seconds. Before that
     * it must take nothing from the log, for no erasure would wait for it.
     */
    listed: first.promise as Promise<unknown>,
    /** The answer to the last report; null before the first. */
    standing: () => standing,
    /** Has the next report made at once. */
    hurry: () => wake(),
    /** @param isLeaving whether the node is to be taken off the list. */
    async close(isLeaving: boolean): Promise<void> {
      isClosed = true;
      clearTimeout(late);
      wake();
      // A server that stands still is not waited for.
      await Promise.race([running, pause(closeMilliseconds, undefined, { ref: false })]);
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
