import type { MessagePort } from 'node:worker_threads';
import type { SnapshotBudget } from '../../../projections/past/snapshot-budget.ts';
import { callsThrough } from '../../platform/calls.ts';
import { gatherLines, type Log, type LogSink } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import type {
  AnswerSlots,
  BulkQueue,
  ErasurePort,
  KeyService,
  Notary,
  Pins,
  Reloading,
  WebhookPort,
} from '../../ports.ts';
import type { MissingIndexes } from '../../reads/missing-list.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import { connectWriter } from '../../writer/append.ts';
import type { Following } from '../../writer/messages.ts';
import { type Describing, openApp } from '../app/open-app.ts';
import { type MetricsPort, startCounting, type ThreadMetrics } from '../metrics/counting.ts';
import type { ThreadData } from '../thread-data.ts';
import { type VaultChannels, vaultThrough } from '../vault-service.ts';
import type { MetricsConnection } from './thread.ts';

/** The ports by which a thread that answers requests calls the main thread and the writer. */
export type Ports = {
  [port in
    | 'writer'
    | 'keys'
    | 'notary'
    | 'pins'
    | 'erasures'
    | 'webhooks'
    | 'answerSlots'
    | 'openApi'
    | 'reloading'
    | 'bulkQueue'
    | 'missingIndexes']: MessagePort;
} & VaultChannels & {
    /** Of a node alone. */
    following?: MessagePort;
  };

/** Messages of such a thread to the main thread: the port it listens on, and lines for the log. */
export type HttpMessage = { kind: 'listening'; port: number } | { kind: 'log'; lines: string };

type ThreadApp = {
  loaded: Pick<LoadedConfiguration, 'model'>;
  threadData: ThreadData;
  ports: Ports;
  log: Log;
  metrics: ThreadMetrics | null;
  snapshotBudget: SnapshotBudget;
};

/** Opens a service in a thread that answers its requests. */
export function openThreadApp({ loaded, threadData, ports, log, metrics, snapshotBudget }: ThreadApp) {
  const {
    writer,
    keys,
    notary,
    pins,
    erasures,
    webhooks,
    answerSlots,
    openApi,
    reloading,
    bulkQueue,
    missingIndexes,
    following,
  } = ports;
  return openApp({
    model: loaded.model,
    threadData,
    writing: connectWriter(writer),
    ...vaultThrough(ports),
    keyService: callsThrough<KeyService>(keys),
    notary: callsThrough<Notary>(notary),
    pins: callsThrough<Pins>(pins),
    erasures: callsThrough<ErasurePort>(erasures),
    webhooks: callsThrough<WebhookPort>(webhooks),
    answerSlots: callsThrough<AnswerSlots>(answerSlots),
    bulkQueue: callsThrough<BulkQueue>(bulkQueue),
    missingIndexes: callsThrough<MissingIndexes>(missingIndexes),
    log,
    metrics,
    snapshotBudget,
    openApi: callsThrough<Describing>(openApi).describe,
    reload: callsThrough<Reloading>(reloading).reload,
    following: following ? callsThrough<Following>(following) : null,
  });
}

/** Begins to count in this thread; null if metrics are off. */
export function countHere(connection: MetricsConnection | null): ThreadMetrics | null {
  if (connection === null) return null;
  const { port, tokenHash } = connection;
  return startCounting({ port: callsThrough<MetricsPort>(port), tokenHash, isMain: false });
}

/** Sends a message to the main thread. */
export function say(message: HttpMessage): void {
  parent().postMessage(message);
}

/** The sink for the log lines of this thread: the main thread writes them. */
export function threadSink(): LogSink {
  const sink = gatherLines((lines) => say({ kind: 'log', lines }));
  // However the thread ends, its last lines are written.
  process.on('exit', sink.flushSync);
  return sink;
}
