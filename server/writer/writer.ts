import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import type { PendingSegment } from '../../events/segments/segment-writer.ts';
import type { Progress } from '../../projections/start/rebuild.ts';
import type { Declaration } from '../../projections/tables/epochs.ts';
import type { RemainingFiles, ScrubResult } from '../../projections/tables/scrub.ts';
import { errorOf } from '../../storage/errors.ts';
import { startThread } from '../platform/threads.ts';
import { diskFullAtSigning } from './disk-full.ts';
import type { NodeStanding } from './membership.ts';
import type { SegmentOutcome, WriterInput, WriterMessage, WriterOrder } from './messages.ts';
import { openReplies, type Replies, type ReplyKind, type ReplyOf } from './replies.ts';
import type { SearchCell } from './search-cell.ts';

/** Thrown if the data directory cannot be opened for writing: a broken log, or documents that the schema refuses. */
export class StartError extends Error {
  override name = 'StartError';
}

/** Thrown if documents would show less by the schema, and that is not accepted. */
export class LossError extends StartError {
  override name = 'LossError';
}

/** The writer thread, seen from the main thread. */
export type Writer = {
  /** Resolves when the writer takes commands; rejects with a StartError if the data directory cannot be opened. */
  ready: Promise<Ready>;
  /**
   * Opens a port through which one thread sends commands.
   *
   * @param generation the one of the configuration by which the thread admits commands, which wait until it is adopted;
   * null, the default, for the service's own commands.
   */
  connect: (generation?: number | null) => MessagePort;
  /**
   * Adopts a generation of the configuration after all commands that were sent before. From then on its commands are
   * recorded, and commands that a rule of an earlier generation admitted are refused.
   *
   * @param declared its schema and rules, to be recorded first; null if the log has them.
   * @returns false if they could not be recorded, as on a full disk: the next write tries again.
   */
  adopt: (generation: number, declared: Declaration | null) => Promise<boolean>;
  /**
   * Resolves when all commands that threads have sent until now are recorded or refused, also of threads that have
   * ended; with false if the writer ended before.
   */
  settled: () => Promise<boolean>;
  /** True if the thread ended unasked. Then the log may hold events that its readers do not see yet. */
  hasFailed: () => boolean;
  /**
   * Keeps a checkpoint of the log, or that a copy of it has arrived. @throws DomainError `unavailable` if the disk is
   * full.
   */
  keepCheckpoint: (change: CheckpointChange) => Promise<void>;
  /**
   * Clears the data files of erased bytes between writes, and ends the erasures that have no stored file left.
   *
   * @param remaining the stored files that are left of each unfinished erasure.
   * @param onHindered called while a reader is in the way.
   */
  scrub: (remaining: RemainingFiles[], onHindered: () => void) => Promise<ScrubResult>;
  /** How much of the data files {@link Writer.scrub} has cleaned, from 0 to 1; null if it is not running. */
  cleaned: () => number | null;
  /** Of a node: the state of all nodes; null before its first report. */
  standing: () => NodeStanding | null;
  /** Makes the log name a pending segment. */
  keepSegment: (pending: PendingSegment) => Promise<SegmentOutcome>;
  /** Has the writer tell the thread of the search index, from now on, when events were recorded. */
  tellSearch: (port: MessagePort, cell: SearchCell) => void;
  /** Of a node: opens a port for the calls of {@link Following} by one thread. */
  follow: () => MessagePort;
  /** Records the commands that wait, then ends the thread; a thread that is not ready yet is stopped at once. */
  close: () => Promise<void>;
};

type Ready = Extract<WriterMessage, { kind: 'ready' }>;

/** The callbacks for messages of the writer. */
type Listener = {
  progress: Progress;
  onChanges: (lines: readonly string[]) => void;
  /** The head of the log is sealed, and must always be from now on. */
  onSealed: (log: string) => void;
  /** A line for the operator about the upgrade of the log to another format. */
  onUpgrade?: (line: string) => void;
  /** The log has enough events for a segment. */
  onSegmentDue: () => void;
  /** Of a node: a line for the operator about the shared log. */
  onWarning?: (message: string) => void;
  /** Of a node: some node has erased something. */
  onErased?: () => void;
};

/** The state of the writer thread, as the main thread knows it. */
type State = {
  ready: PromiseWithResolvers<Ready>;
  closed: PromiseWithResolvers<void>;
  isReady: boolean;
  /** True if the thread was told to end, or has refused to start. */
  isEnding: boolean;
  cleaned: number | null;
  standing: NodeStanding | null;
  onHindered: () => void;
};

