import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { mount, type ServiceOptions } from '../../server/index.ts';
import { apiKey, callerOf, type Service, type TestConfig, temporaryFolder, writeConfig } from './service.ts';
import { useStarted } from './shared.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line may hold anything
type LogLine = any;

/** A service in the process of the test, reached over real HTTP. */
export type HereService = Pick<Service, 'url' | 'data' | 'call' | 'output'> & {
  /** The lines of the log so far, parsed; `output` has the same as one text. */
  lines: () => LogLine[];
  /** Where the first user is made; null if there is one, or without accounts. */
  setupUrl: string | null;
  stop: () => Promise<void>;
};

/** Options of a quiet service in this process, and the lines that it logs. */
export function quietOptions<C extends Config | string>(t: TestContext, config: C, baseUrl: string) {
  const lines: LogLine[] = [];
  const logger = { write: (line: string) => lines.push(JSON.parse(line)) };
  const data = join(temporaryFolder(t), 'data');
  return { options: { config, data, baseUrl, apiKeys: [apiKey], logger } satisfies ServiceOptions, lines };
}

/**
 * One service in this process for all tests of the `describe` (or file) that calls this.
 *
 * Tests of these need a service that is a process of its own (`useService`): signals, crashes, several threads, hooks
 * that block, printed output, and everything that our own listener does with a request that is not plain. Each kind of
 * call between threads (writes, accounts, files, erasure, proofs, drafts) must also be tested there, with
 * `ANNALS_THREADS`, because here these calls are calls of functions.
 */
export function useServiceHere(config: TestConfig, options: Partial<ServiceOptions> = {}): HereService {
  return useStarted((t) => startHere(t, config, options));
}

/**
 * Starts a service in this process, behind a server of `node:http`: for a fifth of the cost of a process of its own. A
 * test needs the latter only if it is about the process: signals, crashes, several threads, printed output.
 *
 * @param config the source of a module, or an object.
 * @param path the path below which the service answers; a `baseUrl` with another path is that of a proxy in front of
 * it.
 */
export async function startHere(
  t: TestContext,
  config: TestConfig,
  { path = '', ...more }: Partial<ServiceOptions> = {},
): Promise<HereService> {
  const server = createServer((request, response) => cms.handler(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const given = typeof config === 'string' ? writeConfig(temporaryFolder(t), config) : (config as Config);
  const { options, lines } = quietOptions(t, given, url);
  const cms = mount({ ...options, path: path || '/', ...more });
  async function stop(): Promise<void> {
    server.close();
    await cms.close();
    server.closeAllConnections();
  }
  t.after(stop);
  const { setupUrl } = await cms.ready;
  const output = () => ({ stdout: '', stderr: lines.map((line) => `${JSON.stringify(line)}\n`).join('') });
  const data = more.data ?? options.data;
  return { url, data, call: callerOf(url, data), output, lines: () => lines, setupUrl, stop };
}
