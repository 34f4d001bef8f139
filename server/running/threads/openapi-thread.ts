import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Api } from '../../ports.ts';
import { loadKept } from '../../settings/configuration.ts';
import type { ModuleSources } from '../../settings/modules.ts';
import { generateOpenApi } from '../generate-openapi.ts';
import type { ThreadData } from '../thread-data.ts';

/** The start data of the thread that generates an OpenAPI document, posts it, and ends. */
export type OpenApiInput = { config: string; sources: ModuleSources; api: Api; threadData: ThreadData };

const { config, sources, api, threadData }: OpenApiInput = workerData;
const { model } = await loadKept(config, sources);
(parentPort as MessagePort).postMessage(await generateOpenApi(api, model, threadData));
process.exit(0);
