import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import type { PendingSegment } from '../../events/segments/segment-writer.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import type { Declared } from '../../projections/tables/epochs.ts';
import type { Remaining, Scrubbed } from '../../projections/tables/scrub.ts';
import { errorOf } from '../../storage/errors.ts';
import { startThread } from '../platform/threads.ts';
import { diskFullAtSigning } from './disk-full.ts';
import type { NodeStanding } from './membership.ts';
import type { Kept, WriterInput, WriterMessage, WriterOrder } from './messages.ts';
import type { SearchCell } from './search-cell.ts';
import { writerEnded } from './waiting.ts';

/** Thrown when the data directory cannot be opened for writing: a broken log, or documents against the schema. */
export class StartError extends Error {
  override name = 'StartError';
}

/** Thrown when documents would show less by the schema, and that is not accepted. */
export class LossError extends StartError {
  override name = 'LossError';
}

/** The writer thread, seen from the main thread. */
export type Writer = {
  /** Resolves when it takes writes; rejects with a StartError when the data directory refuses. */
  ready: Promise<Ready>;
  /**
   * A way in for one thread that answers requests.
   *
   * @param generation of the configuration by which it admits them: its commands wait until that is adopted; null by
   * default, for the service's own.
   */
  connect: (generation?: number | null) => MessagePort;
  /**
   * Adopts a generation of the configuration, after all commands that were sent before: from now on its commands are
   * recorded, and those that a rule of an earlier one admitted are refused.
   *
   * @param declared its schema and rules, to be recorded before them; null where they are those of the log.
   * @returns false when there was no room to record them: the next write tries again.
   */
  adopt: (generation: number, declared: Declared | null) => Promise<boolean>;
  /**
   * Resolves when all that threads have sent until now, also those that have ended, is recorded or refused; with false
   * when the writer ended before, so that is not known.
   */
  settled: () => Promise<boolean>;
  /** True when it ended unasked. Then the log may hold events that its readers do not see yet. */
  hasFailed: () => boolean;
  /**
   * Keeps a checkpoint, or that a copy of it has arrived, in the log. @throws DomainError `unavailable` when there is
   * no room for it.
   */
  keepCheckpoint: (change: CheckpointChange) => Promise<void>;
  /**
   * Clears the data files of erased bytes, and ends the erasures that have no stored file left. Writes go on in
   * between.
   *
   * @param remaining the files that are left of each erasure that is not finished.
   * @param onHindered called while a reader is in the way.
   */
  scrub: (remaining: Remaining[], onHindered: () => void) => Promise<Scrubbed>;
  /** How much of the data files {@link Writer.scrub} has cleaned, from 0 to 1; null when it does not work. */
  cleaned: () => number | null;
  /** Of a node: how it and all others are; null before its first report. */
  standing: () => NodeStanding | null;
  /** Makes a segment of a pending. */
  keepSegment: (pending: PendingSegment) => Promise<Kept>;
  /** Tells the thread of the search index from now on that there is something new. */
  tellSearch: (port: MessagePort, cell: SearchCell) => void;
  /** A way for one thread to wait for what other nodes have appended; for a node alone. */
  follow: () => MessagePort;
  /** Records the queued commands, then ends the thread; one that is not ready yet is cut short, as by a crash. */
  close: () => Promise<void>;
};

type Ready = Extract<WriterMessage, { kind: 'ready' }>;

/** Callbacks for the start of the writer. */
type Listener = {
  progress: Progress;
  onChanges: (lines: readonly string[]) => void;
  /** The head of the log is sealed: from here on it must always be. */
  onSealed: (log: string) => void;
  /** The log is brought to another format: a line for the operator. */
  onUpgrade?: (line: string) => void;
  /** There are enough events for a segment. */
  onSegmentDue: () => void;
  /** Of a node: what the operator should know about the shared log. */
  onWarning?: (message: string) => void;
  /** Of a node: something was erased, by whichever node. */
  onErased?: () => void;
};

/**
 * Starts the writer thread.
 *
 * @param onDeath called once, when the thread ends unasked: the outcome of its commands is unknown until the next
 * start.
 */
