import { dirname } from 'node:path/posix';
import { applyTo, type Change, copyOf } from './bytes.ts';
import { type DiskState, type Entry, type EntryChange, type File, failedSyncs } from './disk-state.ts';
import { afterCut, keptOf, oneOf } from './power-cut.ts';

/** Brings a file to the disk. */
export function keepFile(disk: DiskState, file: File): void {
  if (disk.kind.ignoresSync) return;
  keep(file, file.pending);
  file.pending = [];
  if (disk.kind.isJournal) commitJournal(disk);
}

/** Brings the names of a folder to the disk. */
export function keepFolder(disk: DiskState, path: string): void {
  if (disk.kind.ignoresSync) return;
  if (disk.kind.isJournal) commitJournal(disk);
  else
    keepNames(
      disk,
      disk.names.filter(({ folder }) => folder === path),
    );
}

/** Decides about the bytes that a failed sync was to write. */
export function failSync({ random, faults }: DiskState, file: File): void {
  const outcome = faults.failedSync ?? oneOf(random, failedSyncs);
  if (outcome === 'later') return;
  if (outcome === 'there') keep(file, file.pending);
  else if (!faults.failedSync) keep(file, keptOf(random, file.pending, false));
  file.pending = [];
}

function keep(file: File, pending: readonly Change[]): void {
  for (const one of pending) applyTo(file.durable, one);
}

function keepNames(disk: DiskState, kept: readonly EntryChange[]): void {
  for (const [path, entry] of kept.flatMap(({ entries }) => entries)) {
    if (entry === null) disk.durable.delete(path);
    else disk.durable.set(path, entry);
  }
  disk.names = disk.names.filter((one) => !kept.includes(one));
}

/**
 * A journal has the names, and the smaller sizes of files: what was written before in the part that is gone is gone
 * too.
 */
function commitJournal(disk: DiskState): void {
  keepNames(disk, disk.names);
  for (const entry of disk.now.values()) {
    if (entry === 'folder') continue;
    const { pending, durable } = entry;
    const last = pending.findLastIndex((one) => 'size' in one);
    if (last === -1) continue;
    const size = Math.min(...pending.map((one) => ('size' in one ? one.size : Number.POSITIVE_INFINITY)));
    if (durable.size > size) applyTo(durable, { size });
    const isBelow = (one: Change) => 'bytes' in one && one.at + one.bytes.length <= size;
    entry.pending = pending.filter((one, index) => index > last || isBelow(one));
  }
}

/** Leaves the synced bytes, and by chance a part of the rest. */
export function cut(disk: DiskState, chance: () => number): void {
  disk.made.cuts += 1;
  keepNames(disk, keptOf(chance, disk.names, disk.kind.isJournal));
  const { durable } = disk;
  const left = new Map<Entry, Entry>();
  for (const entry of durable.values()) {
    if (entry === 'folder') continue;
    const bytes = afterCut(chance, entry.durable, entry.pending);
    left.set(entry, { now: bytes, durable: copyOf(bytes), pending: [] });
  }
  // The folder of an entry may not have been kept.
  const isThere = (path: string): boolean => path === '/' || (durable.has(path) && isThere(dirname(path)));
  const there = [...durable].filter(([path]) => isThere(path));
  disk.now = new Map(there.map(([path, entry]) => [path, left.get(entry) ?? entry]));
  disk.durable = new Map(disk.now);
  disk.names = [];
  disk.isOff = false;
}
