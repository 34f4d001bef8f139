import { type Sqlite, withDatabase } from './sqlite.ts';

/** The types of better-sqlite3 lack the second parameter, the name of the function. */
type Extensible = Sqlite & { loadExtension: (library: string, name: string) => unknown };

let isNoted = false;
let isMissing = process.platform !== 'linux';

/**
 * Notes that this thread has freed much memory of SQLite, which should go back to the system when the thread is idle.
 */
export function noteFreed(): void {
  isNoted = true;
}

/** Whether freed memory was noted since the last {@link giveBackFreed}. */
export function isFreedNoted(): boolean {
  return isNoted;
}

/**
 * Returns the freed memory of native code in all threads, such as pages of SQLite, to the system. Left alone, glibc
 * keeps freed memory that lies below memory in use. A call takes 1 ms of CPU, or 40 ms for 340 MB, during which other
 * threads may wait for memory. Without glibc it does nothing.
 *
 * Node does not offer the function, malloc_trim(3), but SQLite calls a named function of a library when it loads an
 * extension. malloc_trim reads the first argument, an address, as the number of bytes to leave at the end of the main
 * heap. The number is so large that the end stays, which glibc trims automatically anyway. The result is 1 if memory
 * was returned; SQLite reports that as a failure of the extension.
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
