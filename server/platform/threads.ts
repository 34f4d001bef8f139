import { type MessagePort, Worker, type WorkerOptions } from 'node:worker_threads';
import { bootstrapText, isBinary, ownModule } from './carried.ts';

/** The modules that threads begin with, by their path from the root, without an extension. */
export const threadModules = {
  archiver: 'server/writer/archiver-thread',
  config: 'server/running/threads/config-thread',
  fetcher: 'server/writer/fetcher-thread',
  hash: 'server/accounts/hash-thread',
  helper: 'server/writer/helper-thread',
  http: 'server/running/threads/http-thread',
  openapi: 'server/running/threads/openapi-thread',
  reads: 'server/reads/long-read-thread',
  search: 'server/writer/search-thread',
  sites: 'server/running/threads/sites-thread',
  verifier: 'server/audit/notary/verifier-thread',
  writer: 'server/writer/writer-thread',
} as const;

/**
 * The memory for young objects, in MB; V8 decides for other threads. Background threads: little memory costs them some
 * speed, and V8 would keep 8 MB more for each. Threads that answer requests: as much as they use, also if many requests
 * were sent ahead, for which V8 would take 100 MB more and keep them.
 */
const roomForYoung: { [thread in ThreadName]?: number } = { archiver: 6, verifier: 6, http: 48, sites: 48 };

/** A thread of the service. */
type ThreadName = keyof typeof threadModules;

/**
 * Starts a thread of the service, in the checkout, the package and the binary alike.
 *
 * @param thread the name of the thread, or the address of another module.
 * @param transferList ports in its data.
 */
export function startThread(thread: ThreadName | URL, workerData?: object, transferList: MessagePort[] = []): Worker {
  const options: WorkerOptions = { workerData, transferList };
  if (thread instanceof URL) return new Worker(thread, options);
  const maxYoungGenerationSizeMb = roomForYoung[thread];
  if (maxYoungGenerationSizeMb !== undefined) options.resourceLimits = { maxYoungGenerationSizeMb };
  const bundled = `${thread}-thread`;
  if (!isBinary()) return new Worker(ownModule(threadModules[thread], bundled), options);
  // A module in the executable has no file, so the thread gets a text that finds it (binary/bootstrap.cjs).
  const text = `globalThis.annalsEntry = ${JSON.stringify(bundled)};\n${bootstrapText()}`;
  return new Worker(text, { ...options, eval: true });
}
