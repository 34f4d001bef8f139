import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Keeper } from '../accounts/keeper.ts';
import { openApp, type Shared } from '../app.ts';
import { loadConfiguration } from '../configuration.ts';
import { createLog } from '../logging.ts';
import { type Api, makeOpenApi } from '../openapi/document.ts';

/** What the thread is started with that makes an OpenAPI document, says it, and ends. */
export type OpenApiInput = { config: string; api: Api; shared: Shared };

const { config, api, shared } = workerData as OpenApiInput;
const { model } = await loadConfiguration(config);
const refuse = () => Promise.reject(new Error('this thread only describes the service'));
const log = createLog('silent', { write: () => {} });
const keeper = new Proxy({} as Keeper, { get: () => refuse });
const notary = { checkpoint: refuse, recent: refuse, stamped: refuse, verifierKey: refuse, verification: refuse };
const pins = { pin: refuse, unpin: refuse, discard: refuse, collect: refuse };
const eraser = { settle: refuse, neededBeside: refuse, countMails: refuse, forgetMails: refuse, obstacle: refuse };
const writing = { append: refuse, appendAnyway: refuse, isCrowded: () => false };
const app = openApp({ model, shared, writing, keeper, notary, pins, eraser, log, openApi: refuse });
(parentPort as MessagePort).postMessage(await makeOpenApi(app, api));
await app.close();
process.exit(0);
