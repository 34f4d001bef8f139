import { messageOf } from '../../storage/errors.ts';
import type { Command, RecordedEvent } from '../facts/log.ts';
import { DivergedError, NewerEventError } from '../log/ingesting.ts';
import type { Missed, Shipped } from '../log/shipped.ts';
import type { BatchResult, Prepared, SqliteLog } from '../log/sqlite-log.ts';
import { OutdatedError, partBefore } from './outdated.ts';
import type { SharedClock } from './shared-clock.ts';
import {
  refuseLoss,
  type SharedLog,
  SharedLogUnavailableError,
  type Taken,
  TooFarBehindError,
  UnknownShipmentError,
} from './shared-log.ts';
import { openPages } from './shared-pages.ts';

/**
 * @param replica the log of this node, to which only this writer writes; its ids and times are made with `clock`.
 * @param apply is told all events of the log, in their order, once each, when they are in the replica: for the read
 * tables.
 * @param patience the milliseconds after which an append is refused.
 * @param refuses why an event that another node has appended may not be taken into the replica; null where it may, as
 * all may by default.
 */
export type SharedWriterOptions = {
  replica: Pick<SqliteLog, 'head' | 'range' | 'prepare' | 'ingest'>;
  shared: SharedLog;
  clock: SharedClock;
  apply: (recorded: readonly RecordedEvent[]) => void;
  patience: number;
  refuses?: (event: Missed['events'][number]) => string | null;
};

export type SharedWriter = ReturnType<typeof openSharedWriter>;

/** So many events are ingested in one transaction at most. */
export const page = 500;

/**
 * Appends to a log that other nodes append to as well, through the replica of this node: the rules are those of a log
 * of one's own. Appends stand in line for the log. Everything that writes to the replica waits its turn, for the
 * transaction stays open while the shared log commits; but no turn waits for the log, so a read takes in what others
 * have appended while a write waits.
 */
