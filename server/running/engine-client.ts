import type { MessagePort } from 'node:worker_threads';
import { newSeats, openRoom } from '../../projections/past/snapshot-budget.ts';
import type { SlotCounts } from '../callers/answer-slots.ts';
import type { BlobGuard } from '../files/blobs/guard.ts';
import { type Made, openDocumentCache } from '../openapi/cache.ts';
import { callsThrough } from '../platform/calls.ts';
import type { Log } from '../platform/logging.ts';
import type { Api, BulkTurns, ErasurePort, KeyService, Notary, Reloading, WebhookPort } from '../ports.ts';
import type { MissingIndexes } from '../reads/missing-list.ts';
import type { Loaded } from '../settings/configuration.ts';
import { connectWriter } from '../writer/append.ts';
import type { Following } from '../writer/messages.ts';
import type { Writer } from '../writer/writer.ts';
import { createBulkTurns } from './bulk-turns.ts';
import type { ThreadMetrics } from './metrics/counting.ts';
import { type Describe, type Describing, type OpenApp, openApp, type Shared } from './open-app.ts';
import type { Ports } from './threads/http-app.ts';
import { portTo, portToNotary, portToPins, portToSlots } from './threads/message-ports.ts';
import { generateOpenApiInWorker } from './threads/openapi.ts';
import { channelsTo, type VaultService } from './vault-service.ts';

/** A configuration. Without a path it is an object, which no command and no other thread can look at. */
export type Configured = Pick<Loaded, 'model'> & (Pick<Loaded, 'path' | 'sources'> | { path: null });

/** The ways of request handlers to an engine, by one configuration. */
export type Ways = {
  /** Makes the ports of one thread to this one, and to the writer. */
  connect: () => Ports;
  /** Opens the service for requests that this thread answers; to be closed before the engine stops. */
  openHere: (metrics?: ThreadMetrics | null) => OpenApp;
  /** Keeps no OpenAPI document from here on. */
  close: () => void;
};

type Options = {
  loaded: Configured;
  /** As in {@link Writer}. */
  generation: number | null;
  shared: Shared;
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

/** That of this thread, for all engines: in a process with other threads that answer requests, it makes no copies. */
const copyRoom = openRoom({ seats: newSeats(2), own: 0 });

/** Those of this process, for all engines. */
const bulkTurns = createBulkTurns();

/** Opens the ways to an engine. */
export function openWays(options: Options): Ways {
  const { loaded, generation, shared, writer, vault, keyService, notary, guard, erasures, reload } = options;
  const { webhooks, slotCounts, missingIndexes, directory, log } = options;
  const { model } = loaded;
  const documents = openDocumentCache({ directory, subject: { model, ...shared }, log });
  const openApi: Describe = (api) => documents.read(api, () => describeService(api, loaded, shared));

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
      bulkTurns: portToTurns(),
      missingIndexes: portTo<MissingIndexes>(missingIndexes),
      openApi: portTo<Describing>({ describe: openApi }),
      reloading: portTo<Reloading>({ reload }),
      ...(shared.reads && { following: writer.follow() }),
    }),
    openHere(metrics = null) {
      const { release, ...pins } = guard.join();
      const { release: releaseSlots, ...answerSlots } = slotCounts.join();
      const turns = bulkTurns.join();
      const writing = connectWriter(writer.connect(generation));
      const here = openApp({
        model,
        shared,
        writing,
        ...vault,
        keyService,
        notary,
        pins,
        erasures,
        webhooks,
        answerSlots,
        bulkTurns: turns,
        missingIndexes,
        openApi,
        reload,
        log,
        metrics,
        copyRoom,
        following: shared.reads && callsThrough<Following>(writer.follow()),
      });
      return {
        ...here,
        async close() {
          await here.close();
          releaseSlots();
          turns.release();
          await release();
        },
      };
    },
    close: documents.close,
  };
}

/** The turns of one thread, which end with it. */
function portToTurns(): MessagePort {
  const { release, ...turns } = bulkTurns.join();
  return portTo<BulkTurns>(turns, release);
}

/**
 * Generates in a worker where that can load the configuration: the functions of an object do not pass between threads.
 */
async function describeService(api: Api, loaded: Configured, shared: Shared): Promise<Made> {
  if (loaded.path !== null) return generateOpenApiInWorker(api, loaded, shared);
  const { generateOpenApi } = await import('./generate-openapi.ts');
  return generateOpenApi(api, loaded.model, shared);
}
