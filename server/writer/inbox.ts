import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { WriterAnswer, WriterAnswers, WriterMessage, WriterOrder, WriterRequests } from './messages.ts';

/** A thread whose commands a writer takes. */
export type Sender = {
  port: MessagePort;
  /** The generation of the configuration by which the thread admits its commands; null if no rule admits them. */
  generation: number | null;
};

/** A command that waits, as JSON text. */
export type QueuedCommand = { from: Sender; id: number; command: string };

/** The orders that an inbox leaves to its writer. */
export type WorkOrder = Exclude<WriterOrder, { kind: 'connect' | 'settle' | 'close' }>;

type Options = {
  main: MessagePort;
  say: (message: WriterMessage) => void;
  handle: (order: WorkOrder) => void;
  /** Records and answers commands until none waits; undefined if it is done when it returns. */
  drain: () => Promise<void> | undefined;
  /** Ends the writer, when no command waits any more. */
  close: () => Promise<void> | undefined;
  /** Called with the error of a promise of `drain` or `close`. */
  onFailure?: (error: unknown) => void;
};

/**
 * Takes the commands of the threads that answer requests and the orders of the main thread, and has the writer work
 * while there are any. Group commit: all commands that come while a batch is being recorded are the next batch.
 */
export function openInbox({ main, say, handle, drain, close, onFailure }: Options) {
  const { connect, takeSent } = openSenders(put);
  let queue: QueuedCommand[] = [];
  let since = 0;
  let settling = 0;
  /** True from when work is scheduled until it is done. */
  let isWorking = false;
  let isClosing = false;

  main.on('message', (order: WriterOrder) => {
    switch (order.kind) {
      case 'connect':
        connect({ port: order.port, generation: order.generation });
        return;
      case 'settle':
        takeSent();
        settling += 1;
        schedule();
        return;
      case 'close':
        isClosing = true;
        schedule();
        return;
      default:
        handle(order);
    }
  });

  function put(command: QueuedCommand): void {
    if (queue.length === 0) since = performance.now();
    queue.push(command);
    schedule();
  }

  function takeBatch(): QueuedCommand[] {
    const batch = queue;
    queue = [];
    return batch;
  }

  function schedule(): void {
    if (isWorking) return;
    isWorking = true;
    setImmediate(work);
  }

  function work(): void {
    const draining = drain();
    if (draining) draining.then(finish).catch(onFailure);
    else finish();
  }

  function finish(): Promise<void> | undefined {
    for (; settling > 0; settling -= 1) say({ kind: 'settled' });
    if (isClosing) return close();
    isWorking = false;
    return undefined;
  }

  return {
    takeSent,
    put,
    /** Takes all commands that wait; an empty list if there are none. */
    takeBatch,
    /** When the first command of the last batch came, by `performance.now()`. */
    since: () => since,
    /** Has the writer work soon, also if no command waits. */
    schedule,
  };
}

function openSenders(put: (command: QueuedCommand) => void) {
  const senders = new Set<Sender>();

  function connect(sender: Sender): void {
    senders.add(sender);
    sender.port.on('message', (requests: WriterRequests) => take(sender, requests));
    sender.port.on('close', () => senders.delete(sender));
  }

  /**
   * Takes the commands that threads have sent before an order. Ports keep no order between each other, so their
   * messages may not have been read yet.
   */
  function takeSent(): void {
    for (const sender of senders) {
      const next = () => receiveMessageOnPort(sender.port);
      for (let sent = next(); sent; sent = next()) take(sender, sent.message);
    }
  }

  function take(from: Sender, requests: WriterRequests): void {
    for (const { id, command } of requests) put({ from, id, command });
  }

  return { connect, takeSent };
}

/** The answers of a batch: one message to each thread. */
export type Outbox = Map<MessagePort, WriterAnswers>;

/** Adds the answer to a command. */
export function addAnswer(outbox: Outbox, { from, id }: QueuedCommand, answer: WriterAnswer): void {
  const message = outbox.get(from.port);
  if (message) message.push({ id, answer });
  else outbox.set(from.port, [{ id, answer }]);
}

/** Sends all answers. */
export function send(outbox: Outbox): void {
  for (const [port, answers] of outbox) port.postMessage(answers);
}
