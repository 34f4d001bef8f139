import { dirname } from 'node:path/posix';
import { applyTo, type Change, contentOf, newBytes } from './bytes.ts';
import {
  type Call,
  calling,
  DiskError,
  type DiskState,
  type Entry,
  type EntryChange,
  type Faults,
  type File,
  type Kind,
  newDisk,
  noFaults,
  partOf,
} from './disk-state.ts';
import { cut, failSync, keepFile, keepFolder } from './durable.ts';

export type Disk = ReturnType<typeof openDisk>;

/**
 * Files and folders of one process, by their paths, on a disk that has faults. All of it follows from the random
 * numbers.
 */
export function openDisk(random: () => number, kind: Kind) {
  const disk = newDisk(random, kind);
  return {
    ...callsOf(disk),
    made: disk.made,
    /** Never fails: the system has it in memory. */
    look: (path: string): Entry | null => (disk.isOff ? null : (disk.now.get(path) ?? null)),
    isOff: () => disk.isOff,
    /** Sets the faults from now on. */
    setFaults(faults: Faults): void {
      disk.faults = faults;
      disk.changes = 0;
    },
    /** Runs something without faults. */
    calmly<T>(run: () => T): T {
      const { faults } = disk;
      disk.faults = noFaults;
      try {
        return run();
      } finally {
        disk.faults = faults;
      }
    },
    /** The process is gone: it can call no more. */
    switchOff(): void {
      disk.isOff = true;
    },
    /** The next process finds all that was written, synced or not. */
    switchOn(): void {
      disk.isOff = false;
    },
    /** Cuts the power and brings it back: only synced bytes are left, and by chance a part of the rest. */
    powerCut: (chance = random): void => cut(disk, chance),
    /** All files, as they are read now. */
    files: (): { path: string; bytes: Buffer }[] =>
      [...disk.now].flatMap(([path, entry]) => (entry === 'folder' ? [] : [{ path, bytes: contentOf(entry.now) }])),
  };
}

/** The calls of a disk: all that SQLite and `node:fs` need. Each may fail, and the power may be cut in it. */
function callsOf(disk: DiskState) {
  return {
    /** Opens a file. `make`: whether the file is made; 'new' fails if it exists. */
    open(path: string, make: 'never' | 'new' | 'missing'): File {
      const found = disk.now.get(path);
      if (found === 'folder') throw new DiskError('EISDIR', 'open', path);
      if (found && make === 'new') throw new DiskError('EEXIST', 'open', path);
      if (!found && make === 'never') throw new DiskError('ENOENT', 'open', path);
      const file = found ?? { now: newBytes(), durable: newBytes(), pending: [] };
      if (found) calling(disk, ['open', path], () => {});
      else makeEntry(disk, path, file);
      return file;
    },
    /** @returns how many bytes there were. */
    read(file: File, path: string, into: Uint8Array, at: number): number {
      const found = contentOf(file.now).subarray(at, at + into.length);
      calling(disk, ['read', path, at], () => into.set(found));
      return found.length;
    },
    write(file: File, path: string, bytes: Uint8Array, at: number): void {
      try {
        calling(disk, ['write', path, at + bytes.length], () => put(file, { at, bytes: Buffer.from(bytes) }));
      } catch (error) {
        if (!disk.isOff) put(file, { at, bytes: Buffer.from(partOf(disk.random, bytes)) });
        throw error;
      }
    },
    truncate: (file: File, path: string, size: number): void =>
      calling(disk, ['truncate', path, size], () => put(file, { size })),
    sync(file: File, path: string): void {
      try {
        calling(disk, ['sync', path], () => keepFile(disk, file));
      } catch (error) {
        if (!disk.isOff) failSync(disk, file);
        throw error;
      }
    },
    makeFolder(path: string): void {
      if (disk.now.has(path)) throw new DiskError('EEXIST', 'make', path);
      makeEntry(disk, path, 'folder');
    },
    rename(from: string, to: string): void {
      const entry = entryOf(disk, from, 'rename');
      calling(disk, ['rename', from], () =>
        changeFolder(disk, dirname(to), [
          [from, null],
          [to, entry],
        ]),
      );
    },
    remove(path: string): void {
      entryOf(disk, path, 'remove');
      calling(disk, ['remove', path], () => changeFolder(disk, dirname(path), [[path, null]]));
    },
    list(path: string): string[] {
      entryOf(disk, path, 'list');
      calling(disk, ['list', path], () => {});
      const names = [...disk.now.keys()].filter((name) => name !== '/' && dirname(name) === path);
      return names.map((name) => name.slice(path === '/' ? 1 : path.length + 1));
    },
    syncFolder(path: string): void {
      entryOf(disk, path, 'syncFolder');
      calling(disk, ['syncFolder', path], () => keepFolder(disk, path));
    },
  };
}

function put(file: File, change: Change): void {
  if ('bytes' in change && change.bytes.length === 0) return;
  applyTo(file.now, change);
  file.pending.push(change);
}

function makeEntry(disk: DiskState, path: string, entry: Entry): void {
  const folder = dirname(path);
  if (disk.now.get(folder) !== 'folder') throw new DiskError('ENOENT', 'make', path);
  calling(disk, ['make', path], () => changeFolder(disk, folder, [[path, entry]]));
}

function changeFolder(disk: DiskState, folder: string, entries: EntryChange['entries']): void {
  for (const [path, entry] of entries) {
    if (entry === null) disk.now.delete(path);
    else disk.now.set(path, entry);
  }
  disk.names.push({ folder, entries });
}

function entryOf(disk: DiskState, path: string, call: Call): Entry {
  const entry = disk.now.get(path);
  if (entry === undefined) throw new DiskError('ENOENT', call, path);
  return entry;
}
