import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Api } from '../../ports.ts';
import { loadConfiguration } from '../../settings/configuration.ts';
import { generateOpenApi } from '../generate-openapi.ts';
import type { Shared } from '../open-app.ts';

/** The start data of the thread that generates an OpenAPI document, posts it, and ends. */
export type OpenApiInput = { config: string; api: Api; shared: Shared };

const { config, api, shared }: OpenApiInput = workerData;
const { model } = await loadConfiguration(config);
(parentPort as MessagePort).postMessage(await generateOpenApi(api, model, shared));
process.exit(0);
