import type { MessagePort } from 'node:worker_threads';
import type { Outcome } from '../../events/facts/log.ts';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import type { OffloadedFrame } from '../../events/segments/offloaded.ts';
import type { PendingSegment, SegmentSizes } from '../../events/segments/segment-writer.ts';
import type { Categories } from '../../events/service-events/categories.ts';
import type { BootOptions, BootResult } from '../../projections/start/boot.ts';
import type { Declaration } from '../../projections/tables/epochs.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import type { RemainingFiles, ScrubResult } from '../../projections/tables/scrub.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import type { WriterMeter } from '../platform/meter.ts';
import type { StateCell } from '../platform/state.ts';
import type { CleaningProgress } from './cleaning.ts';
import type { NodeStanding } from './membership.ts';
import type { SearchCell } from './search-cell.ts';

/** The start data of the writer thread: cells that threads share, and the options of a boot that can be sent. */
export type WriterInput = Required<
  Pick<
    BootOptions,
    'directory' | 'schema' | 'rules' | 'logId' | 'signed' | 'seals' | 'isStrict' | 'acceptsLoss' | 'acceptsClock'
  >
> & {
  counter: BigInt64Array<SharedArrayBuffer>;
  clockCell: BigInt64Array<SharedArrayBuffer>;
  /** For {@link markRows}. */
  marks: RowMarks;
  meter: WriterMeter;
  /** Is told when the disk is full, and when a write has succeeded again. */
  state: StateCell;
  /** When a segment is due; null for a writer that writes no segments. */
  segmentSizes: SegmentSizes | null;
  /** The store of the segments that are not in the data directory. */
  blobs: BlobSettings;
  noBackup: boolean;
} & {
  /** The log that several nodes append to; absent if the log belongs to this data directory. */
  shared?: SharedInput;
};

/** The log of several nodes, and this node of it. */
export type SharedInput = {
  /** The address of PostgreSQL as the setting has it, with its password. */
  address: string;
  /** The name that the setting gives to this node. */
  node: string | undefined;
  /** Whether the node applies a new configuration at once. */
  appliesSchema: boolean;
};

/** Commands on their way to the writer, as JSON text: a text is cheaper to send than an object. */
export type WriterRequests = { id: number; command: string }[];

/** The outcomes of commands. */
export type WriterAnswers = { id: number; answer: WriterAnswer }[];

/** An order of the main thread to the writer. */
export type WriterOrder =
  /**
   * To take the commands of a thread. `generation`: the one of the configuration by which the thread admits them; null
   * if no rule admits them. Commands of a later generation wait until it is adopted.
   */
  | { kind: 'connect'; port: MessagePort; generation: number | null }
  /**
   * To take commands by this generation of the configuration from now on. `declared`: its schema and rules, to be
   * recorded first; null if the log has them. Answered by `adopted`.
   */
  | { kind: 'adopt'; generation: number; declared: Declaration | null }
  /** To answer with `settled` when all commands that were sent before are recorded or refused. */
  | { kind: 'settle' }
  /** To say through the port, and in the cell, when events were recorded: the search index follows them. */
  | { kind: 'search'; port: MessagePort; cell: SearchCell }
  /** To keep a checkpoint of the log, or that a copy of it has arrived. Answered by `kept`. */
  | { kind: 'checkpoint'; change: CheckpointChange }
  /** To clear the data files of erased bytes. `remaining`: the stored files of each erasure. Answered by `scrubbed`. */
  | { kind: 'scrub'; remaining: RemainingFiles[] }
  /** To make the log name a pending segment. Answered by `segment`. */
  | { kind: 'segment'; pending: PendingSegment }
  /** To answer the calls of {@link Following} that come through a port; to a node only. */
  | { kind: 'following'; port: MessagePort }
  /** To record the commands that wait, and end. Answered by `closed`. */
  | { kind: 'close' };

/** The outcome of an order to keep a pending segment. */
export type SegmentOutcome = {
  /** True if the log names the segment now; false if an erasure has overtaken it, or if it could not be kept. */
  isKept: boolean;
  /** Why its file could not be put in place; null if there was no error of files. */
  failure: string | null;
};

