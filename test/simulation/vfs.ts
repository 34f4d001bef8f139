import { dirname } from 'node:path/posix';
import { applyTo, contentOf, newBytes } from './bytes.ts';
import type { Disk } from './disk.ts';
import { DiskError, type File } from './disk-state.ts';
import { bytesAt, capi, type Pointer, vfs, wasm } from './library.ts';
import { type Locks, openLocks } from './locks.ts';
import { placeOf } from './mounted.ts';

/**
 * A file that SQLite has open. `disk`: null for a temporary one, which is in memory.
 *
 * @property syncsFolder as in the product's SQLite on Unix, the first sync of a journal that it made is one of its
 * folder too.
 */
type Handle = { disk: Disk | null; path: string; file: File; locks: Locks; deletes: boolean; syncsFolder: boolean };

const handles = new Map<Pointer, Handle>();
const locksOf = new Map<string, Locks>();

let nextRandom = (): number => 0;

/** Sets the source of SQLite's random numbers, which its write-ahead log uses too. */
export function seedRandomness(random: () => number): void {
  nextRandom = random;
  // SQLite asks for new random bytes the next time.
  capi.sqlite3_randomness(0, 0);
}

const { SQLITE_OK: ok } = capi;

/** SQLITE_IOCAP_SUBPAGE_READ (sqlite3.h): parts of a page may be read. */
const subpageRead = 0x8000;

const io = new capi.sqlite3_io_methods();
const system = new capi.sqlite3_vfs();

/** Runs a call; an error of the disk becomes the result that SQLite has for it. */
function calling(result: number, run: () => number): number {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return error.code === 'ENOSPC' && result === capi.SQLITE_IOERR_WRITE ? capi.SQLITE_FULL : result;
  }
}

/** The result of a call that gives none. */
function done(_: unknown): number {
  return ok;
}

function handleOf(pointer: Pointer): Handle {
  const handle = handles.get(pointer);
  if (!handle) throw new Error('SQLite uses a file that is not open');
  return handle;
}

function open(name: Pointer, pointer: Pointer, flags: number, outFlags: Pointer): number {
  const given = name === 0 ? null : wasm.cstrToJs(name);
  const place = given === null ? null : placeOf(given);
  if (given !== null && place === null) return capi.SQLITE_CANTOPEN;
  const isJournal = (flags & (capi.SQLITE_OPEN_WAL | capi.SQLITE_OPEN_MAIN_JOURNAL)) !== 0;
  const makes = (flags & capi.SQLITE_OPEN_CREATE) !== 0;
  const syncsFolder = place !== null && isJournal && makes && place.disk.look(place.path) === null;
  const file = place?.disk.open(place.path, makes ? 'missing' : 'never') ?? {
    now: newBytes(),
    durable: newBytes(),
    pending: [],
  };
  const locks = (given !== null && locksOf.get(given)) || openLocks();
  if (given !== null) locksOf.set(given, locks);
  locks.join(pointer);
  const deletes = (flags & capi.SQLITE_OPEN_DELETEONCLOSE) !== 0;
  handles.set(pointer, { disk: place?.disk ?? null, path: place?.path ?? '', file, locks, deletes, syncsFolder });
  wasm.poke(pointer, io.pointer as Pointer, '*');
  if (outFlags !== 0) wasm.poke(outFlags, flags, 'i32');
  return ok;
}

function close(pointer: Pointer): number {
  const handle = handleOf(pointer);
  handles.delete(pointer);
  if (!handle.locks.leave(pointer))
    for (const [path, locks] of locksOf) if (locks === handle.locks) locksOf.delete(path);
  if (handle.deletes) calling(ok, () => done(handle.disk?.remove(handle.path)));
  return ok;
}

function read(pointer: Pointer, into: Pointer, count: number, at: number): number {
  const { disk, file, path } = handleOf(pointer);
  const bytes = bytesAt(into, count);
  let found = 0;
  if (disk) found = disk.read(file, path, bytes, at);
  else {
    const content = contentOf(file.now).subarray(at, at + count);
    bytes.set(content);
    found = content.length;
  }
  if (found === count) return ok;
  bytes.fill(0, found);
  return capi.SQLITE_IOERR_SHORT_READ;
}

function write(pointer: Pointer, from: Pointer, count: number, at: number): number {
  const { disk, file, path } = handleOf(pointer);
  const bytes = bytesAt(from, count);
  if (disk) disk.write(file, path, bytes, at);
  else applyTo(file.now, { at, bytes: Buffer.from(bytes) });
  return ok;
}

function truncate(pointer: Pointer, size: number): number {
  const { disk, file, path } = handleOf(pointer);
  if (disk) disk.truncate(file, path, size);
  else applyTo(file.now, { size });
  return ok;
}

function sync(pointer: Pointer): number {
  const handle = handleOf(pointer);
  const { disk, file, path } = handle;
  disk?.sync(file, path);
  if (!handle.syncsFolder) return ok;
  handle.syncsFolder = false;
  // SQLite goes on if this sync fails, as on Unix.
  return calling(ok, () => done(disk?.syncFolder(dirname(path))));
}

