import { Worker } from 'node:worker_threads';
import type { Shared } from '../app.ts';
import type { Api } from '../openapi/document.ts';
import { ownModule } from '../package.ts';
import type { OpenApiInput } from './openapi-thread.ts';

/**
 * Makes an OpenAPI document as text, in a thread that ends with it: what makes it is large, and busy for long enough that
 * requests would wait.
 */
export function makeOpenApiApart(input: OpenApiInput): Promise<string> {
  const worker = new Worker(ownModule('./openapi-thread.ts', import.meta.url), { workerData: input });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that makes the OpenAPI document exited with ${code}`)));
  });
}

/** The same for a service whose configuration is at this path: who describes it needs no keys, and no files. */
export function describeApart(api: Api, config: string, shared: Shared): Promise<string> {
  const blobs: Shared['blobs'] = { kind: 'folder', folder: '' };
  return makeOpenApiApart({ config, api, shared: { ...shared, apiKeys: [], secrets: [], attemptSecret: '', blobs } });
}
