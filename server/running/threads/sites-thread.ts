import { type MessagePort, workerData } from 'node:worker_threads';
import { openRoom } from '../../../projections/past/snapshot-budget.ts';
import { createBacklog } from '../../http/backlog.ts';
import { type Address, listen as listenOn } from '../../http/listener.ts';
import { beat, showPulse } from '../../http/pulse.ts';
import { createLog } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import { giveBackAtRest } from '../../platform/rest.ts';
import { stateIn } from '../../platform/state.ts';
import type { ToldOrigins } from '../../ports.ts';
import { type Loaded, loadConfiguration, loadKept } from '../../settings/configuration.ts';
import type { Sources } from '../../settings/modules.ts';
import { openServer, portOf } from '../http-server.ts';
import type { Shared } from '../open-app.ts';
import { type Front, openFront } from '../sites/front.ts';
import type { ThreadInput } from './http.ts';
import { countHere, openThreadApp, type Ports, say, threadSink } from './http-app.ts';
import { reply } from './message-ports.ts';

/** The start data of a thread that answers the requests of several sites: the configurations that it will need. */
export type SitesInput = { configs: readonly string[]; logLevel: string };

/**
 * Orders of the main thread: to listen, to answer the requests of a site, to refuse them, to show that it goes on, to
 * end.
 */
export type SitesOrder = Listen | Open | Close | { kind: 'beat' } | { kind: 'stop' };
type Listen = {
  kind: 'listen';
  sites: readonly string[];
  state: Int32Array<SharedArrayBuffer>;
  /** For requests that are of no site. */
  told: ToldOrigins;
  isProduction: boolean;
  address: Address;
};
type Open = {
  kind: 'open';
  site: string;
  config: string;
  sources: Sources;
  shared: Shared;
  ports: Ports;
  done: MessagePort;
};
type Close = { kind: 'close'; site: string; done: MessagePort };

const { configs, logLevel, pulse, metrics: way, seat }: SitesInput & ThreadInput = workerData;
showPulse(pulse);
giveBackAtRest();
const stopMilliseconds = 10_000;
const sink = threadSink();
const metrics = countHere(way);
const copyRoom = openRoom(seat);
/** The route is that of the process, not of a site. */
const metricsOfSites = metrics && { ...metrics, tokenHash: null };
const log = createLog(logLevel, sink);
const backlog = createBacklog(log);
const loading = new Map<string, Promise<Loaded>>();
// While the logs are opened. A configuration that cannot be loaded is reported when it is needed.
for (const path of configs) load(path).catch(() => {});

let front: Front | null = null;
const closing = new Map<string, () => Promise<void>>();
let last: Promise<void> = Promise.resolve();

// One after the other: what opens may take a while, and may be told to close meanwhile.
parent().on('message', (order: SitesOrder) => {
  if (order.kind === 'beat') beat();
  else last = last.then(() => carryOut(order));
});

async function carryOut(order: Exclude<SitesOrder, { kind: 'beat' }>): Promise<void> {
  if (order.kind === 'listen') await listen(order);
  else if (order.kind === 'open') await reply(order.done, () => open(order));
  // The start does not wait for the requests of one site.
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

async function open({ site, config, sources, shared, ports }: Open): Promise<void> {
  const early = await load(config).catch(() => null);
  // The files may have changed since the main thread has read them.
  const loaded = early && isOf(early, sources) ? early : await loadKept(config, sources);
  const app = openThreadApp({
    loaded,
    shared,
    ports,
    log: createLog(logLevel, sink, site),
    metrics: metricsOfSites,
    copyRoom,
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

function isOf(loaded: Loaded, sources: Sources): boolean {
  return [...sources].every(([address, { source }]) => loaded.sources.get(address)?.source === source);
}

/** Sites may share a configuration. */
function load(path: string): Promise<Loaded> {
  const known = loading.get(path) ?? loadConfiguration(path);
  loading.set(path, known);
  return known;
}
