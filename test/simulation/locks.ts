import { capi, type Pointer, raw, wasm } from './library.ts';

/** The levels of the lock of a file (https://sqlite.org/lockingv3.html). */
const { SQLITE_LOCK_SHARED: shared, SQLITE_LOCK_RESERVED: reserved, SQLITE_LOCK_EXCLUSIVE: exclusive } = capi;
const pending = 3;

/** The flags of a lock in shared memory (sqlite3.h). */
const flag = { unlock: 1, shared: 4 };

/** The shared memory of a file, as one connection uses it: the locks that it has there. */
type Part = { shared: number; exclusive: number };

/**
 * The locks and the shared memory of a file, for the connections of one process. All are named by the place of their
 * `sqlite3_file`.
 */
export function openLocks() {
  const levels = new Map<Pointer, number>();
  const parts = new Map<Pointer, Part>();
  let regions: Pointer[] = [];

  const others = (of: Pointer) => [...levels].filter(([file]) => file !== of).map(([, level]) => level);

  function lock(file: Pointer, level: number): number {
    const own = levels.get(file) ?? 0;
    if (own >= level) return capi.SQLITE_OK;
    const highest = Math.max(0, ...others(file));
    if (level === shared && highest >= pending) return capi.SQLITE_BUSY;
    if (level === reserved && highest >= reserved) return capi.SQLITE_BUSY;
    if (level === exclusive && highest >= reserved) return capi.SQLITE_BUSY;
    if (level === exclusive && highest >= shared) {
      levels.set(file, pending);
      return capi.SQLITE_BUSY;
    }
    levels.set(file, level);
    return capi.SQLITE_OK;
  }

  function unlock(file: Pointer, level: number): number {
    levels.set(file, Math.min(level, levels.get(file) ?? 0));
    return capi.SQLITE_OK;
  }

  /** Gives a region of the shared memory: zeros, when a connection makes it first. */
  function map(file: Pointer, { region, size, extend }: { region: number; size: number; extend: boolean }): Pointer {
    if (!parts.has(file)) parts.set(file, { shared: 0, exclusive: 0 });
    while (regions.length <= region) {
      if (!extend) return 0;
      const made = raw.sqlite3_malloc?.(size) as Pointer;
      wasm.heap8u().fill(0, made, made + size);
      regions.push(made);
    }
    return regions[region] as Pointer;
  }

  function lockPart(file: Pointer, first: number, count: number, flags: number): number {
    const own = parts.get(file);
    if (!own) return capi.SQLITE_IOERR_SHMLOCK;
    const mask = (2 ** count - 1) << first;
    if (flags & flag.unlock) {
      own.shared &= ~mask;
      own.exclusive &= ~mask;
      return capi.SQLITE_OK;
    }
    const those = [...parts].filter(([other]) => other !== file).map(([, part]) => part);
    const isShared = (flags & flag.shared) !== 0;
    const taken = those.reduce((all, part) => all | part.exclusive | (isShared ? 0 : part.shared), 0);
    if (taken & mask) return capi.SQLITE_BUSY;
    if (isShared) own.shared |= mask;
    else own.exclusive |= mask;
    return capi.SQLITE_OK;
  }

  /**
   * The last one to leave takes the memory with it: the first one that comes finds out anew what is in the write-ahead
   * log.
   */
  function unmap(file: Pointer): number {
    parts.delete(file);
    if (parts.size > 0) return capi.SQLITE_OK;
    for (const region of regions) raw.sqlite3_free?.(region);
    regions = [];
    return capi.SQLITE_OK;
  }

  return {
    lock,
    unlock,
    isReserved: (): boolean => Math.max(0, ...levels.values()) >= reserved,
    map,
    lockPart,
    unmap,
    /** @returns whether another connection has the file. */
    leave(file: Pointer): boolean {
      if (parts.has(file)) unmap(file);
      levels.delete(file);
      return levels.size > 0;
    },
    join: (file: Pointer): void => void levels.set(file, 0),
  };
}

export type Locks = ReturnType<typeof openLocks>;
