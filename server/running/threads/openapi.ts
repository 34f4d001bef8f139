import type { Made } from '../../openapi/cache.ts';
import { startThread } from '../../platform/threads.ts';
import type { Api } from '../../ports.ts';
import type { Loaded } from '../../settings/configuration.ts';
import type { Shared } from '../open-app.ts';
import type { OpenApiInput } from './openapi-thread.ts';

/** A description needs no files, no keys to a bucket, and no secrets. */
const noBlobs: Shared['blobs'] = { kind: 'folder', folder: '' };
const noCredentials: Shared['credentials'] = { apiKeys: [], secrets: [], operatorHash: Buffer.alloc(0) };

/**
 * Generates an OpenAPI document in a worker thread that ends with it: the generator is large, and would keep requests
 * waiting.
 *
 * @param loaded the configuration.
 * @param shared its secrets are not passed on.
 */
export function generateOpenApiInWorker(
  api: Api,
  { path, sources }: Pick<Loaded, 'path' | 'sources'>,
  shared: Shared,
): Promise<Made> {
  const input = {
    config: path,
    sources,
    api,
    shared: { ...shared, credentials: noCredentials, idempotencySecret: '', blobs: noBlobs },
  };
  const worker = startThread('openapi', input satisfies OpenApiInput);
  // The end of the service does not wait for it.
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that makes the OpenAPI document exited with ${code}`)));
  });
}
