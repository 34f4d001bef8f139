import type { Model } from '../../config/model.ts';
import type { App } from '../app.ts';
import { type CachedDocument, fingerprintOf } from '../openapi/cache.ts';
import { makeOpenApi } from '../openapi/document.ts';
import { createLog } from '../platform/logging.ts';
import type { Api, KeyService } from '../ports.ts';
import { openApp } from './app/open-app.ts';
import { routes } from './app/routes.ts';
import type { ThreadData } from './thread-data.ts';

const refuse = () => Promise.reject(new Error('this only describes the service'));

/** Generates an OpenAPI document of a service that is opened only for that: all calls of its ports are refused. */
export async function generateOpenApi(api: Api, model: Model, threadData: ThreadData): Promise<CachedDocument> {
  const refusing = <T extends object>() => new Proxy({} as T, { get: () => refuse });
  const keyService = refusing<KeyService>();
  const notary = {
    checkpoint: refuse,
    recent: refuse,
    stamped: refuse,
    verifierKey: refuse,
    verification: refuse,
    changeKey: refuse,
  };
  const pins = { pin: refuse, unpin: refuse, discard: refuse, collect: refuse };
  const erasures = {
    settle: refuse,
    neededBeside: refuse,
    countMails: refuse,
    forgetMails: refuse,
    obstacle: refuse,
    elsewhere: refuse,
    progress: refuse,
  };
  const webhooks = {
    page: refuse,
    find: refuse,
    deliveries: refuse,
    delivery: refuse,
    retry: refuse,
    retryAll: refuse,
  };
  const answerSlots = { take: refuse, free: refuse };
  const bulkQueue = { take: refuse, begin: refuse, end: refuse };
  const missingIndexes = { note: refuse, all: refuse };
  const writing = { append: refuse, appendAnyway: refuse, isCrowded: () => false, waiting: () => 0 };
  const log = createLog('silent', { write: () => {} });
  const app = openApp({
    model,
    threadData,
    writing,
    passwords: refusing<App['passwords']>(),
    preferences: refusing<App['preferences']>(),
    unsavedChanges: refusing<App['unsavedChanges']>(),
    previews: refusing<App['previews']>(),
    previewTokens: refusing<App['previewTokens']>(),
    replays: refusing<App['replays']>(),
    keyService,
    notary,
    pins,
    erasures,
    webhooks,
    answerSlots,
    bulkQueue,
    missingIndexes,
    reload: refuse,
    log,
    openApi: refuse,
  });
  try {
    return { fingerprint: fingerprintOf(api, app), document: await makeOpenApi(app, routes, api) };
  } finally {
    await app.close();
  }
}
