import { Worker } from 'node:worker_threads';
import type { Made } from '../../openapi/cache.ts';
import { ownModule } from '../../platform/package.ts';
import type { Api } from '../../ports.ts';
import type { Shared } from '../open-app.ts';
import type { OpenApiInput } from './openapi-thread.ts';

/** Who describes the service needs no files, and no keys to a bucket. */
const noBlobs: Shared['blobs'] = { kind: 'folder', folder: '' };

/**
 * Makes an OpenAPI document, in a thread that ends with it: what makes it is large, and busy for long enough that requests would
 * wait.
 *
 * @param config the path of the configuration.
 * @param shared what of it is secret stays here.
 */
export function generateOpenApiInWorker(api: Api, config: string, shared: Shared): Promise<Made> {
  const input = { config, api, shared: { ...shared, apiKeys: [], secrets: [], attemptSecret: '', blobs: noBlobs } };
  const worker = new Worker(ownModule('./openapi-thread.ts', import.meta.url), {
    workerData: input satisfies OpenApiInput,
  });
  // Who stops does not wait for it.
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that makes the OpenAPI document exited with ${code}`)));
  });
}