export function startWriter(
  input: WriterInput,
  {
    progress,
    onChanges,
    onSealed,
    onUpgrade = () => {},
    onSegmentDue,
    onWarning = () => {},
    onErased = () => {},
  }: Listener,
  onDeath: (error: Error) => void,
): Writer {
  const worker = startThread('writer', input);
  const ready = Promise.withResolvers<Ready>();
  // It may be refused before anybody waits for it: the start waits for passwords first.
  ready.promise.catch(() => {});
  const closed = Promise.withResolvers<void>();
  const settling: ((isSettled: boolean) => void)[] = [];
  const keeping: PromiseWithResolvers<void>[] = [];
  const scrubbing: PromiseWithResolvers<Scrubbed>[] = [];
  const adopting: PromiseWithResolvers<boolean>[] = [];
  const sealing: PromiseWithResolvers<Kept>[] = [];
  let isReady = false;
  let isClosing = false;
  let cleaned: number | null = null;
  let standing: NodeStanding | null = null;
  let tellHindered = () => {};
  let death: Error | null = null;

  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'ready') {
      isReady = true;
      ready.resolve(message);
    } else if (message.kind === 'progress') progress(message.done, message.total);
    else if (message.kind === 'changes') onChanges(message.lines);
    else if (message.kind === 'sealed') onSealed(message.log);
    else if (message.kind === 'upgrade') onUpgrade(message.line);
    else if (message.kind === 'refused') {
      // The thread ends by itself now, and that is not a death.
      isClosing = true;
      ready.reject(message.isLoss ? new LossError(message.message) : new StartError(message.message));
    } else if (message.kind === 'settled') settling.shift()?.(true);
    else if (message.kind === 'kept') {
      if (message.isKept) keeping.shift()?.resolve();
      else keeping.shift()?.reject(diskFullAtSigning());
    } else if (message.kind === 'cleaning') {
      cleaned = message.share;
      if (message.isHindered) tellHindered();
    } else if (message.kind === 'scrubbed') scrubbing.shift()?.resolve(message.scrubbed);
    else if (message.kind === 'segment-due') onSegmentDue();
    else if (message.kind === 'segment') sealing.shift()?.resolve(message);
    else if (message.kind === 'warning') onWarning(message.message);
    else if (message.kind === 'standing') standing = message.standing;
    else if (message.kind === 'erased') onErased();
    else if (message.kind === 'failed') die(new Error(message.message));
    else if (message.kind === 'adopted') adopting.shift()?.resolve(message.isRecorded);
    else closed.resolve();
  });
  worker.on('error', (error) => die(errorOf(error)));
  worker.on('exit', () => {
    closed.resolve();
    if (!isClosing) die(new Error('the writer thread ended'));
  });

  function die(error: Error): void {
    if (death) return;
    death = error;
    ready.reject(error);
    for (const { reject } of [
      ...keeping.splice(0),
      ...scrubbing.splice(0),
      ...adopting.splice(0),
      ...sealing.splice(0),
    ])
      reject(writerEnded());
    for (const resolve of settling.splice(0)) resolve(false);
    onDeath(error);
  }

  function connect(generation: number | null = null): MessagePort {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ kind: 'connect', port: port1, generation } satisfies WriterOrder, [port1]);
    return port2;
  }

  function follow(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ kind: 'following', port: port1 } satisfies WriterOrder, [port1]);
    return port2;
  }

  function settled(): Promise<boolean> {
    if (death) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    settling.push(resolve);
    worker.postMessage({ kind: 'settle' } satisfies WriterOrder);
    return promise;
  }

  function ask<T>(order: WriterOrder, waiting: PromiseWithResolvers<T>[]): Promise<T> {
    if (death) return Promise.reject(writerEnded());
    const asked = Promise.withResolvers<T>();
    waiting.push(asked);
    worker.postMessage(order);
    return asked.promise;
  }

  async function close(): Promise<void> {
    isClosing = true;
    if (isReady && !death) {
      worker.postMessage({ kind: 'close' } satisfies WriterOrder);
      await closed.promise;
    }
    await worker.terminate();
  }

  return {
    ready: ready.promise,
    connect,
    follow,
    adopt: (generation, declared) => ask({ kind: 'adopt', generation, declared }, adopting),
    settled,
    hasFailed: () => death !== null,
    tellSearch: (port, cell) => worker.postMessage({ kind: 'search', port, cell } satisfies WriterOrder, [port]),
    keepCheckpoint: (change) => ask({ kind: 'checkpoint', change }, keeping),
    scrub(remaining, onHindered) {
      tellHindered = onHindered;
      return ask({ kind: 'scrub', remaining }, scrubbing);
    },
    cleaned: () => cleaned,
    standing: () => standing,
    keepSegment: (pending) => ask({ kind: 'segment', pending }, sealing),
    close,
  };
}
