import { type MessagePort, workerData } from 'node:worker_threads';
import { openRoom } from '../../../projections/past/snapshot-budget.ts';
import type { Address } from '../../http/listener.ts';
import { beat, showPulse } from '../../http/pulse.ts';
import { createLog } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import { giveBackAtRest } from '../../platform/rest.ts';
import { type Loaded, loadKept } from '../../settings/configuration.ts';
import type { Sources } from '../../settings/modules.ts';
import { createAnswerer } from '../handler.ts';
import type { OpenApp, Shared } from '../open-app.ts';
import type { ThreadInput } from './http.ts';
import { countHere, openThreadApp, type Ports, say, threadSink } from './http-app.ts';
import { reply } from './message-ports.ts';

/**
 * The start data of a thread that answers requests. Functions do not pass between threads: each loads its own, from the
 * texts that the main thread has read, so that all have the same, whatever is in the files by now.
 */
export type HttpInput = { config: string; sources: Sources; logLevel: string };

/**
 * Orders of the main thread: to answer requests; to make ready to answer by another configuration, to do so, or not to;
 * to show that it goes on; to finish the requests in flight and end.
 */
export type HttpOrder =
  | Listen
  | Prepare
  | { kind: 'begin' | 'drop'; done: MessagePort }
  | { kind: 'beat' }
  | { kind: 'stop' };
type Opening = { shared: Shared; ports: Ports };
type Listen = Opening & { kind: 'listen'; address: Address };
type Prepare = Opening & { kind: 'prepare'; config: string; sources: Sources; done: MessagePort };

const { config, sources, logLevel, pulse, metrics: way, seat }: HttpInput & ThreadInput = workerData;
showPulse(pulse);
giveBackAtRest();
const sink = threadSink();
const metrics = countHere(way);
const copyRoom = openRoom(seat);
const loaded = await loadKept(config, sources);
const answerer = createAnswerer(createLog(logLevel, sink));

parent().on('message', async (order: HttpOrder) => {
  if (order.kind === 'beat') beat();
  else if (order.kind === 'listen')
    say({ kind: 'listening', port: await answerer.listen(open(loaded, order), order.address) });
  else if (order.kind === 'prepare') await reply(order.done, () => prepare(order));
  else if (order.kind === 'stop') {
    await answerer.stop();
    // A timer or connection that the configuration left open must not keep the service from ending.
    process.exit(0);
  } else await reply(order.done, answerer[order.kind]);
});

async function prepare(order: Prepare): Promise<void> {
  await answerer.prepare(open(await loadKept(order.config, order.sources), order));
}

function open({ model }: Pick<Loaded, 'model'>, { shared, ports }: Opening): OpenApp {
  const log = createLog(logLevel, sink, shared.site);
  const app = openThreadApp({ loaded: { model }, shared, ports, log, metrics, copyRoom });
  return {
    ...app,
    async close() {
      await app.close();
      for (const port of Object.values(ports)) port.close();
    },
  };
}
