import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { messageOf } from '../../../storage/errors.ts';
import type { SlotCounts } from '../../callers/answer-slots.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import { answerCalls } from '../../platform/calls.ts';
import type { AnswerSlots, Notary, Pins } from '../../ports.ts';
import { StartError } from '../../writer/writer.ts';

/** The reply to an order; `failure` is null on success. */
type OrderReply = { failure: string | null };

/**
 * A port for one reply of a thread. `done` rejects with a StartError on a failure; it resolves also if the thread ends
 * without a reply.
 */
export function replyPort(): { port: MessagePort; done: Promise<void> } {
  const { port1, port2 } = new MessageChannel();
  const done = new Promise<void>((resolve, reject) => {
    port1.once('message', ({ failure }: OrderReply) => {
      port1.close();
      if (failure === null) resolve();
      else reject(new StartError(failure));
    });
    port1.once('close', resolve);
  });
  return { port: port2, done };
}

/** Carries out an order in its thread, and replies. */
export async function reply(port: MessagePort, run: () => Promise<void>): Promise<void> {
  let failure: string | null = null;
  await run().catch((error) => {
    failure = messageOf(error);
  });
  port.postMessage({ failure } satisfies OrderReply);
  port.close();
}

/** A port through which another thread calls these functions. `onClose` is called when that thread closes the port. */
export function portTo<T extends Parameters<typeof answerCalls>[1]>(functions: T, onClose = () => {}): MessagePort {
  const { port1, port2 } = new MessageChannel();
  answerCalls<T>(port1, functions);
  port1.on('close', onClose);
  return port2;
}

/** The port to the notary, of which other threads get only these functions. */
export function portToNotary({
  checkpoint,
  recent,
  stamped,
  verifierKey,
  verification,
  changeKey,
}: Notary): MessagePort {
  return portTo<Notary>({ checkpoint, recent, stamped, verifierKey, verification, changeKey });
}

/** The same for the answer slots of one thread, which go with it. */
export function portToSlots(counts: SlotCounts): MessagePort {
  const { release, ...slots } = counts.join();
  return portTo<AnswerSlots>(slots, release);
}

/** The port to the pins of one thread, which are released when the thread ends. */
export function portToPins(guard: BlobGuard): MessagePort {
  const { release, ...pins } = guard.join();
  return portTo<Pins>(pins, release);
}
