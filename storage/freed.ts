import { type Sqlite, withDatabase } from './sqlite.ts';

/** The types of better-sqlite3 lack the name of the function. */
type Extensible = Sqlite & { loadExtension: (library: string, name: string) => unknown };

let isNoted = false;
let isMissing = process.platform !== 'linux';

/** Notes that this thread has freed much memory of SQLite, and should give it back when it is at rest. */
export function noteFreed(): void {
  isNoted = true;
}

/** Whether it was noted since memory was given back last. */
export function isFreedNoted(): boolean {
  return isNoted;
}

/**
 * Gives the freed memory of native code in all threads, such as pages of SQLite, back to the system: by itself glibc
 * keeps freed memory that lies below memory in use. It takes a millisecond of CPU, and 40 for 340 MB, in which other
 * threads may wait for memory. Without glibc it does nothing.
 *
 * Node does not offer the function, malloc_trim(3), but SQLite calls a function of a library by its name when it loads
 * an extension. The first argument, an address, is read as the number of bytes to leave at the end of the main heap: so
 * large a number that the end, which glibc trims by itself, is left alone. The result is 1 if memory went back, which
 * SQLite takes for a failure of the extension.
 */
export function giveBackFreed(): void {
  isNoted = false;
  if (isMissing) return;
  withDatabase(':memory:', {}, (db: Extensible) => {
    try {
      db.loadExtension('libc.so.6', 'malloc_trim');
    } catch (error) {
      isMissing = !(error as Error).message.startsWith('error during initialization');
    }
  });
}
