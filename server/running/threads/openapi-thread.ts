import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Api } from '../../ports.ts';
import { loadConfiguration } from '../../settings/configuration.ts';
import { generateOpenApi } from '../generate-openapi.ts';
import type { Shared } from '../open-app.ts';

/** What the thread is started with that makes an OpenAPI document, says it, and ends. */
export type OpenApiInput = { config: string; api: Api; shared: Shared };

const { config, api, shared }: OpenApiInput = workerData;
const { model } = await loadConfiguration(config);
(parentPort as MessagePort).postMessage(await generateOpenApi(api, model, shared));
process.exit(0);
