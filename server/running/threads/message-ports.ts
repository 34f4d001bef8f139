import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import { answerCalls } from '../../platform/calls.ts';
import type { Notary, Pins } from '../../ports.ts';

/** A port through which another thread calls these functions. `onClose` is called when that one lets go of it. */
export function portTo<T extends Parameters<typeof answerCalls>[1]>(functions: T, onClose = () => {}): MessagePort {
  const { port1, port2 } = new MessageChannel();
  answerCalls<T>(port1, functions);
  port1.on('close', onClose);
  return port2;
}

/** The same for the notary, of whom other threads are given no more than this. */
export function portToNotary({ checkpoint, recent, stamped, verifierKey, verification }: Notary): MessagePort {
  return portTo<Notary>({ checkpoint, recent, stamped, verifierKey, verification });
}

/** The same for the pins of one thread, which go with it. */
export function portToPins(guard: BlobGuard): MessagePort {
  const { release, ...pins } = guard.join();
  return portTo<Pins>(pins, release);
}
