import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createIds } from '../events/ids.ts';
import { type Loaded, loadConfiguration } from './configuration.ts';
import { type Directory, openDirectory } from './directory.ts';
import { createLog, standardError } from './logging.ts';
import { showProgress } from './progress.ts';
import { readSettings, type Settings } from './settings.ts';
import { createState, setState, stateIn } from './state.ts';
import { startHttpThreads } from './threads/http.ts';
import { StartError, startWriter } from './threads/writer.ts';
import { version } from './version.ts';

/** Runs the service until SIGTERM or SIGINT, then finishes what is in flight and closes everything. */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, ['config', 'data', 'host', 'port', 'threads']);
  const loaded = await loadConfiguration(settings.config);
  const sink = standardError();
  const log = createLog(settings.logLevel, sink);
  for (const warning of loaded.model.warnings) log.warn(warning);

  const directory = openDirectory(settings);
  const state = createState();
  const threads = startHttpThreads({
    count: settings.threads,
    input: { config: loaded.path, logLevel: settings.logLevel },
    sink,
    log,
    onFailure: (error) => die(log, error, 'a thread that answers requests cannot be replaced; the process ends'),
  });
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const logId = `annals/${createIds(counter, Date.now).next().id}`;
  const writer = startWriter(
    { directory: directory.path, schema: loaded.model.schema, counter, logId },
    showProgress('building the read tables'),
    (error) => die(log, error, 'the writer failed; the process ends, and the next start recovers from the log'),
  );
  const signalled = new Promise<'stop'>((resolve) => {
    // Not once: at Ctrl-C the terminal and npm both send one, and the second must not cut short what the first began.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve('stop'));
  });

  async function start(): Promise<void> {
    const { readFile, size } = await writer.ready;
    const { apiKeys, secrets } = directory;
    const basePath = settings.baseUrl === undefined ? '/' : new URL(settings.baseUrl).pathname;
    const shared = { readFile, counter, state, apiKeys, secrets, basePath };
    const port = await threads.listen(shared, writer.connect, settings);
    const reachable = urlOf(loopbackOf[settings.host] ?? settings.host, port);
    const baseUrl = settings.baseUrl ?? reachable;
    directory.announce(baseUrl);
    await fill(loaded, directory, settings, reachable);
    if (stateIn(state) === 'stopping') return;
    setState(state, 'ready');
    process.stdout.write(welcome(loaded, directory, size, baseUrl, urlOf(settings.host, port)));
  }

  const started = start();
  try {
    await Promise.race([started, signalled]);
    await signalled;
  } finally {
    // A start that is cut short fails on what is closed now; a first load goes on at the next one.
    started.catch(() => {});
    setState(state, 'stopping');
    await threads.stop();
    await writer.close();
    directory.close();
    sink.flushSync();
  }
  return 0;
}

/** Under which address a server that listens on every one can be called from here. */
const loopbackOf: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function urlOf(host: string, port: number | string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Without a part of it the service answers wrongly or not at all: nothing is left but to start again. */
function die(log: Logger, error: Error, message: string): void {
  log.fatal({ err: error }, message);
  process.exitCode = 1;
  setTimeout(() => process.exit(1), 100);
}

/** Runs the configuration's `seed` once in the life of a data directory; one that was cut short is run again. */
async function fill({ seed }: Loaded, directory: Directory, settings: Settings, baseUrl: string): Promise<void> {
  const marker = join(directory.path, 'seeded');
  if (!seed || existsSync(marker)) return;
  const apiKey = directory.generatedKey ?? (settings.apiKeys[0] as string);
  await seed({ baseUrl, apiKey, progress: showProgress('loading the first documents') }).catch((error: Error) => {
    throw new StartError(`the first load failed, the next start goes on with it: ${error.message}`);
  });
  writeFileSync(marker, `${new Date().toISOString()}\n`);
}

function welcome({ path, model }: Loaded, directory: Directory, size: number, baseUrl: string, address: string) {
  const { generatedKey } = directory;
  const key = generatedKey ?? '<your API key>';
  const slug = [...model.collections.keys()][0];
  const call = slug ? `/api/collections/${slug}?limit=1` : `/api/globals/${[...model.globals.keys()][0]}`;
  const lines = [
    `Annals ${version()}`,
    '',
    `  API      ${baseUrl}/api`,
    `  Docs     ${baseUrl}/api/docs`,
    `  API key  ${generatedKey ? `${generatedKey}  (generated, kept in vault.db)` : 'as given by ANNALS_API_KEY'}`,
    `  Config   ${path}`,
    `  Data     ${directory.path}${size > 1 ? `  (${size} events at start)` : ''}`,
    '',
    '  Try it:',
    `  curl -H 'x-api-key: ${key}' '${baseUrl}${call}'`,
    '',
    `listening on ${address}`,
  ];
  return `${lines.join('\n')}\n`;
}
