import type { Bytes, Change } from './bytes.ts';
import { below } from './power-cut.ts';

/** A file: its bytes as they are read now, those that a power cut leaves at least, and the changes in between. */
export type File = { now: Bytes; durable: Bytes; pending: Change[] };

export type Entry = File | 'folder';

/**
 * A change of a folder: a name that is made or removed, or both if a file is renamed. After a power cut all of it is on
 * the disk, or nothing.
 */
export type EntryChange = { folder: string; entries: [path: string, entry: Entry | null][] };

/** The calls of a disk. */
export type Call =
  | 'open'
  | 'read'
  | 'write'
  | 'truncate'
  | 'sync'
  | 'make'
  | 'rename'
  | 'remove'
  | 'list'
  | 'syncFolder';

/**
 * How a disk is.
 *
 * @property isJournal names are kept in the order in which they were changed, and to sync a file keeps all of them, as
 * ext4 and XFS do; and files that were made shorter are; else each file and each folder needs a sync of its own, as the
 * standard has it.
 * @property ignoresSync a sync does nothing, and says that it did: the control.
 */
export type Kind = { isJournal: boolean; ignoresSync: boolean };

export const failedSyncs = ['later', 'never', 'there'] as const;

/**
 * The faults of a disk from now on.
 *
 * @property cutAt the power is cut in this call of those that change something, counted from now; null for never.
 * @property chance of an error, in each call of these.
 * @property code that of the error; by default `EIO`, or `ENOSPC` if the call takes room.
 * @property only the one path on which calls fail; by default all.
 * @property failedSync the fate of the bytes that a failed sync was to write: they are on the disk (`there`), are
 * written by a later sync, or never, though they are read from memory until the power is cut. By default any of these.
 */
export type Faults = {
  cutAt: number | null;
  chance: Partial<Record<Call, number>>;
  code?: 'EIO' | 'ENOSPC';
  only?: string;
  failedSync?: (typeof failedSyncs)[number];
};

export const noFaults: Faults = { cutAt: null, chance: {} };

/**
 * All of a disk.
 *
 * @property now names as they are looked up; `durable`: those that a power cut leaves at least, and `names` the changes
 * in between.
 * @property changes the number of calls that have changed something since the faults were set.
 * @property isOff the process, or the power, is gone: each call fails.
 * @property made counters of the calls; `trace` is of all calls in their order.
 */
export type DiskState = {
  random: () => number;
  kind: Kind;
  now: Map<string, Entry>;
  durable: Map<string, Entry>;
  names: EntryChange[];
  faults: Faults;
  changes: number;
  isOff: boolean;
  made: { calls: number; errors: number; cuts: number; trace: number };
};

export function newDisk(random: () => number, kind: Kind): DiskState {
  return {
    random,
    kind,
    now: new Map<string, Entry>([['/', 'folder']]),
    durable: new Map<string, Entry>([['/', 'folder']]),
    names: [],
    faults: noFaults,
    changes: 0,
    isOff: false,
    made: { calls: 0, errors: 0, cuts: 0, trace: 0 },
  };
}

/** An error of a call, by the name that the system has for it. */
export class DiskError extends Error {
  override name = 'DiskError';
  readonly code: string;
  readonly syscall: string;

  constructor(code: string, call: string, path: string) {
    super(`${code}: simulated, ${call} '${path}'`);
    this.code = code;
    this.syscall = call;
  }
}

const harmless: readonly Call[] = ['open', 'read', 'list'];

/**
 * Makes a call: it may fail before it has done anything, and the power may be cut when it is done.
 *
 * @param detail a number that belongs to the call, for the trace.
 */
export function calling(disk: DiskState, [call, path, detail = 0]: [Call, string, number?], act: () => void): void {
  const { made, faults } = disk;
  if (disk.isOff) throw new DiskError('EIO', call, path);
  made.calls += 1;
  for (const part of [call.length, path.length, detail]) made.trace = Math.imul(made.trace ^ part, 0x01000193) >>> 0;
  if (!harmless.includes(call) && faults.cutAt !== null) disk.changes += 1;
  const isCut = disk.changes === faults.cutAt;
  if (!isCut) mayFail(disk, call, path);
  // To sync is not done when the power goes in it.
  if (!isCut || (call !== 'sync' && call !== 'syncFolder')) act();
  if (!isCut) return;
  disk.isOff = true;
  throw new DiskError('EIO', call, path);
}

function mayFail({ random, faults, made }: DiskState, call: Call, path: string): void {
  const chance = faults.only === undefined || faults.only === path ? faults.chance[call] : undefined;
  if (chance === undefined || random() >= chance) return;
  made.errors += 1;
  const takesRoom = ['write', 'make', 'rename', 'sync'].includes(call);
  throw new DiskError(faults.code ?? (takesRoom && random() < 0.5 ? 'ENOSPC' : 'EIO'), call, path);
}

/** The part of a write that a disk has done that says that it failed. */
export function partOf(random: () => number, bytes: Uint8Array): Uint8Array {
  return random() < 0.5 ? bytes.subarray(0, below(random, bytes.length)) : bytes.subarray(0, 0);
}
