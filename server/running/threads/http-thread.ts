import { workerData } from 'node:worker_threads';
import type { Address } from '../../http/listener.ts';
import { showPulse } from '../../http/pulse.ts';
import { createLog } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import { loadConfiguration } from '../../settings/configuration.ts';
import { portOf, startServer } from '../http-server.ts';
import type { Shared } from '../open-app.ts';
import type { ThreadInput } from './http.ts';
import { countHere, openThreadApp, type Ports, say, threadSink } from './http-app.ts';

/** The start data of a thread that answers requests. Functions do not pass between threads: each loads its own. */
export type HttpInput = { config: string; logLevel: string };

/** Orders of the main thread: to answer requests; to finish the requests in flight and end. */
export type HttpOrder = Listen | { kind: 'stop' };
type Listen = { kind: 'listen'; shared: Shared; address: Address; ports: Ports };

const { config, logLevel, pulse, metrics: way }: HttpInput & ThreadInput = workerData;
showPulse(pulse);
const stopMilliseconds = 10_000;
const sink = threadSink();
const metrics = countHere(way);
const loaded = await loadConfiguration(config);
let stop = async () => {};

parent().on('message', async (order: HttpOrder) => {
  if (order.kind === 'listen') await listen(order);
  else {
    await stop();
    // A timer or connection that the configuration left open must not keep the service from ending.
    process.exit(0);
  }
});

async function listen({ shared, ports, address }: Listen): Promise<void> {
  const app = openThreadApp({ loaded, shared, ports, log: createLog(logLevel, sink, shared.site), metrics });
  const server = await startServer(app, address);
  stop = async () => {
    await server.stop({ timeout: stopMilliseconds });
    await app.close();
  };
  say({ kind: 'listening', port: portOf(server.listener) });
}
