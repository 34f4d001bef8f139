import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Server } from '@hapi/hapi';
import pino, { type Logger } from 'pino';
import { type Opened, openApp } from './app.ts';
import { type Loaded, loadConfiguration } from './configuration.ts';
import { startServer } from './http.ts';
import { showProgress } from './progress.ts';
import { readSettings, type Settings } from './settings.ts';
import { StartError } from './writer.ts';

/** Runs the service until SIGTERM or SIGINT, then finishes what is in flight and closes everything. */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, ['config', 'data', 'host', 'port']);
  const loaded = await loadConfiguration(settings.config);
  const destination = pino.destination({ fd: 2, sync: false, minLength: 8192, periodicFlush: 100 });
  const log = pino({ level: settings.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  for (const warning of loaded.model.warnings) log.warn(warning);

  const opened = await openApp({
    model: loaded.model,
    data: settings.data,
    apiKeys: settings.apiKeys,
    secrets: settings.secrets,
    log,
    progress: showProgress('building the read tables'),
    onDeath: (error) => die(log, error),
  });
  let server: Server | null = null;
  try {
    server = await startServer(opened.app, settings.host, settings.port);
    const address = urlOf(settings.host, server.info.port);
    const reachable = urlOf(loopbackOf[settings.host] ?? settings.host, server.info.port);
    opened.app.baseUrl = settings.baseUrl ?? reachable;
    opened.announce(opened.app.baseUrl);

    const signalled = new Promise<'stop'>((resolve) => {
      // Not once: at Ctrl-C the terminal and npm both send one, and the second must not cut short what the first began.
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve('stop'));
    });
    const filled = fill(loaded, opened, settings, reachable);
    if ((await Promise.race([filled, signalled])) !== 'stop') {
      opened.app.state = 'ready';
      process.stdout.write(welcome(loaded, opened, address));
      await signalled;
    }
    // A first load that is cut short fails on the stopping server; it goes on at the next start.
    filled.catch(() => {});
  } finally {
    opened.app.state = 'stopping';
    await server?.stop({ timeout: 10_000 });
    await opened.close();
    destination.flushSync();
  }
  return 0;
}

/** Under which address a server that listens on every one can be called from here. */
const loopbackOf: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function urlOf(host: string, port: number | string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The writer is gone, and with it the only way to know what is on the disk: nothing is left but to start again. */
function die(log: Logger, error: Error): void {
  log.fatal({ err: error }, 'the writer failed; the process ends, and the next start recovers from the log');
  process.exitCode = 1;
  setTimeout(() => process.exit(1), 100);
}

/** Runs the configuration's `seed` once in the life of a data directory; one that was cut short is run again. */
async function fill({ seed }: Loaded, opened: Opened, settings: Settings, baseUrl: string): Promise<void> {
  const marker = join(opened.dataDirectory, 'seeded');
  if (!seed || existsSync(marker)) return;
  const apiKey = opened.generatedKey ?? (settings.apiKeys[0] as string);
  // Its hundreds of requests are not what the reader of the log wants to see first.
  const { level } = opened.app.log;
  opened.app.log.level = 'warn';
  await seed({ baseUrl, apiKey, progress: showProgress('loading the first documents') }).catch((error: Error) => {
    throw new StartError(`the first load failed, the next start goes on with it: ${error.message}`);
  });
  opened.app.log.level = level;
  writeFileSync(marker, `${new Date().toISOString()}\n`);
}

function welcome({ path, model }: Loaded, opened: Opened, address: string): string {
  const { app, dataDirectory, generatedKey, size } = opened;
  const key = generatedKey ?? '<your API key>';
  const slug = [...model.collections.keys()][0];
  const call = slug ? `/api/collections/${slug}?limit=1` : `/api/globals/${[...model.globals.keys()][0]}`;
  const lines = [
    `Annals ${version()}`,
    '',
    `  API      ${app.baseUrl}/api`,
    `  API key  ${generatedKey ? `${generatedKey}  (generated, kept in vault.db)` : 'as given by ANNALS_API_KEY'}`,
    `  Config   ${path}`,
    `  Data     ${dataDirectory}${size > 1 ? `  (${size} events at start)` : ''}`,
    '',
    '  Try it:',
    `  curl -H 'x-api-key: ${key}' '${app.baseUrl}${call}'`,
    '',
    `listening on ${address}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** The version of the package. */
export function version(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
