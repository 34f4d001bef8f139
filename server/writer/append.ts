import type { MessagePort } from 'node:worker_threads';
import { type Append, type Command, type Outcome, UnknownOutcomeError, UnreadError } from '../../events/facts/log.ts';
import { SegmentUnreachableError } from '../../events/segments/offloaded.ts';
import { clockJumped } from '../../events/store/clock.ts';
import { diskFull } from './disk-full.ts';
import type { WriterAnswer, WriterAnswers, WriterRequests } from './messages.ts';
import { formerRules, logMoved, logUnreachable, mostWaiting, tooMany } from './waiting.ts';

/** One command that waits for the writer: how long its text is, and since when. */
type Waiting = { bytes: number; since: number; resolve: (outcome: Outcome) => void; reject: (error: Error) => void };

/** The writer as another thread calls it. */
export type Writing = {
  /** Refuses a command when too many wait. @throws DomainError `unavailable`: nothing was recorded. */
  append: Append;
  /** The same for commands that no client would send again: it waits, however long the queue is. */
  appendAnyway: Append;
  /** Whether too much waits for one more to be appended, where so many more are to come before that. */
  isCrowded: (ahead?: number) => boolean;
  /** How many commands wait. */
  waiting: () => number;
};

/**
 * So much of a load is measured, in milliseconds; an answer that took as long is of a writer that was held up, and
 * tells nothing.
 */
const measured = { least: 100, most: 1000 };

/**
 * Connects a thread that answers requests with the writer thread: commands go there, outcomes come back when the events
 * are durable and every thread can read them.
 *
 * @param now milliseconds of a monotonic clock.
 */
export function connectWriter(port: MessagePort, now = () => performance.now()): Writing {
  const waiting = new Map<number, Waiting>();
  let queue: WriterRequests = [];
  let bytes = 0;
  let lastId = 0;
  let isClosed = false;
  const rate = openRate();

  port.on('message', (answers: WriterAnswers) => {
    rate.note(answers.length, now());
    for (const { id, answer } of answers) settle(id, answer);
    rate.begin(waiting.size >= mostWaiting.few, now());
  });
  port.on('close', () => {
    isClosed = true;
    for (const { reject } of waiting.values()) {
      reject(new UnknownOutcomeError('the writer thread ended: the next start finds out what it has recorded'));
    }
    waiting.clear();
  });

  function settle(id: number, answer: WriterAnswer): void {
    const request = waiting.get(id);
    if (!request) return;
    waiting.delete(id);
    bytes -= request.bytes;
    if ('failure' in answer) request.reject(errorOf(answer));
    else request.resolve(answer);
  }

  function flush(): void {
    port.postMessage(queue);
    queue = [];
  }

  function appendAnyway(command: Command): Promise<Outcome> {
    if (isClosed) return Promise.reject(logUnreachable());
    lastId += 1;
    const id = lastId;
    const text = JSON.stringify(command);
    bytes += text.length;
    // One message carries all that the requests of one turn of the event loop want to append.
    if (queue.length === 0) setImmediate(flush);
    queue.push({ id, command: text });
    return new Promise((resolve, reject) => waiting.set(id, { bytes: text.length, since: now(), resolve, reject }));
  }

  function isCrowded(ahead = 0): boolean {
    const count = waiting.size + ahead;
    if (count < mostWaiting.few) return false;
    if (waiting.size >= mostWaiting.commands || bytes >= mostWaiting.bytes) return true;
    if (rate.millisecondsFor(count) > mostWaiting.foreseen) return true;
    if (waiting.size < mostWaiting.few) return false;
    const [oldest] = waiting.values();
    return oldest !== undefined && now() - oldest.since > mostWaiting.milliseconds;
  }

  return {
    appendAnyway,
    async append(command) {
      if (isCrowded()) throw tooMany();
      return appendAnyway(command);
    },
    isCrowded,
    waiting: () => waiting.size,
  };
}

/**
 * Measures how many commands are answered while more of them wait than a few: with fewer, it is those who send them
 * that take the time.
 */
function openRate() {
  let answered = 0;
  let elapsed = 0;
  let since: number | null = null;

  return {
    /** So many were answered. */
    note(count: number, at: number): void {
      const took = since === null ? Number.POSITIVE_INFINITY : at - since;
      if (took >= measured.most) return;
      answered += count;
      elapsed += took;
      if (elapsed <= measured.most) return;
      answered *= measured.most / elapsed;
      elapsed = measured.most;
    },
    /** From now on others are waited for. */
    begin(isLoaded: boolean, at: number): void {
      since = isLoaded ? at : null;
    },
    /** How long so many would take; 0 where that is not known. */
    millisecondsFor: (count: number): number => (elapsed < measured.least ? 0 : (count * elapsed) / answered),
  };
}

function errorOf(answer: Extract<WriterAnswer, { failure: string }>): Error {
  if (answer.failure === 'clock') return clockJumped();
  if (answer.failure === 'full') return diskFull();
  if (answer.failure === 'offloaded') return new SegmentUnreachableError(answer.message);
  if (answer.failure === 'former') return formerRules();
  if (answer.failure === 'unreachable') return logUnreachable();
  if (answer.failure === 'moved') return logMoved();
  if (answer.failure === 'unknown')
    return new UnknownOutcomeError('the shared log did not answer in time: it may be recorded yet');
  if (answer.failure === 'unread') {
    return new UnreadError('unavailable', 'the change was recorded, but the disk does not let it be shown yet');
  }
  return new Error(answer.message);
}
