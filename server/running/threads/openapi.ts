import type { CachedDocument } from '../../openapi/cache.ts';
import { startThread } from '../../platform/threads.ts';
import type { Api } from '../../ports.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import type { ThreadData } from '../thread-data.ts';
import type { OpenApiInput } from './openapi-thread.ts';

/** A description needs no files, no keys to a bucket, and no secrets. */
const noBlobs: ThreadData['blobs'] = { kind: 'folder', folder: '' };
const noCredentials: ThreadData['credentials'] = { apiKeys: [], secrets: [], operatorHash: Buffer.alloc(0) };

/**
 * Generates an OpenAPI document in a worker thread, which then ends: the generator is large, and would delay requests.
 *
 * @param threadData its secrets are not passed on.
 */
export function generateOpenApiInWorker(
  api: Api,
  { path, sources }: Pick<LoadedConfiguration, 'path' | 'sources'>,
  threadData: ThreadData,
): Promise<CachedDocument> {
  const input = {
    config: path,
    sources,
    api,
    threadData: { ...threadData, credentials: noCredentials, idempotencySecret: '', blobs: noBlobs },
  };
  const worker = startThread('openapi', input satisfies OpenApiInput);
  // The process may end before the worker.
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that makes the OpenAPI document exited with ${code}`)));
  });
}
