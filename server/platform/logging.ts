import pino, { type Logger, type SerializedError } from 'pino';
import { adviceOn } from './advice.ts';

/** The destination of log lines: whole lines, as text. pino flushes it after a fatal line. */
export type LogSink = { write: (lines: string) => void; flushSync: () => void };

/** A logger that also writes lines of level `info` whose members are JSON already. */
export type Log = Logger & {
  /**
   * Writes a line with these members, such as `"a":1,"b":"c"`, at any level: the caller asks whether `info` is written.
   */
  writeInfo: (members: string) => void;
};

const bufferLength = 8192;
/** For a thread: a message wakes the main thread, which costs both threads more than the lines in it. */
const messageLength = 65_536;
const flushMilliseconds = 100;

/** Creates a logger of JSON lines; with several sites each line names its site. */
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

/** The time of a line, made once in a millisecond. */
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

/** The error of a line, with advice for the operator. */
function described(error: Error): SerializedError {
  const advice = adviceOn(error);
  const told = pino.stdSerializers.err(error);
  return advice === null ? told : { ...told, advice };
}

/** The standard error of the process, written in the background. Only one thread may use it, or lines would mix. */
export function standardError(): LogSink {
  const destination = pino.destination({ fd: 2, sync: false, minLength: bufferLength });
  // While an earlier write is under way a flush does nothing, and does not say so: another one follows when the write
  // is over.
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

/** Gathers lines and passes them on a buffer at a time, for a thread that writes through another one. */
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

/** Runs a function some milliseconds after it was first asked for. If nothing is asked for, no timer runs. */
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
