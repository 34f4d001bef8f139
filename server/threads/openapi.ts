import { Worker } from 'node:worker_threads';
import type { OpenApiInput } from './openapi-thread.ts';

/**
 * Makes the OpenAPI document as text, in a thread that ends with it: what makes it is large, and busy for long enough that
 * requests would wait.
 */
export function makeOpenApiApart(input: OpenApiInput): Promise<string> {
  const worker = new Worker(new URL('./openapi-thread.ts', import.meta.url), { workerData: input });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that makes the OpenAPI document exited with ${code}`)));
  });
}
