import { messageOf } from '../../storage/errors.ts';
import { DivergedError } from '../log/ingesting.ts';
import type { Shipment } from '../log/shipment.ts';
import type { BatchResult, PreparedBatch } from '../log/sqlite-log.ts';
import { advance, isState, type Position, type State, type Steps, usesReplica } from './append-protocol.ts';
import { ingest, ingestUntilOutdated, type ReplicaParts } from './catch-up.ts';
import type { OutdatedError } from './outdated.ts';
import type { Queue } from './queue.ts';
import type { SharedClock } from './shared-clock.ts';
import {
  refuseLoss,
  type SharedLog,
  SharedLogUnavailableError,
  type TakenLog,
  TooFarBehindError,
  UnknownShipmentError,
} from './shared-log.ts';
import type { Pages } from './shared-pages.ts';

/** The parts and the knowledge of a node that writes to a shared log. */
export type WriterContext = ReplicaParts & {
  shared: SharedLog;
  clock: SharedClock;
  pages: Pages;
  /** All that writes to the replica: its transaction stays open while the shared log commits. */
  replicaWrites: Queue;
  /**
   * The size up to which this node knows that the shared log is durable. A replica may have more: an event whose commit
   * was cancelled while it waited for the standby is visible, and a failover loses it.
   */
  durable: number;
};

/**
 * One append.
 *
 * @param prepare decides and writes to the replica, in a transaction; null to append nothing, and only to make sure
 * that all events are durable.
 * @param until the time by `performance.now()` at which it is refused.
 * @param hold the milliseconds that `prepare` may take; undefined for the usual ones.
 */
export type AppendRun = {
  writer: WriterContext;
  prepare: (() => PreparedBatch) | null;
  until: number;
  hold: number | undefined;
};

/**
 * Runs an append from its first state to an end.
 *
 * @throws what `SharedWriter.append` says.
 */
export async function runAppend(append: AppendRun): Promise<BatchResult> {
  const { replicaWrites } = append.writer;
  let at: Position = { state: 'free', known: {} };
  while (isState(at)) {
    const from: Position<State> = at;
    at = usesReplica(from)
      ? await replicaWrites.run(() => whileTaken(append, from))
      : await advance(steps, append, from);
  }
  if (at.state === 'settled') return at.known.result;
  throw at.state === 'unknown' ? stillUnknown(at.known.error) : at.known.error;
}

/** Goes on until the log is not taken any more. */
async function whileTaken(append: AppendRun, from: Position): Promise<Position> {
  let at = from;
  while (isState(at) && usesReplica(at)) at = await advance(steps, append, at);
  return at;
}

/** The step of each state. */
export const steps: Steps<AppendRun> = {
  free: async (append) => ({ event: 'takes', known: { taken: await take(append) } }),

  doubted: async (append, { doubt }) => ({ event: 'takes', known: { taken: await take(append), doubt } }),

  async taken({ writer }, { taken }) {
    if (await isOvertaken(writer, taken)) return { event: 'isOvertaken', known: {} };
    return { event: 'catchesUp', known: { taken, outdated: await catchUpTo(writer, taken) } };
  },

  async suspect({ writer }, { taken, doubt }) {
    if (await isOvertaken(writer, taken)) return { event: 'isOvertaken', known: { doubt } };
    const outdated = await catchUpTo(writer, taken);
    const isThere = await orRelease(taken, () => isInReplica(writer, doubt.shipment));
    if (isThere) return { event: 'findsIt', known: { taken, result: doubt.result } };
    // The log is taken, so the shipment cannot be appended any more.
    return { event: 'catchesUp', known: { taken, outdated } };
  },

  async level({ writer, prepare }, { taken, outdated }) {
    if (prepare === null) return { event: 'repeats', known: { taken, result: { outcomes: [], recorded: [] } } };
    const prepared = await orRelease(taken, () => {
      if (outdated) throw outdated;
      return prepare();
    });
    const { outcomes, recorded, shipment } = prepared;
    if (shipment.events.length > 0 || shipment.idempotencyRecords.length > 0)
      return { event: 'prepares', known: { taken, prepared } };
    prepared.rollBack();
    const result = { outcomes, recorded };
    if (newestRepeated(outcomes) > writer.durable) return { event: 'repeats', known: { taken, result } };
    await taken.release();
    return { event: 'hasNothing', known: { result } };
  },

  async prepared({ writer, until }, { taken, prepared }) {
    const { outcomes, recorded, shipment } = prepared;
    try {
      await taken.ship(shipment);
    } catch (error) {
      prepared.rollBack();
      if (!(error instanceof UnknownShipmentError)) throw error;
      if (performance.now() >= until) return { event: 'isLate', known: { error } };
      return { event: 'losesAnswer', known: { doubt: { result: { outcomes, recorded }, shipment } } };
    }
    writer.durable = shipment.head.size;
    return { event: 'ships', known: { prepared } };
  },

  async shipped(_, { prepared }) {
    try {
      prepared.commit();
    } catch (error) {
      // As if another node had appended it: the replica takes it in when it catches up.
      throw new UnknownShipmentError('it was appended, and this node could not write it', { cause: error });
    }
    const { outcomes, recorded } = prepared;
    return { event: 'commits', known: { result: { outcomes, recorded } } };
  },

  async committed({ writer }, { result }) {
    writer.apply(result.recorded);
    return { event: 'applies', known: { result } };
  },

  async visible({ writer }, { taken, result }) {
    await taken.confirm();
    writer.durable = taken.head.size;
    return { event: 'confirms', known: { result } };
  },
};