export function openSharedWriter(options: SharedWriterOptions) {
  const { replica, shared, clock, apply, patience, refuses = () => null } = options;
  const pages = openPages(shared, page);
  const line = openQueue();
  const turns = openQueue();
  let isLevel = false;
  /**
   * Up to where this node knows that the shared log is durable. A replica may have more: an event whose commit was
   * cancelled while it waited for the standby can be seen, and a failover loses it.
   */
  let durable = 0;

  /**
   * Appends all commands in one shipment. When this returns, they are durable in the shared log, and in the replica.
   *
   * @param within the milliseconds after which it is refused.
   * @throws SharedLogUnavailableError when nothing was appended; UnknownShipmentError when that is not known: the same
   * attempts find out; OutdatedError when the log goes on with what this node may not take, and nothing was appended;
   * DivergedError when the replica and the shared log differ.
   */
  function append(commands: readonly Command[], within = patience): Promise<BatchResult> {
    return appendWith(() => replica.prepare(commands), within);
  }

  /**
   * The same for what is prepared in another way, once the replica has all of the log.
   *
   * @param prepare throws where there is nothing to append, which is thrown on.
   * @param hold the milliseconds that it may take; 2 seconds by default.
   */
  function appendWith(prepare: () => Prepared, within: number, hold?: number): Promise<BatchResult> {
    // Waiting in line counts: a client waits no longer where many do.
    const until = performance.now() + within;
    return line.run(() => appendNow(prepare, until, hold));
  }

  async function appendNow(prepare: () => Prepared, until: number, hold?: number): Promise<BatchResult> {
    /** The shipment that may have been appended, and the outcomes that are true if it was. */
    let doubted: { result: BatchResult; shipped: Shipped } | null = null;

    /** Gives null where it has to be found out what became of it. */
    async function appendTo(taken: Taken, outdated: OutdatedError | null): Promise<BatchResult | null> {
      if (doubted && isInReplica(doubted.shipped)) {
        await confirm(taken);
        return doubted.result;
      }
      // From here on it is known that it was not appended: the log is taken, so it cannot be any more.
      doubted = null;
      const prepared = await orRelease(taken, () => {
        if (outdated) throw outdated;
        return prepare();
      });
      const { outcomes, recorded, shipped } = prepared;
      if (shipped.events.length === 0 && shipped.attempts.length === 0) {
        prepared.rollBack();
        await (repeats(outcomes) > durable ? confirm(taken) : taken.release());
        return { outcomes, recorded };
      }
      try {
        await taken.ship(shipped);
        durable = shipped.head.size;
      } catch (error) {
        prepared.rollBack();
        if (!(error instanceof UnknownShipmentError) || performance.now() >= until) throw error;
        doubted = { result: { outcomes, recorded }, shipped };
        return null;
      }
      try {
        prepared.commit();
      } catch (error) {
        // As if another node had appended it: the next turn ingests it.
        throw new UnknownShipmentError('it was appended, and this node could not write it', { cause: error });
      }
      apply(recorded);
      return { outcomes, recorded };
    }

    for (;;) {
      try {
        const result = await withAll(until, hold, appendTo);
        if (result !== null) return result;
      } catch (error) {
        throw doubted ? stillUnknown(error) : error;
      }
    }
  }

  /**
   * Takes the log, and into the replica all that it lacks, or all before an event that it may not have; in the same
   * turn of the replica does what is to be done then.
   *
   * @param run ends that the log is taken.
   */
  async function withAll<T>(
    until: number,
    hold: number | undefined,
    run: (taken: Taken, outdated: OutdatedError | null) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const taken = await takeBefore(until, hold);
      clock.set(taken.now);
      const done = await turns.run(async () => {
        // Others have appended since: it was lost while this waited for its turn.
        if (replica.head().size > taken.head.size) {
          await taken.release();
          return null;
        }
        const outdated = await orRelease(taken, () => {
          refuseLoss(taken.head, replica.head());
          return ingestUntilOutdated(taken.missed(replica.head().size));
        });
        return { result: await run(taken, outdated) };
      });
      if (done !== null) return done.result;
    }
  }

  /** @throws UnknownShipmentError: that something is there is no proof that it lasts. */
  async function confirm(taken: Taken): Promise<void> {
    try {
      await taken.confirm();
    } catch (error) {
      throw stillUnknown(error);
    }
    durable = taken.head.size;
  }

  /**
   * Waits until all that the replica has had when this was called is durable: it may be told then that it was done.
   *
   * @throws SharedLogUnavailableError, UnknownShipmentError when that is not known in time; DivergedError.
   */
  async function confirmed(): Promise<void> {
    const size = replica.head().size;
    if (size <= durable) return;
    const until = performance.now() + patience;
    await line.run(async () => {
      if (size > durable) await withAll(until, undefined, confirm);
    });
  }

  /** Whether a shipment was appended, once the replica has all of the log. Ids of events are never used twice. */
  function isInReplica({ events }: Shipped): boolean {
    const last = events.at(-1);
    if (!last || last.position > replica.head().size) return false;
    return replica.range(last.position - 1, last.position)[0]?.header.id === last.id;
  }

  async function takeBefore(until: number, hold?: number): Promise<Taken> {
    for (;;) {
      try {
        const left = until - performance.now();
        if (left <= 0) throw new SharedLogUnavailableError('the shared log did not answer in time');
        return await shared.take(replica.head(), left, hold);
      } catch (error) {
        if (!(error instanceof TooFarBehindError)) throw error;
        await catchUpNow();
      }
    }
  }

  async function orRelease<T>(taken: Taken, run: () => T): Promise<T> {
    try {
      return run();
    } catch (error) {
      await taken.release();
      throw error;
    }
  }

  /** All before an event that this node may not take is in the replica all the same. */
  function ingestUntilOutdated(missed: Missed): OutdatedError | null {
    try {
      ingest(missed);
      return null;
    } catch (error) {
      if (error instanceof OutdatedError) return error;
      throw error;
    }
  }

  /** Takes rows into the replica. A page that another turn has overtaken is left out. */
  function ingest(missed: Missed): void {
    if (missed.from !== replica.head().size) return;
    const refused = missed.events.find((event) => refuses(event) !== null);
    if (refused) {
      takeIn(partBefore(missed, refused.position));
      throw new OutdatedError(refuses(refused) ?? '');
    }
    try {
      takeIn(missed);
    } catch (error) {
      if (!(error instanceof NewerEventError)) throw error;
      takeIn(partBefore(missed, error.position));
      throw new OutdatedError(error.message, { cause: error });
    }
  }

  function takeIn(missed: Missed): void {
    if (missed.events.length === 0 && missed.attempts.length === 0) return;
    const recorded = replica.ingest(missed);
    if (recorded.length > 0) apply(recorded);
  }

  async function catchUpNow(): Promise<void> {
    for (;;) {
      const missed = await pages.next(replica.head());
      await turns.run(async () => ingest(missed));
      if (missed.head !== null) return;
    }
  }

  /**
   * Takes a page of what others have appended.
   *
   * @param isExpected whether there may well be something. Otherwise it is first asked where the log ends.
   * @returns how many events there were.
   * @throws SharedLogUnavailableError; OutdatedError; DivergedError when the replica and the shared log differ.
   */
  async function follow(isExpected = true): Promise<number> {
    const reached = replica.head();
    // Most looks find nothing then, and a page is four more questions.
    if (!isExpected) {
      const end = await shared.head();
      refuseLoss(end, reached);
      if (end.size === reached.size) {
        isLevel = true;
        return 0;
      }
    }
    const missed = await pages.next(replica.head());
    if (missed.events.length > 0) await turns.run(async () => ingest(missed));
    isLevel = missed.head !== null;
    return missed.events.length;
  }

  return {
    append,
    confirmed,
    appendWith,
    follow,
    /** Whether the last look found the end of the log. */
    isLevel: () => isLevel,
    /**
     * Runs what else writes to the replica, while no transaction of an append is open. It may be long, so the log is
     * not taken either.
     */
    between: <T>(run: () => T): Promise<T> => line.run(() => turns.run(async () => run())),
    /** Ends when all that was begun has ended. */
    close: async (): Promise<void> => {
      await line.ended();
      await turns.ended();
    },
  };
}

/** Runs one after the other, in the order in which they came. */
function openQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run<T>(run: () => Promise<T>): Promise<T> {
      const result = last.then(run);
      last = result.catch(() => {});
      return result;
    },
    /** Ends with the last that has come. */
    ended: async (): Promise<void> => {
      await last;
    },
  };
}

/** The newest position of what outcomes say was recorded before; 0 where none does. */
function repeats(outcomes: BatchResult['outcomes']): number {
  const before = outcomes.map((outcome) => {
    return !(outcome instanceof Error) && !outcome.ok && outcome.conflict === 'attempt' ? outcome.first.position : 0;
  });
  return Math.max(...before);
}

/**
 * The error to throw where one keeps from finding out whether something was appended. A replica that differs stops its
 * node.
 */
function stillUnknown(error: unknown): unknown {
  if (error instanceof UnknownShipmentError || error instanceof DivergedError) return error;
  return new UnknownShipmentError(`it is not known whether it was appended: ${messageOf(error)}`, { cause: error });
}
