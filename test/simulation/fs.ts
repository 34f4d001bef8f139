import * as real from 'node:fs';
import { contentOf } from './bytes.ts';
import type { Disk } from './disk.ts';
import { DiskError, type File } from './disk-state.ts';
import { placeOf } from './mounted.ts';

/** Takes the place of `node:fs` in the product: its synchronous calls go to the simulated disk if the path is on it. */
export * from 'node:fs';

type Descriptor = { disk: Disk; path: string; entry: File | 'folder'; at: number };

const descriptors = new Map<number, Descriptor>();
/** Above those that the system gives. */
let last = 1_000_000;

/** Closes what a process leaves open when it ends. */
export function closeFiles(): void {
  descriptors.clear();
}

type Options = { throwIfNoEntry?: boolean };

function there(disk: Disk, path: string, call: string): File | 'folder' {
  const entry = disk.look(path);
  if (entry === null) throw new DiskError(disk.isOff() ? 'EIO' : 'ENOENT', call, path);
  return entry;
}

export function openSync(path: string, flags = 'r', mode?: number): number {
  const place = placeOf(path);
  if (!place) return real.openSync(path, flags, mode);
  const { disk } = place;
  const makes = { r: 'never', 'r+': 'never', w: 'missing', wx: 'new' }[flags] as 'never' | 'missing' | 'new';
  const isFolder = disk.look(place.path) === 'folder';
  const entry = isFolder ? 'folder' : disk.open(place.path, makes);
  if (entry !== 'folder' && flags === 'w') disk.truncate(entry, place.path, 0);
  last += 1;
  descriptors.set(last, { ...place, entry, at: 0 });
  return last;
}

function fileOf(descriptor: number): Descriptor & { entry: File } {
  const found = descriptors.get(descriptor);
  if (!found || found.entry === 'folder') throw new DiskError('EBADF', 'fs', String(descriptor));
  return found as Descriptor & { entry: File };
}

export function closeSync(descriptor: number): void {
  if (!descriptors.delete(descriptor)) real.closeSync(descriptor);
}

export function readSync(descriptor: number, into: Uint8Array, offset: number, length: number, at: number): number {
  const { disk, entry, path } = fileOf(descriptor);
  return disk.read(entry, path, into.subarray(offset, offset + length), at);
}

/** Writes at a position, or at the end of the write before. */
export function writeSync(
  descriptor: number,
  bytes: Uint8Array,
  offset = 0,
  length = bytes.length - offset,
  at?: number | null,
): number {
  const found = fileOf(descriptor);
  found.disk.write(found.entry, found.path, bytes.subarray(offset, offset + length), at ?? found.at);
  const stored = descriptors.get(descriptor);
  if (stored && (at === undefined || at === null)) stored.at += length;
  return length;
}

export function fsyncSync(descriptor: number): void {
  const found = descriptors.get(descriptor);
  if (!found) throw new DiskError('EBADF', 'fsync', String(descriptor));
  const { disk, entry, path } = found;
  if (entry === 'folder') disk.syncFolder(path);
  else disk.sync(entry, path);
}

export const fdatasyncSync = fsyncSync;

export function readFileSync(path: string, encoding?: BufferEncoding): Buffer | string {
  const place = placeOf(path);
  if (!place) return real.readFileSync(path, encoding);
  const { disk } = place;
  const file = disk.open(place.path, 'never');
  const bytes = Buffer.alloc(file.now.size);
  disk.read(file, place.path, bytes, 0);
  return encoding ? bytes.toString(encoding) : bytes;
}

export function writeFileSync(path: string, content: string | Uint8Array): void {
  const descriptor = openSync(path, 'w');
  try {
    writeSync(descriptor, Buffer.from(content));
  } finally {
    closeSync(descriptor);
  }
}

export function renameSync(from: string, to: string): void {
  const [a, b] = [placeOf(from), placeOf(to)];
  if (!a || !b) throw new DiskError('EXDEV', 'rename', from);
  a.disk.rename(a.path, b.path);
}

export function rmSync(path: string, options: { force?: boolean; recursive?: boolean } = {}): void {
  const place = placeOf(path);
  if (!place) throw new DiskError('EXDEV', 'rm', path);
  const { disk } = place;
  if (options.force && !disk.isOff() && disk.look(place.path) === null) return;
  if (disk.look(place.path) === 'folder') for (const name of disk.list(place.path)) rmSync(`${path}/${name}`, options);
  disk.remove(place.path);
}

export function mkdirSync(path: string): void {
  const place = placeOf(path);
  if (!place) throw new DiskError('EXDEV', 'mkdir', path);
  place.disk.makeFolder(place.path);
}

export function readdirSync(path: string): string[] {
  const place = placeOf(path);
  if (!place) throw new DiskError('EXDEV', 'readdir', path);
  return place.disk.list(place.path);
}

export function existsSync(path: string): boolean {
  const place = placeOf(path);
  return place ? place.disk.look(place.path) !== null : real.existsSync(path);
}

function told(entry: File | 'folder') {
  return {
    size: entry === 'folder' ? 0 : contentOf(entry.now).length,
    mode: 0o600,
    isFile: () => entry !== 'folder',
    isDirectory: () => entry === 'folder',
  };
}

export function statSync(path: string, { throwIfNoEntry = true }: Options = {}) {
  const place = placeOf(path);
  if (!place) return real.statSync(path, { throwIfNoEntry });
  if (!throwIfNoEntry && !place.disk.isOff() && place.disk.look(place.path) === null) return undefined;
  return told(there(place.disk, place.path, 'stat'));
}

export function fstatSync(descriptor: number) {
  return told(fileOf(descriptor).entry);
}

export function chmodSync(): void {}