function newState(): State {
  return {
    ready: Promise.withResolvers(),
    closed: Promise.withResolvers(),
    isReady: false,
    isEnding: false,
    cleaned: null,
    standing: null,
    onHindered: () => {},
  };
}

/**
 * Starts the writer thread.
 *
 * @param onDeath called once, when the thread ends unasked: the outcome of its commands is unknown until the next
 * start.
 */
export function startWriter(input: WriterInput, listener: Listener, onDeath: (error: Error) => void): Writer {
  const worker = startThread('writer', input);
  const replies = openReplies();
  const state = newState();
  // It may be rejected before anything waits for it: the start waits for passwords first.
  state.ready.promise.catch(() => {});
  let isDead = false;
  worker.on('message', (message: WriterMessage) => receive(message, { state, replies, listener, die }));
  worker.on('error', (error) => die(errorOf(error)));
  worker.on('exit', () => {
    state.closed.resolve();
    if (!state.isEnding) die(new Error('the writer thread ended'));
  });
  const order = (message: WriterOrder, ports: MessagePort[] = []) => worker.postMessage(message, ports);

  function die(error: Error): void {
    if (isDead) return;
    isDead = true;
    state.ready.reject(error);
    replies.refuse();
    onDeath(error);
  }

  function openPort(orderOf: (port: MessagePort) => WriterOrder): MessagePort {
    const { port1, port2 } = new MessageChannel();
    order(orderOf(port1), [port1]);
    return port2;
  }

  function ask<K extends ReplyKind>(message: WriterOrder, kind: K): Promise<ReplyOf<K>> {
    const reply = replies.next(kind);
    if (!isDead) order(message);
    return reply;
  }

  async function close(): Promise<void> {
    state.isEnding = true;
    if (state.isReady && !isDead) {
      order({ kind: 'close' });
      await state.closed.promise;
    }
    await worker.terminate();
  }

  return {
    ready: state.ready.promise,
    connect: (generation = null) => openPort((port) => ({ kind: 'connect', port, generation })),
    follow: () => openPort((port) => ({ kind: 'following', port })),
    async adopt(generation, declared) {
      const { isRecorded } = await ask({ kind: 'adopt', generation, declared }, 'adopted');
      return isRecorded;
    },
    settled: () =>
      ask({ kind: 'settle' }, 'settled').then(
        () => true,
        () => false,
      ),
    hasFailed: () => isDead,
    tellSearch: (port, cell) => order({ kind: 'search', port, cell }, [port]),
    async keepCheckpoint(change) {
      const { isKept } = await ask({ kind: 'checkpoint', change }, 'kept');
      if (!isKept) throw diskFullAtSigning();
    },
    async scrub(remaining, onHindered) {
      state.onHindered = onHindered;
      const { scrubbed } = await ask({ kind: 'scrub', remaining }, 'scrubbed');
      return scrubbed;
    },
    cleaned: () => state.cleaned,
    standing: () => state.standing,
    keepSegment: (pending) => ask({ kind: 'segment', pending }, 'segment'),
    close,
  };
}

type Receiving = { state: State; replies: Replies; listener: Listener; die: (error: Error) => void };

function receive(message: WriterMessage, { state, replies, listener, die }: Receiving): void {
  switch (message.kind) {
    case 'progress':
      listener.progress(message.done, message.total);
      break;
    case 'changes':
      listener.onChanges(message.lines);
      break;
    case 'sealed':
      listener.onSealed(message.log);
      break;
    case 'upgrade':
      listener.onUpgrade?.(message.line);
      break;
    case 'ready':
      state.isReady = true;
      state.ready.resolve(message);
      break;
    case 'refused':
      // The thread ends by itself now, and that is not a death.
      state.isEnding = true;
      state.ready.reject(message.isLoss ? new LossError(message.message) : new StartError(message.message));
      break;
    case 'settled':
    case 'kept':
    case 'scrubbed':
    case 'segment':
    case 'adopted':
      replies.settle(message);
      break;
    case 'cleaning':
      state.cleaned = message.share;
      if (message.isHindered) state.onHindered();
      break;
    case 'segment-due':
      listener.onSegmentDue();
      break;
    case 'warning':
      listener.onWarning?.(message.message);
      break;
    case 'standing':
      state.standing = message.standing;
      break;
    case 'erased':
      listener.onErased?.();
      break;
    case 'failed':
      die(new Error(message.message));
      break;
    case 'closed':
      state.closed.resolve();
      break;
    default:
      message satisfies never;
  }
}
