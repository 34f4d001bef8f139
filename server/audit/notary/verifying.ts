import type { Worker } from 'node:worker_threads';
import { mostCounted } from '../../../events/verify/missing.ts';
import { errorOf } from '../../../storage/errors.ts';
import { startThread } from '../../platform/threads.ts';
import type { Alteration, Verification } from '../../ports.ts';
import type { AlteredNote } from './altered-note.ts';
import type { LogServices } from './keys.ts';
import type { JobResult, VerifierJob, VerifierMessage, VerifierOrder } from './verifier-thread.ts';

/** Goes through the log again and again beside the service. */
export type Verifying = {
  /** The result so far. */
  verification: () => Verification;
  /** Resolves when it has no file open any more. */
  close: () => Promise<void>;
};

type Options = LogServices & {
  logId: string;
  /** The key that the head of the log is sealed with. */
  sealKey: string;
  /** How much of one core it may take: 0 for nothing, and at 100 it never rests. */
  percent: number;
  /** Events in the log at the start, which has counted them in a log that is not too large. */
  size: number;
  note: AlteredNote;
  milliseconds?: { first: number; between: number };
};

const usual = { first: 10_000, between: 60_000 };
const never = { first: 0, between: 0 };
/** The thread ends after this time without a log to go through: it takes 15 MB, and starts in a tenth of a second. */
const restMilliseconds = 1000;

const advice = 'no checkpoint is signed until "annals verify" finds it sound';
const tablesAdvice = 'stop the service, run "annals rebuild", then "annals verify"';

/**
 * Starts to go through the log. A finding is logged once, and again when it is another or was gone in between. That it
 * was found is told, after a restart too, until `annals verify` finds all sound: restoring the old bytes is a second
 * alteration.
 */
export function openVerifying(options: Options): Verifying {
  const { file, logId, keys, sealKey, percent, size, note, log, now, milliseconds } = options;
  const { first, between } = milliseconds ?? (percent === 100 ? never : usual);
  const verifier = joinVerifier();
  let verified: Verification['verified'] = null;
  /** The last finding. */
  let finding: string | null = null;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const known = note.read();
  if (known) log.fatal(`the log is known to be altered, by what was found at ${known.at}: ${wordsOf(known)}`);
  if (percent > 0) schedule(size > mostCounted ? 0 : first);

  function schedule(pause: number): void {
    if (!isClosed) timer = setTimeout(pass, pause).unref();
  }

  async function pass(): Promise<void> {
    try {
      const { signed } = await keys.current(logId);
      const known = { keys: await keys.known(logId), disowned: await keys.disowned(logId), signed, sealKey };
      const looked = await verifier.look({ file, known, percent });
      if (looked) conclude(looked);
    } catch (err) {
      if (!isClosed) log.error({ err }, 'the log could not be gone through; it is tried again');
    }
    schedule(between);
  }

  function conclude({ to, trouble, tables }: JobResult): void {
    const at = new Date(now()).toISOString();
    const altered = alteredBy(trouble, tables, at);
    const isNew = altered !== null && altered.finding !== finding;
    finding = altered?.finding ?? null;
    if (!altered) verified = { to, at };
    // A log that is known to be altered is not sound since its tables are what is found now.
    else if (altered.part === 'log' || note.read()?.part !== 'log') note.write(altered);
    if (!isNew) return;
    const { from, to: last } = altered;
    const what = altered.part === 'log' ? 'the log is not what was recorded' : 'what follows from the log was altered';
    log.fatal({ from, to: last }, `${what}: ${wordsOf(altered)}`);
  }

  return {
    verification: () => ({ verified, altered: note.read() }),
    close() {
      isClosed = true;
      clearTimeout(timer);
      return verifier.leave();
    },
  };
}

function alteredBy(trouble: JobResult['trouble'], tables: JobResult['tables'], at: string): Alteration | null {
  if (trouble) return { ...trouble, at, part: 'log' };
  return tables === null ? null : { finding: tables, from: null, to: null, at, part: 'tables' };
}

function wordsOf({ finding, part }: Alteration): string {
  return `${finding}; ${part === 'log' ? advice : tablesAdvice}`;
}

/** The thread that goes through logs, seen from the main thread. One for all logs of a process. */
type Verifier = {
  /** Goes through a log; null when it was stopped before its end. Rejects when that could not be done. */
  look: (job: VerifierJob) => Promise<JobResult | null>;
  /** Stops what this one has asked for; resolves when no file of it is open any more. */
  leave: () => Promise<void>;
};

type WaitingJob = PromiseWithResolvers<JobResult | null>;

type Thread = { worker: Worker; waiting: Map<number, WaitingJob>; rest?: NodeJS.Timeout };

let thread: Thread | null = null;
let users = 0;
let newest = 0;

/**
 * Joins the verifier thread, which starts when a log is to be checked, and ends at rest and when the last member
 * leaves.
 */
export function joinVerifier(): Verifier {
  const own = new Map<number, Promise<unknown>>();
  let hasLeft = false;
  users += 1;

  function look(job: VerifierJob): Promise<JobResult | null> {
    if (hasLeft) return Promise.resolve(null);
    newest += 1;
    const id = newest;
    const { worker, waiting } = start();
    const answer = Promise.withResolvers<JobResult | null>();
    waiting.set(id, answer);
    own.set(id, answer.promise);
    worker.postMessage({ kind: 'look', id, job } satisfies VerifierOrder);
    return answer.promise.finally(() => own.delete(id));
  }

  async function leave(): Promise<void> {
    if (hasLeft) return;
    hasLeft = true;
    for (const id of own.keys()) thread?.worker.postMessage({ kind: 'stop', id } satisfies VerifierOrder);
    await Promise.allSettled(own.values());
    users -= 1;
    if (users > 0 || !thread) return;
    const { worker } = thread;
    thread = null;
    await worker.terminate();
  }

  return { look, leave };
}

function start(): Thread {
  if (thread) return thread;
  const worker = startThread('verifier');
  const started: Thread = { worker, waiting: new Map() };
  thread = started;
  // It keeps no process from ending.
  worker.unref();
  worker.on('message', (message: VerifierMessage) => {
    const waiting = started.waiting.get(message.id);
    started.waiting.delete(message.id);
    if ('failure' in message) waiting?.reject(new Error(message.failure));
    else waiting?.resolve('looked' in message ? message.looked : null);
    clearTimeout(started.rest);
    started.rest = setTimeout(endAtRest, restMilliseconds).unref();
  });
  worker.on('error', (error) => end(errorOf(error)));
  worker.on('exit', () => end(new Error('the thread that goes through the log ended')));

  function endAtRest(): void {
    if (started.waiting.size > 0 || thread !== started) return;
    thread = null;
    worker.terminate();
  }

  function end(error: Error): void {
    clearTimeout(started.rest);
    if (thread === started) thread = null;
    for (const { reject } of started.waiting.values()) reject(error);
    started.waiting.clear();
  }

  return started;
}