/** A message of the writer to the main thread. */
export type WriterMessage =
  /** The read tables are being built: `done` of `total` events. */
  | { kind: 'progress'; done: number; total: number }
  /** Lines for the operator: the changes that a new schema makes to documents. */
  | { kind: 'changes'; lines: readonly string[] }
  /** The head of the log is sealed, and must always be from now on. */
  | { kind: 'sealed'; log: string }
  /** A line for the operator about the upgrade of the log to another format. */
  | { kind: 'upgrade'; line: string }
  /** The writer takes commands. `log`: the id of the log; `size`: its number of events. */
  | ({ kind: 'ready'; log: string; size: number; categories: Categories } & Pick<
      BootResult,
      'readFile' | 'found' | 'foundAt' | 'upgradedFrom'
    >)
  /** The writer does not start, and why. `isLoss`: documents would show less, and that is not accepted. */
  | { kind: 'refused'; message: string; isLoss: boolean }
  /** Answers `settle`. */
  | { kind: 'settled' }
  /** Answers `checkpoint`. False: the disk is full. */
  | { kind: 'kept'; isKept: boolean }
  /** How far a `scrub` is. */
  | ({ kind: 'cleaning' } & CleaningProgress)
  /** Answers `scrub`. */
  | { kind: 'scrubbed'; scrubbed: ScrubResult }
  /** The log has enough events for a segment. */
  | { kind: 'segment-due' }
  /** Answers `segment`. */
  | ({ kind: 'segment' } & SegmentOutcome)
  /** Answers `adopt`. False: the schema could not be recorded yet, and the next write tries again. */
  | { kind: 'adopted'; isRecorded: boolean }
  /** A line for the operator about the shared log. */
  | { kind: 'warning'; message: string }
  /** The state of this node and of all others, each second. */
  | { kind: 'standing'; standing: NodeStanding }
  /** Some node has erased something, so the files here are to be cleared too. */
  | { kind: 'erased' }
  /** Why this node cannot go on. */
  | { kind: 'failed'; message: string }
  /** Answers `close`. */
  | { kind: 'closed' };

/** The outcome of a command; or why it has none. */
export type WriterAnswer =
  | Outcome
  | { ok: false; failure: WriteFailure; message: string; missing?: readonly OffloadedFrame[] };

/** Why a command has no outcome. Nothing was recorded, except for `unread` and perhaps for `unknown`. */
export type WriteFailure =
  /** The clock has jumped. */
  | 'clock'
  /** The disk is full. */
  | 'full'
  /** The events are recorded, but the read tables cannot have them: the disk is full, or too many files are open. */
  | 'unread'
  /** It needs `missing` frames of segments that only the bucket has; or they could not be fetched. */
  | 'offloaded'
  /** A rule admitted it that is no longer in force. */
  | 'former'
  /** The log could not be had in time. */
  | 'unreachable'
  /** The shared log did not say in time whether it was recorded. */
  | 'unknown'
  /** The log has moved to PostgreSQL. */
  | 'moved'
  /** An error that no check foresaw. */
  | 'internal';

/** The configuration of a node is in force in the log. */
export type AppliedSchema = {
  /** `applied` by this call; `current`: it was in force before. */
  outcome: 'applied' | 'current';
  /** The position of the last event of the log. */
  position: number;
};

/**
 * The functions of a node's writer that threads call when they answer requests. `current`, `reach` and `durable` throw
 * DomainError `unavailable` after some seconds.
 */
export type Following = {
  /** Waits until this node has all that any node appended before the call. */
  current: () => Promise<void>;
  /** Waits until reads of this node see a position. */
  reach: (position: number) => Promise<void>;
  /** Waits until all that this node has is durable in the shared log; an answer may say so only then. */
  durable: () => Promise<void>;
  /** Applies the configuration of this node. @throws DomainError as {@link openApplying}. */
  apply: (options?: { acceptsLoss: boolean }) => Promise<AppliedSchema>;
};
