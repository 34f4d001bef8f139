import { once } from 'node:events';
import { show } from '../../config/suggest.ts';
import { type LogReader, readLog } from '../../events/log/log-reader.ts';
import { BrokenLogError, openLogToRead } from '../../events/store/log-file.ts';
import { logFile } from '../../projections/tables/files.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { readableLog } from '../data-directory.ts';
import { requireLog } from '../held-directory.ts';
import { printable, refused } from '../terminal.ts';

/**
 * Reads the log of a data directory, also while a service runs. The reader of standard output may close it at any time.
 */
export async function reading(settings: Settings, run: (log: LogReader) => Promise<number>): Promise<number> {
  const { directory, done } = readableLog(settings);
  const unheed = onSignal(done);
  const over = new AbortController();
  let db: Sqlite | null = null;
  try {
    db = openLogToRead(logFile(directory));
    requireLog(db);
    const shown = run(readLog(db));
    // It may find the log closed after the reader of standard output has gone.
    shown.catch(() => {});
    return await Promise.race([shown, readerGone(over.signal)]);
  } catch (error) {
    throw error instanceof BrokenLogError ? new StartError(error.message) : error;
  } finally {
    over.abort();
    db?.close();
    unheed();
    done();
  }
}

/** Has a signal clean up before it ends the process, unless the command has a handler for it. */
function onSignal(cleanUp: () => void): () => void {
  const end = (signal: NodeJS.Signals) => {
    if (process.listenerCount(signal) > 1) return;
    cleanUp();
    process.off(signal, end);
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** Resolves with an exit code when the reader of standard output has closed it, as `head` does. */
async function readerGone(signal: AbortSignal): Promise<number> {
  try {
    const [error] = await once(process.stdout, 'error', { signal });
    if (error.code !== 'EPIPE') throw error;
    return 0;
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  }
}

/** Prints a line, and waits for a slow reader (backpressure). */
export async function print(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
}

/** Prints that the log has no such stream; exit code 1. */
export function missing(stream: string): number {
  return refused(`there is nothing about ${printable(show(stream))} in the log`);
}

/** Reads a flag with a whole number. @throws UsageError for any other value. */
export function readCount(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new UsageError(`${flag} must be a whole number, got ${printable(show(text))}`);
}
