import { type MessagePort, workerData } from 'node:worker_threads';
import { openBudget } from '../../../projections/past/snapshot-budget.ts';
import type { Address } from '../../http/listener.ts';
import { beat, showPulse } from '../../http/pulse.ts';
import { createLog } from '../../platform/logging.ts';
import { parent } from '../../platform/parent.ts';
import { giveBackAtRest } from '../../platform/rest.ts';
import { type LoadedConfiguration, loadKept } from '../../settings/configuration.ts';
import type { ModuleSources } from '../../settings/modules.ts';
import type { OpenApp } from '../app/open-app.ts';
import { createHandler } from '../handler.ts';
import type { ThreadData } from '../thread-data.ts';

import { countHere, openThreadApp, type Ports, say, threadSink } from './http-app.ts';
import { reply } from './message-ports.ts';
import type { ThreadInput } from './thread.ts';

/**
 * The start data of a thread that answers requests. Functions do not pass between threads, so each thread loads its
 * own, from the texts that the main thread has read: all then have the same, whatever the files hold by now.
 */
export type HttpInput = { config: string; sources: ModuleSources; logLevel: string };

/** The orders of the main thread. */
export type HttpOrder =
  /** To answer requests. */
  | Listen
  /** To prepare another configuration. */
  | Prepare
  /** To answer by the configuration that was prepared, or to drop it. */
  | { kind: 'begin' | 'drop'; done: MessagePort }
  /** To show that the thread is not stuck. */
  | { kind: 'beat' }
  /** To finish the requests and end. */
  | { kind: 'stop' };
type Opening = { threadData: ThreadData; ports: Ports };
type Listen = Opening & { kind: 'listen'; address: Address };
type Prepare = Opening & { kind: 'prepare'; config: string; sources: ModuleSources; done: MessagePort };

const { config, sources, logLevel, pulse, metrics: connection, seat }: HttpInput & ThreadInput = workerData;
showPulse(pulse);
giveBackAtRest();
const sink = threadSink();
const metrics = countHere(connection);
const snapshotBudget = openBudget(seat);
const loaded = await loadKept(config, sources);
const handler = createHandler(createLog(logLevel, sink));

parent().on('message', async (order: HttpOrder) => {
  if (order.kind === 'beat') beat();
  else if (order.kind === 'listen')
    say({ kind: 'listening', port: await handler.listen(open(loaded, order), order.address) });
  else if (order.kind === 'prepare') await reply(order.done, () => prepare(order));
  else if (order.kind === 'stop') {
    await handler.stop();
    // A timer or connection that the configuration left open must not keep the service from ending.
    process.exit(0);
  } else await reply(order.done, handler[order.kind]);
});

async function prepare(order: Prepare): Promise<void> {
  await handler.prepare(open(await loadKept(order.config, order.sources), order));
}

function open({ model }: Pick<LoadedConfiguration, 'model'>, { threadData, ports }: Opening): OpenApp {
  const log = createLog(logLevel, sink, threadData.site);
  const app = openThreadApp({ loaded: { model }, threadData, ports, log, metrics, snapshotBudget });
  return {
    ...app,
    async close() {
      await app.close();
      for (const port of Object.values(ports)) port.close();
    },
  };
}
