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
  /** The lines of its log so far, parsed; `output` has the same as one text. */
  lines: () => LogLine[];
  /** Where the first user is made; null when there is one, or without accounts. */
  setupUrl: string | null;
  stop: () => Promise<void>;
};

/** Options of a quiet service in this process, and what it logs. */
export function quietOptions<C extends Config | string>(t: TestContext, config: C, baseUrl: string) {
  const lines: LogLine[] = [];
  const logger = { write: (line: string) => lines.push(JSON.parse(line)) };
  const data = join(temporaryFolder(t), 'data');
  return { options: { config, data, baseUrl, apiKeys: [apiKey], logger } satisfies ServiceOptions, lines };
}

/**
 * One service in this process for all tests of the `describe` (or file) that calls this.
 *
 * Which tests need one that is a process of its own, by `useService`? Those about signals, crashes, several threads,
 * what hooks hold up, what is printed, and all that our own listener does with what is not a plain request. And
 * something of each kind of call between threads (writes, accounts, files, erasure, proofs, drafts) must be seen there,
 * with `ANNALS_THREADS`, since here they are calls of functions.
 */
export function useServiceHere(config: TestConfig, options: Partial<ServiceOptions> = {}): HereService {
  return useStarted((t) => startHere(t, config, options));
}

/**
 * Starts a service in this process, behind a server of `node:http`: for a fifth of what one costs that is a process of
 * its own, which a test needs only where it is about that process: signals, crashes, several threads, what it prints.
 *
 * @param config the source of a module, or an object.
 * @param path the path below which it is; a `baseUrl` with another is what a proxy before it would have.
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
