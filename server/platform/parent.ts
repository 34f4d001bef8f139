import { type MessagePort, parentPort } from 'node:worker_threads';

/** The port to the thread that started this one. */
export function parent(): MessagePort {
  if (parentPort) return parentPort;
  throw new Error('the main thread has no parent');
}
