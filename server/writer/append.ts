import type { MessagePort } from 'node:worker_threads';
import { DomainError } from '../../config/errors.ts';
import { type Append, type Command, type Outcome, UnknownOutcomeError, UnreadError } from '../../events/facts/log.ts';
import { SegmentUnreachableError } from '../../events/segments/offloaded.ts';
import { clockJumped } from '../../events/store/clock.ts';
import { movedAway } from '../../events/store/moved.ts';
import { diskFull } from './disk-full.ts';
import type { WriteFailure, WriterAnswer, WriterAnswers, WriterRequests } from './messages.ts';
import { formerRules, logUnreachable, mostWaiting, tooMany } from './waiting.ts';

/** A command that waits for the writer. `bytes`: length of its text; `since`: when it was sent. */
type WaitingCommand = {
  bytes: number;
  since: number;
  resolve: (outcome: Outcome) => void;
  reject: (error: Error) => void;
};

/** The writer, as another thread calls it. */
export type Writing = {
  /** Sends a command. @throws DomainError `unavailable` if too many wait: nothing was recorded. */
  append: Append;
  /** Sends a command that no client would send again: it waits, however many wait before. */
  appendAnyway: Append;
  /** Whether a command would be refused. @param ahead the number of commands that will come before it. */
  isCrowded: (ahead?: number) => boolean;
  /** How many commands wait. */
  waiting: () => number;
};

/**
 * The milliseconds of a load that the rate is measured over. An answer that takes `most` says nothing about the rate:
 * something has held up the writer.
 */
const measured = { least: 100, most: 1000 };

/**
 * Connects a thread that answers requests with the writer thread. An outcome comes back when the events are durable and
 * every thread can read them.
 *
 * @param now milliseconds of a monotonic clock.
 */
export function connectWriter(port: MessagePort, now = () => performance.now()): Writing {
  const waiting = new Map<number, WaitingCommand>();
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
    if ('failure' in answer) request.reject(errors[answer.failure](answer.message));
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
    // One message carries the commands of all requests of one turn of the event loop.
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

/** Measures how many commands the writer answers under load; without load, the senders take the time. */
function openRate() {
  let answered = 0;
  let elapsed = 0;
  let since: number | null = null;

  return {
    /** Notes that `count` commands were answered. */
    note(count: number, at: number): void {
      const took = since === null ? Number.POSITIVE_INFINITY : at - since;
      if (took >= measured.most) return;
      answered += count;
      elapsed += took;
      if (elapsed <= measured.most) return;
      answered *= measured.most / elapsed;
      elapsed = measured.most;
    },
    /** Begins to measure the time to the next answer. @param isLoaded whether more than a few commands wait. */
    begin(isLoaded: boolean, at: number): void {
      since = isLoaded ? at : null;
    },
    /** The milliseconds that `count` commands will take; 0 if that is not known. */
    millisecondsFor: (count: number): number => (elapsed < measured.least ? 0 : (count * elapsed) / answered),
  };
}

const errors: Record<WriteFailure, (message: string) => Error> = {
  clock: clockJumped,
  full: diskFull,
  unread: () => new UnreadError('not_shown_yet', 'the change was recorded, but the disk does not let it be shown yet'),
  offloaded: (message) => new SegmentUnreachableError(message),
  former: formerRules,
  unreachable: logUnreachable,
  unknown: () => new UnknownOutcomeError('the shared log did not answer in time: it may be recorded yet'),
  moved: () => new DomainError('unavailable', movedAway),
  internal: (message) => new Error(message),
};
