import type { MessagePort } from 'node:worker_threads';
import { DomainError } from '../../config/errors.ts';
import { clockJumped } from '../../events/clock.ts';
import type { Append, Outcome } from '../../events/log.ts';
import type { WriterAnswer, WriterAnswers, WriterRequests } from './writer-thread.ts';

type Waiting = { resolve: (outcome: Outcome) => void; reject: (error: Error) => void };

/**
 * The append port of a thread that answers requests: commands go to the writer thread, outcomes come back when they are
 * durable and every thread can read them.
 */
export function connectWriter(port: MessagePort): Append {
  const waiting = new Map<number, Waiting>();
  let queue: WriterRequests = [];
  let lastId = 0;
  let isClosed = false;

  port.on('message', (answers: WriterAnswers) => {
    for (const { id, answer } of answers) settle(id, answer);
  });
  port.on('close', () => {
    isClosed = true;
    for (const { reject } of waiting.values()) reject(endedError());
    waiting.clear();
  });

  function settle(id: number, answer: WriterAnswer): void {
    const request = waiting.get(id);
    waiting.delete(id);
    if (!request) return;
    if ('failure' in answer) request.reject(errorOf(answer));
    else request.resolve(answer);
  }

  function flush(): void {
    port.postMessage(queue);
    queue = [];
  }

  return (command) => {
    if (isClosed) return Promise.reject(endedError());
    lastId += 1;
    const id = lastId;
    // One message carries all that the requests of one turn of the event loop want to append.
    if (queue.length === 0) setImmediate(flush);
    queue.push({ id, command: JSON.stringify(command) });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
}

function endedError(): Error {
  return new Error('the writer thread ended');
}

/** The refusal of what would have to be written to a disk that is full. */
export function noRoom(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk: nothing was written, try again later');
}

function errorOf(answer: Extract<WriterAnswer, { failure: string }>): Error {
  if (answer.failure === 'clock') return clockJumped();
  if (answer.failure === 'full') return noRoom();
  if (answer.failure === 'unread') {
    return new DomainError('unavailable', 'the change was recorded, but there is no room on the disk to show it yet');
  }
  return new Error(answer.message);
}
