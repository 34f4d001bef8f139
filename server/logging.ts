import pino, { type Logger } from 'pino';

/** Where log lines go: whole lines, as text. pino flushes it itself after a fatal one. */
export type LogSink = { write: (lines: string) => void; flushSync: () => void };

const bufferLength = 8192;
const flushMilliseconds = 100;

/** A logger of JSON lines; of several sites each line says which it is about. */
export function createLog(level: string, sink: { write: (line: string) => void }, site: string | null = null): Logger {
  return pino({ level, base: site === null ? null : { site }, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}

/** The process's standard error, written to in the background. One thread only may do this, or lines would mix. */
export function standardError(): LogSink {
  const destination = pino.destination({
    fd: 2,
    sync: false,
    minLength: bufferLength,
    periodicFlush: flushMilliseconds,
  });
  return { write: (lines) => void destination.write(lines), flushSync: () => destination.flushSync() };
}

/** Gathers lines and hands them on a buffer at a time: for a thread that writes through another one. */
export function gatherLines(handOn: (lines: string) => void): LogSink {
  let gathered = '';
  setInterval(flushSync, flushMilliseconds).unref();

  function flushSync(): void {
    if (gathered === '') return;
    const lines = gathered;
    gathered = '';
    handOn(lines);
  }

  return {
    write(line) {
      gathered += line;
      if (gathered.length >= bufferLength) flushSync();
    },
    flushSync,
  };
}
