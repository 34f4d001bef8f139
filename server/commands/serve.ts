import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Loaded, loadConfiguration } from '../configuration.ts';
import type { Directory } from '../directory.ts';
import { createLog, standardError } from '../logging.ts';
import { type Ready, startService } from '../service.ts';
import { readSettings, type Settings } from '../settings.ts';
import { StartError } from '../threads/writer.ts';
import { version } from '../version.ts';
import { showProgress } from './progress.ts';

/** As many characters as the signature has bytes (RFC 7518, section 3.2). */
const safeLength = 32;
const weakSecret = `ANNALS_SECRET is shorter than ${safeLength} characters: who guesses it can make tokens of any user`;

/** Runs the service until SIGTERM or SIGINT, then finishes what is in flight and closes everything. */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(args, environment, ['config', 'data', 'host', 'port', 'threads']);
  const loaded = await loadConfiguration(settings.config);
  const sink = standardError();
  const log = createLog(settings.logLevel, sink);
  for (const warning of loaded.model.warnings) log.warn(warning);
  if (settings.secrets.some(({ length }) => length < safeLength)) log.warn(weakSecret);

  const service = startService({ settings, loaded, sink, log });
  let isStopping = false;
  const signalled = new Promise<'stop'>((resolve) => {
    // Not once: at Ctrl-C the terminal and npm both send one, and the second must not cut short what the first began.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve('stop'));
  });

  async function start(): Promise<void> {
    const ready = await service.ready;
    await fill(loaded, service.directory, settings, ready.reachable);
    if (isStopping) return;
    service.setState('ready');
    process.stdout.write(welcome(loaded, service.directory, ready));
  }

  const started = start();
  try {
    await Promise.race([started, signalled]);
    await signalled;
  } finally {
    // A start that is cut short fails on what is closed now; a first load goes on at the next one.
    started.catch(() => {});
    isStopping = true;
    await service.stop();
  }
  return 0;
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

function welcome({ path, model }: Loaded, directory: Directory, { baseUrl, address, size, setupUrl }: Ready): string {
  const { generatedKey } = directory;
  const key = generatedKey ?? '<your API key>';
  const slug = [...model.collections.values()].find(({ auth }) => !auth)?.slug;
  const global = [...model.globals.keys()][0];
  const call = slug ? `/api/collections/${slug}?limit=1` : global ? `/api/globals/${global}` : '/api/schemas';
  const lines = [
    `Annals ${version()}`,
    '',
    `  API      ${baseUrl}/api`,
    `  Docs     ${baseUrl}/api/docs`,
    `  API key  ${generatedKey ? `${generatedKey}  (generated, kept in vault.db)` : 'as given by ANNALS_API_KEY'}`,
    ...(setupUrl ? [`  Setup    ${setupUrl}  (makes the first user, once)`] : []),
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
