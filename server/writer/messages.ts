import type { MessagePort } from 'node:worker_threads';
import type { Outcome } from '../../events/facts/log.ts';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import type { OffloadedFrame } from '../../events/segments/offloaded.ts';
import type { PendingSegment, SegmentSizes } from '../../events/segments/segment-writer.ts';
import type { Categories } from '../../events/service-events/categories.ts';
import type { Booted, BootOptions } from '../../projections/start/boot.ts';
import type { Declared } from '../../projections/tables/epochs.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import type { Remaining, Scrubbed } from '../../projections/tables/scrub.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import type { WriterMeter } from '../platform/meter.ts';
import type { StateCell } from '../platform/state.ts';
import type { Progress } from './cleaning.ts';
import type { NodeStanding } from './membership.ts';
import type { SearchCell } from './search-cell.ts';

/**
 * The start data of the writer thread: the cells of ids and of the clock, and the options of a boot that can be sent.
 */
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
  /** Is told when there is no room for a write, and when there is. */
  state: StateCell;
  /** When a segment is due; null for one that seals nothing. */
  sealing: SegmentSizes | null;
  /** Where segments are that are not here. */
  blobs: BlobSettings;
  noBackup: boolean;
} & {
  /** Where the log is that several nodes append to; absent: the data directory has the log to itself. */
  shared?: SharedInput;
};

/**
 * `address` is that of PostgreSQL, as the setting has it: it holds a password. `node`: the name that was given to this
 * node. `appliesSchema`: a new configuration is applied at once.
 */
export type SharedInput = { address: string; node: string | undefined; appliesSchema: boolean };

/** Commands on their way to the writer: the JSON text is cheaper to send than the object. */
export type WriterRequests = { id: number; command: string }[];

/** The outcomes of commands. */
export type WriterAnswers = { id: number; answer: WriterAnswer }[];

/**
 * Orders of the main thread. `connect`: to take the commands of a thread that works by a generation of the
 * configuration; null for those that no rule admits. Commands of a later generation wait. `adopt`: from now on commands
 * are those of this generation, whose schema and rules are recorded before them; null where the log has them. `settle`:
 * to say when all commands sent before are done. `scrub`: to clear files of erased bytes. `segment`: to make a segment
 * of a
 * pending. */
export type WriterOrder =
  | { kind: 'connect'; port: MessagePort; generation: number | null }
  | { kind: 'adopt'; generation: number; declared: Declared | null }
  | { kind: 'settle' }
  /** To say there, and note in the cell, that the read tables have something new. */
  | { kind: 'search'; port: MessagePort; cell: SearchCell }
  | { kind: 'checkpoint'; change: CheckpointChange }
  | { kind: 'scrub'; remaining: Remaining[] }
  | { kind: 'segment'; pending: PendingSegment }
  /** Of a node: to answer the calls of {@link Following} that come through a port. */
  | { kind: 'following'; port: MessagePort }
  | { kind: 'close' };

/**
 * Whether a pending is a segment now; not where it has been overtaken, or the log had no room. `failure`: why its file
 * could not be.
 */
export type Kept = { isKept: boolean; failure: string | null };

/**
 * Messages to the main thread. `changes`: those that a new schema makes to documents. `refused`: why it did not start.
 */
export type WriterMessage =
  | { kind: 'progress'; done: number; total: number }
  | { kind: 'changes'; lines: readonly string[] }
  | { kind: 'sealed'; log: string }
  /** For the operator, about the upgrade of the log. */
  | { kind: 'upgrade'; line: string }
  /** `log` is its id, `size` its number of events by now. */
  | ({ kind: 'ready'; log: string; size: number; categories: Categories } & Pick<
      Booted,
      'readFile' | 'found' | 'foundAt' | 'upgradedFrom'
    >)
  | { kind: 'refused'; message: string; isLoss: boolean }
  | { kind: 'settled' }
  /** False: there was no room. */
  | { kind: 'kept'; isKept: boolean }
  | ({ kind: 'cleaning' } & Progress)
  | { kind: 'scrubbed'; scrubbed: Scrubbed }
  /** There are enough events for a segment. */
  | { kind: 'segment-due' }
  | ({ kind: 'segment' } & Kept)
  /** False: there was no room yet, and the next write tries again. */
  | { kind: 'adopted'; isRecorded: boolean }
  /** For the operator, about the shared log. */
  | { kind: 'warning'; message: string }
  /** How this node and all others are, each second. */
  | { kind: 'standing'; standing: NodeStanding }
  /** Other nodes have erased something: the files here are to be cleared too. */
  | { kind: 'erased' }
  /** Why this node may not go on. */
  | { kind: 'failed'; message: string }
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

/**
 * The configuration of a node is that of the log now: `applied` by this call, or `current` before it. `position`: that
 * of the last event of the log.
 */
export type AppliedSchema = { outcome: 'applied' | 'current'; position: number };

/**
 * The functions of the writer of a node for the threads that answer requests. The first two throw DomainError
 * `unavailable` after some seconds.
 */
export type Following = {
  /** Waits until this node has all that was appended before the call, by any node. */
  current: () => Promise<void>;
  /** Waits until this node can be read up to a position. */
  reach: (position: number) => Promise<void>;
  /** Waits until all that this node has is durable in the shared log: only then may it say that something was done. */
  durable: () => Promise<void>;
  /** Applies the configuration of this node. @throws DomainError as {@link openApplying}. */
  apply: (options?: { acceptsLoss: boolean }) => Promise<AppliedSchema>;
};
