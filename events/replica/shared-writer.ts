import type { Command } from '../facts/log.ts';
import type { BatchResult, PreparedBatch } from '../log/sqlite-log.ts';
import { runAppend, type WriterContext } from './append-steps.ts';
import type { ReplicaParts } from './catch-up.ts';
import { takeInIfGrown, takeInPage } from './following.ts';
import { openQueue } from './queue.ts';
import type { SharedClock } from './shared-clock.ts';
import type { SharedLog } from './shared-log.ts';
import { openPages } from './shared-pages.ts';

/** @param patience the milliseconds after which an append is refused. */
export type SharedWriterOptions = Omit<ReplicaParts, 'refuses'> &
  Partial<Pick<ReplicaParts, 'refuses'>> & { shared: SharedLog; clock: SharedClock; patience: number };

export type SharedWriter = ReturnType<typeof openSharedWriter>;

/** The largest number of events that are ingested in one transaction. */
export const page = 500;

/**
 * Appends to a log that other nodes append to as well, through the replica of this node: the rules are the same as for
 * a log with one writer. Appends queue for the log. All that writes to the replica queues for the replica, since its
 * transaction stays open while the shared log commits; but nothing that waits for the log holds the replica, so a read
 * takes in the events of others while a write waits.
 */
export function openSharedWriter({ shared, patience, refuses = () => null, ...parts }: SharedWriterOptions) {
  const { replica } = parts;
  const appends = openQueue();
  const replicaWrites = openQueue();
  const writer: WriterContext = {
    ...parts,
    shared,
    refuses,
    pages: openPages(shared, page),
    replicaWrites,
    durable: 0,
  };
  let isLevel = false;

  function append(commands: readonly Command[], within = patience): Promise<BatchResult> {
    return appendWith(() => replica.prepare(commands), within);
  }

  function appendWith(prepare: () => PreparedBatch, within: number, hold?: number): Promise<BatchResult> {
    // The time in the queue counts: a client waits no longer when there are many.
    const until = performance.now() + within;
    return appends.run(() => runAppend({ writer, prepare, until, hold }));
  }

  async function confirmed(): Promise<void> {
    const size = replica.head().size;
    if (size <= writer.durable) return;
    const until = performance.now() + patience;
    await appends.run(async () => {
      if (size > writer.durable) await runAppend({ writer, prepare: null, until, hold: undefined });
    });
  }

  async function follow(isExpected = true): Promise<number> {
    const look = await (isExpected ? takeInPage(writer) : takeInIfGrown(writer));
    isLevel = look.isLevel;
    return look.count;
  }

  return {
    /**
     * Appends all commands in one shipment. When this returns, they are durable in the shared log, and in the replica.
     *
     * @param within the milliseconds after which it is refused.
     * @throws SharedLogUnavailableError when nothing was appended; UnknownShipmentError when that is not known: the
     * same commands with the same idempotency keys find out; OutdatedError when the log goes on with events that this
     * node may not take, and nothing was appended; DivergedError when the replica and the shared log differ.
     */
    append,
    /**
     * The same for a batch that is prepared in another way, when the replica has all of the log.
     *
     * @param prepare throws if there is nothing to append; the error is thrown on.
     * @param hold the milliseconds that it may take; by default as for `SharedLog.take`.
     */
    appendWith,
    /**
     * Waits until all that the replica has at this moment is durable: then it may be told that it was done.
     *
     * @throws SharedLogUnavailableError, UnknownShipmentError when that is not known in time; DivergedError.
     */
    confirmed,
    /**
     * Takes in a page of the events that others have appended.
     *
     * @param isExpected whether there are likely to be events. Otherwise it is first asked where the log ends.
     * @returns the number of events in the page.
     * @throws SharedLogUnavailableError; OutdatedError; DivergedError when the replica and the shared log differ.
     */
    follow,
    /** Whether the last call of `follow` has found the end of the log. */
    isLevel: () => isLevel,
    /**
     * Runs something else that writes to the replica, while no transaction of an append is open. It may take long, so
     * the log is not taken either.
     */
    between: <T>(run: () => T): Promise<T> => appends.run(() => replicaWrites.run(async () => run())),
    /** Resolves when all that was begun has ended. */
    close: async (): Promise<void> => {
      await appends.ended();
      await replicaWrites.ended();
    },
  };
}
