import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import { createLog, type LogSink, standardError } from '../../server/platform/logging.ts';
import { giveBackAtRest, holdBackV8 } from '../../server/platform/rest.ts';
import type { Phase } from '../../server/platform/state.ts';
import { version } from '../../server/platform/version.ts';
import type { Directory } from '../../server/running/directory.ts';
import { drain } from '../../server/running/draining.ts';
import { joinVault } from '../../server/running/nodes/vault.ts';
import { runSeed } from '../../server/running/seed.ts';
import { type ServiceReady, startService } from '../../server/running/service.ts';
import { startSites } from '../../server/running/sites/service.ts';
import type { Site, Working } from '../../server/running/sites/site.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type LoadedConfiguration, loadConfiguration } from '../../server/settings/configuration.ts';
import type { Settings, SiteSettings } from '../../server/settings/settings.ts';
import type { NoFlags } from '../flags.ts';

/** Runs the service until SIGTERM or SIGINT, then finishes the requests in flight and closes everything. */
export async function serve({ settings }: CommandLine<NoFlags>): Promise<number> {
  const sink = standardError();
  giveBackAtRest(holdBackV8);
  return settings.sites ? serveSites(settings, settings.sites, sink) : serveOne(settings, sink);
}

async function serveOne(settings: Settings, sink: LogSink): Promise<number> {
  const loaded = await loadConfiguration(settings.config);
  const log = createLog(settings.logLevel, sink);

  const node = await joinVault({ settings, loaded, log });
  const begin = () => {
    const service = startService({ settings, loaded, sink, log, node });
    return { ...service, hangUp: () => void service.reloader.reload().catch((err) => log.error({ err }, notReloaded)) };
  };
  return untilSignal({ log, drainSeconds: settings.drainSeconds, begin }, async (service, isStopping) => {
    const ready = await service.ready;
    await runSeed({ loaded, directory: service.directory, settings, baseUrl: ready.reachable });
    if (isStopping()) return;
    service.setState('ready');
    process.stdout.write(welcome(loaded, service.directory, ready));
  });
}

async function serveSites(settings: Settings, sites: readonly SiteSettings[], sink: LogSink): Promise<number> {
  const log = createLog(settings.logLevel, sink);

  const refuse = () => log.warn('SIGHUP is ignored: with several sites, changed configurations need a restart');
  const begin = () => ({ ...startSites({ settings, sites, sink, log }), hangUp: refuse });
  return untilSignal({ log, drainSeconds: settings.drainSeconds, begin }, async (service, isStopping) => {
    const ready = await service.ready;
    if (!isStopping()) process.stdout.write(welcomeToSites(ready.sites, ready.address));
  });
}

const notReloaded = 'the configuration could not be reloaded';

type Stoppable = { setState: (phase: Phase) => void; hangUp: () => void; stop: () => Promise<void> };

/** Starts a service and stops it at a signal, also during its start, and if it cannot start. */
async function untilSignal<Service extends Stoppable>(
  { log, drainSeconds, begin }: { log: Logger; drainSeconds: number; begin: () => Service },
  start: (service: Service, isStopping: () => boolean) => Promise<void>,
): Promise<number> {
  let isStopping = false;
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    // Not once: at Ctrl-C the terminal and npm both send one, and the second must not interrupt the stop.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
  const service = begin();
  heedHangUp(service.hangUp);
  const started = start(service, () => isStopping);
  try {
    const first = await Promise.race([started, signalled]);
    const signal = await signalled;
    // A service that still starts has no requests to be sent elsewhere.
    if (first === undefined && signal === 'SIGTERM' && drainSeconds > 0) await drain(service, drainSeconds, log);
  } finally {
    // An interrupted start fails on what is closed now; a first load continues at the next start.
    started.catch(() => {});
    isStopping = true;
    await service.stop();
  }
  return 0;
}

/** SIGHUP asks to read the configuration again; but if the terminal has gone, it ends the process. */
export function heedHangUp(reload: () => void): void {
  const terminals = [0, 1, 2].filter(isatty);
  function hangUp(): void {
    if (terminals.every(isatty)) {
      reload();
      return;
    }
    process.off('SIGHUP', hangUp);
    process.kill(process.pid, 'SIGHUP');
  }
  process.on('SIGHUP', hangUp);
}

/** The lines that name the address of a service, and show a first call. */
export function welcome(
  { path, model }: LoadedConfiguration,
  directory: Directory,
  { baseUrl, address, size, unsigned, adminUrl, setupUrl, mailUrl }: ServiceReady,
): string {
  const { generatedKey } = directory;
  const key = generatedKey ?? '<your API key>';
  const slug = [...model.collections.values()].find(({ auth }) => !auth)?.slug;
  const global = [...model.globals.keys()][0];
  const call = slug ? `/api/collections/${slug}?limit=1` : global ? `/api/globals/${global}` : '/api/schemas';
  const lines = [
    `Annals ${version()}`,
    '',
    ...(adminUrl ? [`  Admin    ${adminUrl}`] : []),
    `  API      ${baseUrl}/api`,
    `  Docs     ${baseUrl}/api/docs`,
    `  API key  ${generatedKey ? `${generatedKey}  (generated, kept in ${directory.node ? 'PostgreSQL' : 'vault.db'})` : 'as given by ANNALS_API_KEY'}`,
    ...(setupUrl ? [`  Setup    ${setupUrl}  (makes the first user, once)`] : []),
    ...(mailUrl ? [`  Mail     ${mailUrl}  (what would be sent is shown here)`] : []),
    `  Config   ${path}`,
    `  Data     ${directory.path}${size > 1 ? `  (${size} events at start${unsigned > 0 ? `, ${unsigned} of them not signed before` : ''})` : ''}`,
    '',
    '  Try it:',
    `  curl -H 'x-api-key: ${key}' '${baseUrl}${call}'`,
    '',
    `listening on ${address}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** All of it is in the log. */
const longestReason = 200;

function welcomeToSites(sites: readonly Site[], address: string): string {
  const width = Math.max(...sites.map(({ settings }) => settings.site.length));
  const lines = sites.map((site) => {
    const working = site.working();
    const reason = (site.failure()?.message ?? '').replace(/\s+/g, ' ').slice(0, longestReason);
    return `  ${site.settings.site.padEnd(width)}  ${working ? lineOf(working) : `not available: ${reason}`}`;
  });
  return `Annals ${version()}\n\n${lines.join('\n')}\n\nlistening on ${address}\n`;
}

function lineOf({ baseUrl, adminUrl, setupUrl, mailUrl, engine }: Working): string {
  const { generatedKey } = engine.directory;
  const key = generatedKey ? `  key ${generatedKey} (generated)` : '';
  const admin = adminUrl ? `  admin ${adminUrl}` : '';
  return `${baseUrl}/api${admin}${key}${setupUrl ? `  setup ${setupUrl}` : ''}${mailUrl ? `  mail ${mailUrl}` : ''}`;
}
