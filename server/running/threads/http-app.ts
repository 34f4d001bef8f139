import type { MessagePort } from 'node:worker_threads';
import type { CopyRoom } from '../../../projections/past/snapshot-budget.ts';
import { callsThrough } from '../../platform/calls.ts';
import { gatherLines, type Log, type LogSink } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import type {
  AnswerSlots,
  BulkTurns,
  ErasurePort,
  KeyService,
  Notary,
  Pins,
  Reloading,
  WebhookPort,
} from '../../ports.ts';
import type { MissingIndexes } from '../../reads/missing-list.ts';
import type { Loaded } from '../../settings/configuration.ts';
import { connectWriter } from '../../writer/append.ts';
import type { Following } from '../../writer/messages.ts';
import { type MetricsPort, startCounting, type ThreadMetrics } from '../metrics/counting.ts';
import { type Describing, openApp, type Shared } from '../open-app.ts';
import { type VaultChannels, vaultThrough } from '../vault-service.ts';
import type { MetricsWay } from './http.ts';

/** The ways of a thread that answers requests to the others. */
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
    | 'bulkTurns'
    | 'missingIndexes']: MessagePort;
} & VaultChannels & {
    /** Of a node alone. */
    following?: MessagePort;
  };

/** Messages of such a thread: the port it answers on, and lines for the log. */
export type HttpMessage = { kind: 'listening'; port: number } | { kind: 'log'; lines: string };

type ThreadApp = {
  loaded: Pick<Loaded, 'model'>;
  shared: Shared;
  ports: Ports;
  log: Log;
  metrics: ThreadMetrics | null;
  copyRoom: CopyRoom;
};

/** Opens a service in a thread that answers its requests. */
export function openThreadApp({ loaded, shared, ports, log, metrics, copyRoom }: ThreadApp) {
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
    bulkTurns,
    missingIndexes,
    following,
  } = ports;
  return openApp({
    model: loaded.model,
    shared,
    writing: connectWriter(writer),
    ...vaultThrough(ports),
    keyService: callsThrough<KeyService>(keys),
    notary: callsThrough<Notary>(notary),
    pins: callsThrough<Pins>(pins),
    erasures: callsThrough<ErasurePort>(erasures),
    webhooks: callsThrough<WebhookPort>(webhooks),
    answerSlots: callsThrough<AnswerSlots>(answerSlots),
    bulkTurns: callsThrough<BulkTurns>(bulkTurns),
    missingIndexes: callsThrough<MissingIndexes>(missingIndexes),
    log,
    metrics,
    copyRoom,
    openApi: callsThrough<Describing>(openApi).describe,
    reload: callsThrough<Reloading>(reloading).reload,
    following: following ? callsThrough<Following>(following) : null,
  });
}

/** Begins to count in this thread, where metrics are on. */
export function countHere(way: MetricsWay | null): ThreadMetrics | null {
  return way && startCounting({ port: callsThrough<MetricsPort>(way.port), tokenHash: way.tokenHash, isMain: false });
}

/** Tells the main thread something. */
export function say(message: HttpMessage): void {
  parent().postMessage(message);
}

/** Where the lines of this thread go: through the main one. */
export function threadSink(): LogSink {
  const sink = gatherLines((lines) => say({ kind: 'log', lines }));
  // However the thread ends, its last lines are written.
  process.on('exit', sink.flushSync);
  return sink;
}
