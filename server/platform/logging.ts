import pino, { type Logger, type SerializedError } from 'pino';
import { adviceOn } from './advice.ts';

/** Where log lines go: whole lines, as text. pino flushes it itself after a fatal one. */
export type LogSink = { write: (lines: string) => void; flushSync: () => void };

/** A logger, which takes lines of level 30 that are JSON already too. */
export type Log = Logger & {
  /**
   * Writes a line with these members, such as `"a":1,"b":"c"`, at any level: the caller asks whether `info` is written.
   */
  writeInfo: (members: string) => void;
};

const bufferLength = 8192;
/** For a thread: a message wakes the main one, and costs both more than the lines in it. */
const messageLength = 65_536;
const flushMilliseconds = 100;

/** A logger of JSON lines; of several sites each line says which it is about. */
export function createLog(level: string, sink: { write: (line: string) => void }, site: string | null = null): Log {
  const base = site === null ? null : { site };
  const log = pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: described } }, sink);
  const about = site === null ? '' : `"site":${JSON.stringify(site)},`;
  const now = isoClock();
  const writeInfo = (members: string) => {
    sink.write(`{"level":30,"time":"${now()}",${about}${members}}\n`);
  };
  return Object.assign(log, { writeInfo });
}

/** The time as a line has it, made once in a millisecond. */
function isoClock(): () => string {
  let at = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}

/** An error as a line has it, with what the operator can do about it. */
function described(error: Error): SerializedError {
  const advice = adviceOn(error);
  const told = pino.stdSerializers.err(error);
  return advice === null ? told : { ...told, advice };
}

/** The process's standard error, written to in the background. One thread only may do this, or lines would mix. */
export function standardError(): LogSink {
  const destination = pino.destination({ fd: 2, sync: false, minLength: bufferLength });
  // A flush does nothing while an earlier write is under way, and says neither: one more comes when that is over.
  let isToConfirm = false;
  destination.on('drain', () => {
    if (!isToConfirm) return;
    isToConfirm = false;
    destination.flush();
  });
  const flushSoon = soon(flushMilliseconds, () => {
    isToConfirm = true;
    destination.flush();
  });
  return {
    write(lines) {
      destination.write(lines);
      flushSoon();
    },
    flushSync: () => destination.flushSync(),
  };
}

/** Gathers lines and hands them on a buffer at a time: for a thread that writes through another one. */
export function gatherLines(handOn: (lines: string) => void): LogSink {
  let gathered = '';
  const flushSoon = soon(flushMilliseconds, flushSync);

  function flushSync(): void {
    if (gathered === '') return;
    const lines = gathered;
    gathered = '';
    handOn(lines);
  }

  return {
    write(line) {
      gathered += line;
      if (gathered.length >= messageLength) flushSync();
      else flushSoon();
    },
    flushSync,
  };
}

/** Has something done so many milliseconds after it was asked for first; where nothing is asked for, no timer runs. */
function soon(milliseconds: number, run: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    setTimeout(() => {
      isAsked = false;
      run();
    }, milliseconds).unref();
  };
}
