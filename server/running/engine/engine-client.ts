import type { MessagePort } from 'node:worker_threads';
import { newCopyMemory, openBudget } from '../../../projections/past/snapshot-budget.ts';
import type { SlotCounts } from '../../callers/answer-slots.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import { type CachedDocument, openDocumentCache } from '../../openapi/cache.ts';
import { callsThrough } from '../../platform/calls.ts';
import type { Log } from '../../platform/logging.ts';
import type { Api, BulkQueue, ErasurePort, KeyService, Notary, Reloading, WebhookPort } from '../../ports.ts';
import type { MissingIndexes } from '../../reads/missing-list.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import { connectWriter } from '../../writer/append.ts';
import type { Following } from '../../writer/messages.ts';
import type { Writer } from '../../writer/writer.ts';
import { type Describe, type Describing, type OpenApp, openApp } from '../app/open-app.ts';
import { createBulkQueue } from '../bulk-queue.ts';
import type { ThreadMetrics } from '../metrics/counting.ts';
import type { ThreadData } from '../thread-data.ts';
import type { Ports } from '../threads/http-app.ts';
import { portTo, portToNotary, portToPins, portToSlots } from '../threads/message-ports.ts';
import { generateOpenApiInWorker } from '../threads/openapi.ts';
import { channelsTo, type VaultService } from '../vault-service.ts';

/** A configuration. If it has no path, it is an object, which no command and no other thread can read. */
export type EngineConfiguration = Pick<LoadedConfiguration, 'model'> &
  (Pick<LoadedConfiguration, 'path' | 'sources'> | { path: null });

/** The access of request handlers to an engine, under one configuration. */
export type EngineClient = {
  /** Makes the ports of one thread to the main thread and to the writer. */
  connect: () => Ports;
  /** Opens the service for requests that the main thread answers; to be closed before the engine stops. */
  openHere: (metrics?: ThreadMetrics | null) => OpenApp;
  /** From now on no OpenAPI document is cached. */
  close: () => void;
};

type Options = {
  loaded: EngineConfiguration;
  /** As {@link Writer} takes it. */
  generation: number | null;
  threadData: ThreadData;
  writer: Writer;
  vault: VaultService;
  keyService: KeyService;
  notary: Notary;
  guard: BlobGuard;
  erasures: ErasurePort;
  webhooks: WebhookPort;
  slotCounts: SlotCounts;
  missingIndexes: MissingIndexes;
  reload: Reloading['reload'];
  /** The data directory. */
  directory: string;
  log: Log;
};

/**
 * The budget of the main thread for copies of tables, for all engines: it makes none if other threads answer requests.
 */
const snapshotBudget = openBudget({ memory: newCopyMemory(2), own: 0 });

/** The queue of this process, for all engines. */
const bulkQueue = createBulkQueue();

/** Opens the access to an engine. */
export function openEngineClient(options: Options): EngineClient {
  const { loaded, generation, threadData, writer, vault, keyService, notary, guard, erasures, reload } = options;
  const { webhooks, slotCounts, missingIndexes, directory, log } = options;
  const { model } = loaded;
  const documents = openDocumentCache({ directory, subject: { model, ...threadData }, log });
  const openApi: Describe = (api) => documents.read(api, () => describeService(api, loaded, threadData));

  return {
    connect: () => ({
      writer: writer.connect(generation),
      ...channelsTo(vault),
      keys: portTo<KeyService>(keyService),
      notary: portToNotary(notary),
      pins: portToPins(guard),
      erasures: portTo<ErasurePort>(erasures),
      webhooks: portTo<WebhookPort>(webhooks),
      answerSlots: portToSlots(slotCounts),
      bulkQueue: portToBulkQueue(),
      missingIndexes: portTo<MissingIndexes>(missingIndexes),
      openApi: portTo<Describing>({ describe: openApi }),
      reloading: portTo<Reloading>({ reload }),
      ...(threadData.reads && { following: writer.follow() }),
    }),
    openHere(metrics = null) {
      const { release, ...pins } = guard.join();
      const { release: releaseSlots, ...answerSlots } = slotCounts.join();
      const ownBulkQueue = bulkQueue.join();
      const writing = connectWriter(writer.connect(generation));
      const here = openApp({
        model,
        threadData,
        writing,
        ...vault,
        keyService,
        notary,
        pins,
        erasures,
        webhooks,
        answerSlots,
        bulkQueue: ownBulkQueue,
        missingIndexes,
        openApi,
        reload,
        log,
        metrics,
        snapshotBudget,
        following: threadData.reads && callsThrough<Following>(writer.follow()),
      });
      return {
        ...here,
        async close() {
          await here.close();
          releaseSlots();
          ownBulkQueue.release();
          await release();
        },
      };
    },
    close: documents.close,
  };
}

/** The port of one thread to the queue; the thread's calls end with it. */
function portToBulkQueue(): MessagePort {
  const { release, ...ownQueue } = bulkQueue.join();
  return portTo<BulkQueue>(ownQueue, release);
}

/**
 * Generates a document, in a worker if that can load the configuration: functions of an object do not pass between
 * threads.
 */
async function describeService(api: Api, loaded: EngineConfiguration, threadData: ThreadData): Promise<CachedDocument> {
  if (loaded.path !== null) return generateOpenApiInWorker(api, loaded, threadData);
  const { generateOpenApi } = await import('../generate-openapi.ts');
  return generateOpenApi(api, loaded.model, threadData);
}
