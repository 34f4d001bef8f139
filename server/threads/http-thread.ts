import type { AddressInfo } from 'node:net';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Keeper } from '../accounts/keeper.ts';
import { openApp, type Shared } from '../app.ts';
import type { Pins } from '../blobs/pins.ts';
import { loadConfiguration } from '../configuration.ts';
import type { Erasers } from '../erasure/eraser.ts';
import { type Address, startServer } from '../http.ts';
import { createLog, gatherLines } from '../logging.ts';
import type { Notary } from '../notary/notary.ts';
import { connectWriter } from './append.ts';
import { callsThrough } from './calls.ts';
import { makeOpenApiApart } from './openapi.ts';

/** What a thread that answers requests is started with. Functions do not pass between threads: each loads its own. */
export type HttpInput = { config: string; logLevel: string };

/** What the main thread asks for: to answer requests, to finish what is in flight and end. */
export type HttpOrder = Listen | { kind: 'stop' };
type Listen = { kind: 'listen'; shared: Shared; address: Address } & {
  [port in 'writer' | 'keeper' | 'notary' | 'pins' | 'eraser']: MessagePort;
};

/** What the thread tells: the port it answers on, and lines for the log. */
export type HttpMessage = { kind: 'listening'; port: number } | { kind: 'log'; lines: string };

const main = parentPort as MessagePort;
const { config, logLevel } = workerData as HttpInput;
/** Who describes the service needs no files, and no keys to a bucket. */
const noBlobs: Shared['blobs'] = { kind: 'folder', folder: '' };
const stopMilliseconds = 10_000;

const sink = gatherLines((lines) => say({ kind: 'log', lines }));
// However the thread ends, what it had to say about that is the last of its lines.
process.on('exit', sink.flushSync);

const { model } = await loadConfiguration(config);
let stop = async () => {};

main.on('message', async (order: HttpOrder) => {
  if (order.kind === 'listen') await listen(order);
  else {
    await stop();
    // What the configuration left running, a timer or a connection, must not keep the service from ending.
    process.exit(0);
  }
});

async function listen({ shared, writer, keeper, notary, pins, eraser, address }: Listen): Promise<void> {
  const log = createLog(logLevel, sink);
  const openApi = () =>
    makeOpenApiApart({ config, shared: { ...shared, apiKeys: [], secrets: [], attemptSecret: '', blobs: noBlobs } });
  const ports = {
    append: connectWriter(writer),
    keeper: callsThrough<Keeper>(keeper),
    notary: callsThrough<Notary>(notary),
    pins: callsThrough<Pins>(pins),
    eraser: callsThrough<Erasers>(eraser),
  };
  const app = openApp({ model, shared, ...ports, log, openApi });
  const server = await startServer(app, address);
  stop = async () => {
    await server.stop({ timeout: stopMilliseconds });
    await app.close();
  };
  say({ kind: 'listening', port: (server.listener.address() as AddressInfo).port });
}

function say(message: HttpMessage): void {
  main.postMessage(message);
}
