import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { mount, type ServiceOptions } from '../../server/index.ts';
import { apiKey, callerOf, type Service, temporaryFolder } from './service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line may hold anything
type LogLine = any;

/** A service in the process of the test, reached over real HTTP. */
export type HereService = Pick<Service, 'url' | 'data' | 'call'> & {
  /** The lines of its log so far, parsed. */
  lines: () => LogLine[];
  stop: () => Promise<void>;
};

/** Options of a quiet service in this process, and what it logs. */
export function quietOptions(t: TestContext, config: Config, baseUrl: string) {
  const lines: LogLine[] = [];
  const logger = { write: (line: string) => lines.push(JSON.parse(line)) };
  const data = join(temporaryFolder(t), 'data');
  return { options: { config, data, baseUrl, apiKeys: [apiKey], logger } satisfies ServiceOptions, lines };
}

/**
 * Starts a service in this process, behind a server of `node:http`: for a fifth of what one costs that is a process of its own,
 * which a test needs only where it is about that process: signals, crashes, several threads, what it prints.
 *
 * @param path the path below which it is.
 */
export async function startHere(
  t: TestContext,
  config: Config,
  { path = '', ...more }: Partial<ServiceOptions> = {},
): Promise<HereService> {
  const server = createServer((request, response) => cms.handler(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const { options, lines } = quietOptions(t, config, url);
  const cms = mount({ ...options, ...more });
  async function stop(): Promise<void> {
    server.close();
    await cms.close();
    server.closeAllConnections();
  }
  t.after(stop);
  await cms.ready;
  return { url, data: more.data ?? options.data, call: callerOf(url), lines: () => lines, stop };
}