async function take({ writer, until, hold }: AppendRun): Promise<TakenLog> {
  const { shared, replica, clock } = writer;
  for (;;) {
    try {
      const left = until - performance.now();
      if (left <= 0) throw new SharedLogUnavailableError('the shared log did not answer in time');
      const taken = await shared.take(replica.head(), left, hold);
      clock.set(taken.now);
      return taken;
    } catch (error) {
      if (!(error instanceof TooFarBehindError)) throw error;
      await catchUp(writer);
    }
  }
}

/** Takes in page after page, to the end of the log. */
async function catchUp(writer: WriterContext): Promise<void> {
  for (;;) {
    const missing = await writer.pages.next(writer.replica.head());
    await writer.replicaWrites.run(async () => ingest(writer, missing));
    if (missing.head !== null) return;
  }
}

/** Whether others have appended since: then this node lost the log while it waited for the replica. */
async function isOvertaken({ replica }: WriterContext, taken: TakenLog): Promise<boolean> {
  if (replica.head().size <= taken.head.size) return false;
  await taken.release();
  return true;
}

/** Takes in all that the replica lacks, or all before an event that it may not have. */
function catchUpTo(writer: WriterContext, taken: TakenLog): Promise<OutdatedError | null> {
  return orRelease(taken, () => {
    const head = writer.replica.head();
    refuseLoss(taken.head, head);
    return ingestUntilOutdated(writer, taken.missing(head.size));
  });
}

async function orRelease<T>(taken: TakenLog, run: () => T): Promise<T> {
  try {
    return run();
  } catch (error) {
    await taken.release();
    throw error;
  }
}

/** Whether a shipment was appended; the replica has all of the log. Ids of events are never used twice. */
function isInReplica({ replica }: WriterContext, { events }: Shipment): boolean {
  const last = events.at(-1);
  if (!last || last.position > replica.head().size) return false;
  return replica.range(last.position - 1, last.position)[0]?.header.id === last.id;
}

/** The newest position of the outcomes that were recorded before; 0 without any. */
function newestRepeated(outcomes: BatchResult['outcomes']): number {
  const positions = outcomes.map((outcome) => {
    const isRepeated = !(outcome instanceof Error) && !outcome.ok && outcome.conflict === 'idempotency';
    return isRepeated ? outcome.first.position : 0;
  });
  return Math.max(...positions);
}

/** The error to throw if it cannot be found out what became of a shipment. A replica that differs stops its node. */
function stillUnknown(error: unknown): unknown {
  if (error instanceof UnknownShipmentError || error instanceof DivergedError) return error;
  return new UnknownShipmentError(`it is not known whether it was appended: ${messageOf(error)}`, { cause: error });
}