function remove(name: Pointer, syncsFolder: number): number {
  const place = placeOf(wasm.cstrToJs(name) ?? '');
  if (!place) return capi.SQLITE_IOERR_DELETE;
  const { disk, path } = place;
  if (!disk.isOff() && disk.look(path) === null) return capi.SQLITE_IOERR_DELETE_NOENT;
  disk.remove(path);
  return syncsFolder === 0 ? ok : calling(capi.SQLITE_IOERR_DIR_FSYNC, () => done(disk.syncFolder(dirname(path))));
}

/** For SQLite on Unix, an empty file does not exist. */
function access(name: Pointer, flags: number, result: Pointer): number {
  const place = placeOf(wasm.cstrToJs(name) ?? '');
  const entry = place?.disk.look(place.path) ?? null;
  const isThere = entry !== null && (entry === 'folder' || entry.now.size > 0 || flags !== capi.SQLITE_ACCESS_EXISTS);
  wasm.poke(result, isThere ? 1 : 0, 'i32');
  return ok;
}

const methods = {
  xClose: close,
  xRead: (file: Pointer, into: Pointer, count: number, at: bigint) =>
    calling(capi.SQLITE_IOERR_READ, () => read(file, into, count, Number(at))),
  xWrite: (file: Pointer, from: Pointer, count: number, at: bigint) =>
    calling(capi.SQLITE_IOERR_WRITE, () => write(file, from, count, Number(at))),
  xTruncate: (file: Pointer, size: bigint) => calling(capi.SQLITE_IOERR_TRUNCATE, () => truncate(file, Number(size))),
  xSync: (file: Pointer) => calling(capi.SQLITE_IOERR_FSYNC, () => sync(file)),
  xFileSize(file: Pointer, size: Pointer) {
    wasm.poke(size, BigInt(handleOf(file).file.now.size) as unknown as number, 'i64');
    return ok;
  },
  xLock: (file: Pointer, level: number) => handleOf(file).locks.lock(file, level),
  xUnlock: (file: Pointer, level: number) => handleOf(file).locks.unlock(file, level),
  xCheckReservedLock(file: Pointer, result: Pointer) {
    wasm.poke(result, handleOf(file).locks.isReserved() ? 1 : 0, 'i32');
    return ok;
  },
  xFileControl: () => capi.SQLITE_NOTFOUND,
  xSectorSize: () => 4096,
  // The characteristics of a file on Linux: a write that is cut off leaves the bytes beside it as they were.
  xDeviceCharacteristics: () => capi.SQLITE_IOCAP_POWERSAFE_OVERWRITE | subpageRead,
  xShmMap(file: Pointer, region: number, size: number, extend: number, result: Pointer) {
    wasm.poke(result, handleOf(file).locks.map(file, { region, size, extend: extend !== 0 }), '*');
    return ok;
  },
  xShmLock: (file: Pointer, first: number, count: number, flags: number) =>
    handleOf(file).locks.lockPart(file, first, count, flags),
  xShmBarrier: () => {},
  xShmUnmap: (file: Pointer) => handleOf(file).locks.unmap(file),
};

const systemMethods = {
  xOpen: (_: Pointer, name: Pointer, file: Pointer, flags: number, outFlags: Pointer) =>
    calling(capi.SQLITE_CANTOPEN, () => open(name, file, flags, outFlags)),
  xDelete: (_: Pointer, name: Pointer, syncsFolder: number) =>
    calling(capi.SQLITE_IOERR_DELETE, () => remove(name, syncsFolder)),
  xAccess: (_: Pointer, name: Pointer, flags: number, result: Pointer) => access(name, flags, result),
  xFullPathname: (_: Pointer, name: Pointer, count: number, into: Pointer) =>
    wasm.cstrncpy(into, name, count) < count ? ok : capi.SQLITE_CANTOPEN,
  xRandomness(_: Pointer, count: number, into: Pointer) {
    const bytes = bytesAt(into, count);
    for (let at = 0; at < count; at += 1) bytes[at] = Math.floor(256 * nextRandom());
    return count;
  },
  xSleep: (_: Pointer, microseconds: number) => microseconds,
  xCurrentTime(_: Pointer, into: Pointer) {
    wasm.poke(into, 2_461_000.5, 'double');
    return ok;
  },
  xCurrentTimeInt64(_: Pointer, into: Pointer) {
    wasm.poke(into, BigInt(2_461_000 * 86_400_000) as unknown as number, 'i64');
    return ok;
  },
  xGetLastError: () => 0,
};

Object.assign(io, { $iVersion: 2 });
// A file begins with the pointer to its methods, and has nothing else.
Object.assign(system, { $iVersion: 2, $szOsFile: 8, $mxPathname: 512 });

type Installed = Parameters<typeof vfs.installVfs>[0];

/** Makes SQLite call the simulated disk for every file; done once for a thread. */
vfs.installVfs({
  io: { struct: io, methods: methods as unknown as NonNullable<Installed['io']>['methods'] },
  vfs: {
    struct: system,
    methods: systemMethods as unknown as NonNullable<Installed['vfs']>['methods'],
    name: 'simulated',
    asDefault: true,
  },
});
