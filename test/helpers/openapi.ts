import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Hapi from '@hapi/hapi';
import { checkConfig } from '../../config/check.ts';
import { newClockCell } from '../../events/store/clock.ts';
import { createIds } from '../../events/store/ids.ts';
import { boot } from '../../projections/start/boot.ts';
import { logFile } from '../../projections/tables/files.ts';
import { createRowMarks } from '../../projections/tables/row-marks.ts';
import { createToldOrigins } from '../../server/http/refused-origins.ts';
import { makeOpenApi } from '../../server/openapi/document.ts';
import { createLog } from '../../server/platform/logging.ts';
import { createState } from '../../server/platform/state.ts';
import type { Notary } from '../../server/ports.ts';
import { type OpenApp, openApp } from '../../server/running/app/open-app.ts';
import { routes } from '../../server/running/app/routes.ts';
import { seals } from '../events/logs.ts';

/** Routes are not called here. */
const noVault = <T extends object>() =>
  new Proxy({} as T, { get: () => () => assert.fail('there are no secrets here') });

const notary = new Proxy({} as Notary, { get: () => () => assert.fail('nothing is signed here') });

/** Opens an app of this configuration in a folder of its own, without a writer, for as long as `run` takes. */
export async function withApp<T>(
  config: unknown,
  run: (app: OpenApp) => Promise<T>,
  baseUrl: string | null = null,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'annals-test-'));
  const model = checkConfig(config);
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const ids = createIds(counter, Date.now);
  const { schema, rules } = model;
  const { readFile } = boot({ directory, schema, rules, ids, now: Date.now, logId: 'annals/test', seals });
  const operatorHash = Buffer.alloc(32);
  const secrets = {
    site: null,
    credentials: { apiKeys: [], secrets: [], operatorHash },
    idempotencySecret: '',
    reads: null,
  };
  const blobs = { kind: 'folder', folder: join(directory, 'blobs') } as const;
  const threadData = {
    categories: {},
    readFile,
    logFile: logFile(directory),
    counter,
    marks: createRowMarks(),
    clockCell: newClockCell(),
    state: createState(),
    ...secrets,
    baseUrl,
    toldOrigins: createToldOrigins(),
    isProduction: false,
    blobs,
    readSeconds: 2,
    cacheMiB: 32,
  };
  const notHere = () => assert.fail('nothing is written here');
  const app: OpenApp = openApp({
    model,
    threadData,
    writing: { append: notHere, appendAnyway: notHere, isCrowded: () => false, waiting: () => 0 },
    passwords: noVault<OpenApp['passwords']>(),
    preferences: noVault<OpenApp['preferences']>(),
    unsavedChanges: noVault<OpenApp['unsavedChanges']>(),
    previews: noVault<OpenApp['previews']>(),
    previewTokens: noVault<OpenApp['previewTokens']>(),
    replays: noVault<OpenApp['replays']>(),
    keyService: new Proxy({} as OpenApp['keyService'], { get: () => () => assert.fail('there are no keys here') }),
    notary,
    erasures: new Proxy({} as OpenApp['erasures'], { get: () => () => assert.fail('nothing is erased here') }),
    missingIndexes: { note: async () => {}, all: async () => [] },
    bulkQueue: { take: async () => 1, begin: async () => true, end: async () => {} },
    webhooks: new Proxy({} as OpenApp['webhooks'], { get: () => () => assert.fail('there are no webhooks here') }),
    answerSlots: new Proxy({} as OpenApp['answerSlots'], { get: () => () => assert.fail('there are no streams here') }),
    pins: {
      pin: async () => {},
      unpin: async () => {},
      discard: async () => {},
      collect: async () => ({ removed: [], held: [] }),
    },
    reload: notHere,
    log: createLog('silent', { write: () => {} }),
    openApi: (api) => makeOpenApi(app, routes, api),
  });
  try {
    return await run(app);
  } finally {
    await app.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** Every route that the service has, as `GET /path`. */
export async function routesOf(app: OpenApp): Promise<string[]> {
  return (await tableOf(app)).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
}

/** Every route that the service has, with its options. */
export async function tableOf(app: OpenApp): Promise<Hapi.RequestRoute[]> {
  const server = Hapi.server({ debug: false });
  await server.register({ plugin: routes, options: { app } });
  return server.table();
}
