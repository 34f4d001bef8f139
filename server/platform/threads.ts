import { type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import { bootstrapText, isBinary, ownModule } from './carried.ts';

/** The modules that threads begin with, by their path from the root, without an extension. */
export const threadModules = {
  away: 'server/writer/away-thread',
  config: 'server/running/threads/config-thread',
  hash: 'server/accounts/hash-thread',
  helper: 'server/writer/helper-thread',
  http: 'server/running/threads/http-thread',
  openapi: 'server/running/threads/openapi-thread',
  sealer: 'server/writer/sealer-thread',
  search: 'server/writer/search-thread',
  sites: 'server/running/threads/sites-thread',
  verifier: 'server/audit/notary/verifier-thread',
  writer: 'server/writer/writer-thread',
} as const;

/** Threads that work in the background: room for few young objects costs them some speed, and V8 would keep 8 MB more for each. */
const background: ReadonlySet<ThreadName> = new Set(['sealer', 'verifier']);
const backgroundLimits = { maxYoungGenerationSizeMb: 6 };

/** A thread of the service. */
export type ThreadName = keyof typeof threadModules;

/**
 * Starts a thread of the service, in the checkout, the package and the binary alike.
 *
 * @param thread its name; or the address of a module in its place.
 * @param transferList ports in its data.
 */
export function startThread(thread: ThreadName | URL, workerData?: object, transferList: MessagePort[] = []): Worker {
  const options: WorkerOptions = { workerData, transferList };
  if (thread instanceof URL) return new Worker(thread, options);
  if (background.has(thread)) options.resourceLimits = backgroundLimits;
  if (!isBinary()) return new Worker(ownModule(threadModules[thread]), options);
  // A module in the executable has no file, so the thread is given a text, which finds it (binary/bootstrap.cjs).
  const text = `globalThis.annalsEntry = ${JSON.stringify(`${thread}-thread`)};\n${bootstrapText()}`;
  return new Worker(text, { ...options, eval: true });
}
