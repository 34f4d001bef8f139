import { type MessagePort, workerData } from 'node:worker_threads';
import { openBudget } from '../../../projections/past/snapshot-budget.ts';
import { createBacklog } from '../../http/backlog.ts';
import { type Address, listen as listenOn } from '../../http/listener.ts';
import { beat, showPulse } from '../../http/pulse.ts';
import { createLog } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import { giveBackAtRest } from '../../platform/rest.ts';
import { stateIn } from '../../platform/state.ts';
import type { ToldOrigins } from '../../ports.ts';
import { type LoadedConfiguration, loadConfiguration, loadKept } from '../../settings/configuration.ts';
import type { ModuleSources } from '../../settings/modules.ts';
import { openServer, portOf } from '../http-server.ts';
import { type Front, openFront } from '../sites/front.ts';
import type { ThreadData } from '../thread-data.ts';

import { countHere, openThreadApp, type Ports, say, threadSink } from './http-app.ts';
import { reply } from './message-ports.ts';
import type { ThreadInput } from './thread.ts';

/** The start data of a thread that answers the requests of several sites: the paths of their configurations. */
export type SitesInput = { configs: readonly string[]; logLevel: string };

/** The orders of the main thread. */
export type SitesOrder =
  | Listen
  /** To answer the requests of a site. */
  | Open
  /** To refuse the requests of a site. */
  | Close
  /** To show that the thread is not stuck. */
  | { kind: 'beat' }
  /** To finish the requests and end. */
  | { kind: 'stop' };
type Listen = {
  kind: 'listen';
  sites: readonly string[];
  state: Int32Array<SharedArrayBuffer>;
  /** For requests that belong to no site. */
  told: ToldOrigins;
  isProduction: boolean;
  address: Address;
};
type Open = {
  kind: 'open';
  site: string;
  config: string;
  sources: ModuleSources;
  threadData: ThreadData;
  ports: Ports;
  done: MessagePort;
};
type Close = { kind: 'close'; site: string; done: MessagePort };

const { configs, logLevel, pulse, metrics: connection, seat }: SitesInput & ThreadInput = workerData;
showPulse(pulse);
giveBackAtRest();
const stopMilliseconds = 10_000;
const sink = threadSink();
const metrics = countHere(connection);
const snapshotBudget = openBudget(seat);
/** The metrics of sites have no route: it belongs to the process. */
const metricsOfSites = metrics && { ...metrics, tokenHash: null };
const log = createLog(logLevel, sink);
const backlog = createBacklog(log);
const loading = new Map<string, Promise<LoadedConfiguration>>();
// Configurations load while the logs are opened. One that cannot be loaded is reported when it is needed.
for (const path of configs) load(path).catch(() => {});

let front: Front | null = null;
const closing = new Map<string, () => Promise<void>>();
let last: Promise<void> = Promise.resolve();

// Orders are carried out one after the other: a site that takes long to open may get the order to close meanwhile.
parent().on('message', (order: SitesOrder) => {
  if (order.kind === 'beat') beat();
  else last = last.then(() => carryOut(order));
});

async function carryOut(order: Exclude<SitesOrder, { kind: 'beat' }>): Promise<void> {
  if (order.kind === 'listen') await listen(order);
  else if (order.kind === 'open') await reply(order.done, () => open(order));
  // Closing waits for the requests of one site, and other orders do not wait for that.
  else if (order.kind === 'close') reply(order.done, () => close(order.site));
  else await stop();
}

async function listen({ sites, state, told, isProduction, address }: Listen): Promise<void> {
  front = await openFront({
    sites,
    state: () => stateIn(state),
    told,
    isProduction,
    backlog,
    metrics,
    log,
    patience: stopMilliseconds,
  });
  await listenOn(front.listener, address);
  say({ kind: 'listening', port: portOf(front.listener) });
}

async function open({ site, config, sources, threadData, ports }: Open): Promise<void> {
  const early = await load(config).catch(() => null);
  // The files may have changed since the main thread read them.
  const loaded = early && isOf(early, sources) ? early : await loadKept(config, sources);
  const app = openThreadApp({
    loaded,
    threadData,
    ports,
    log: createLog(logLevel, sink, site),
    metrics: metricsOfSites,
    snapshotBudget,
  });
  closing.set(site, app.close);
  front?.open(site, await openServer(app, backlog), loaded.model.cors);
}

async function close(site: string): Promise<void> {
  await front?.close(site);
  await closing.get(site)?.();
  closing.delete(site);
}

async function stop(): Promise<void> {
  await front?.stop();
  await Promise.all([...closing.values()].map((close) => close()));
  // A timer or connection that a configuration left open must not keep the service from ending.
  process.exit(0);
}

function isOf(loaded: LoadedConfiguration, sources: ModuleSources): boolean {
  return [...sources].every(([address, { source }]) => loaded.sources.get(address)?.source === source);
}

/** Loads a configuration, once for all sites that share it. */
function load(path: string): Promise<LoadedConfiguration> {
  const known = loading.get(path) ?? loadConfiguration(path);
  loading.set(path, known);
  return known;
}
