import { createInterface } from 'node:readline';
import { createLog, type Log, type LogSink, standardError } from '../../server/platform/logging.ts';
import { joinVault } from '../../server/running/nodes/vault.ts';
import { runSeed } from '../../server/running/seed.ts';
import { type Service, type ServiceReady, startService } from '../../server/running/service.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type LoadedConfiguration, loadAgain, loadConfiguration } from '../../server/settings/configuration.ts';
import { recordedSources } from '../../server/settings/modules.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { LossError } from '../../server/writer/writer.ts';
import { messageOf } from '../../storage/errors.ts';
import type { NoFlags } from '../flags.ts';
import { plainLines } from '../plain-lines.ts';
import { printable } from '../terminal.ts';
import { inWords } from './reload.ts';
import { heedHangUp, welcome } from './serve.ts';
import { type FileTexts, textsOf, watchSources } from './source-watch.ts';

/** The parts of `annals dev`. `reload` reloads the configuration of the running service. */
type DevSession = { settings: Settings; sink: LogSink; log: Log; stopped: Promise<'stopped'>; reload: () => void };

/**
 * `annals dev`: runs the service. When a file of the configuration is saved, reloads it, or restarts the service if
 * needed.
 */
export async function dev({ settings: given }: CommandLine<NoFlags>): Promise<number> {
  const settings: Settings = { ...given, isDev: true };
  const sink = plainLines(standardError());
  const log = createLog(settings.logLevel, sink);
  const { promise: stopped, resolve: stop } = Promise.withResolvers<'stopped'>();
  // Not once: at Ctrl-C the terminal and npm both send one.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop('stopped'));
  const session: DevSession = { settings, sink, log, stopped, reload: () => {} };
  heedHangUp(() => session.reload());
  let loaded: LoadedConfiguration | null = await loadConfiguration(settings.config);
  const { acceptLoss } = settings;
  const restarted = (ready: ServiceReady) => say([`restarted, listening on ${ready.address}`]);
  for (let isFirst = true; loaded; isFirst = false) {
    const own: LoadedConfiguration = loaded;
    const tell = (service: Service, ready: ServiceReady) => {
      // Clients of the first one go on with the same address.
      session.settings = { ...settings, acceptLoss, port: Number(new URL(ready.address).port) };
      if (isFirst) process.stdout.write(welcome(own, service.directory, ready));
      else restarted(ready);
    };
    const end = await runAsked(session, own, tell).catch((error) => {
      if (isFirst) throw error;
      session.settings = { ...session.settings, acceptLoss };
      say(['cannot start', messageOf(error)]);
      return 'failed' as const;
    });
    loaded = end === 'stopped' ? null : await loadSaved(session, own, end === 'failed');
  }
  return 0;
}

/** As {@link run}; if documents would show less, asks whether they may. */
async function runAsked(
  session: DevSession,
  loaded: LoadedConfiguration,
  tell: Parameters<typeof run>[2],
): Promise<End> {
  try {
    return await run(session, loaded, tell);
  } catch (error) {
    if (!(error instanceof LossError) || !isAsking()) throw error;
    process.stdout.write(`${printableLines(messageOf(error))}\n`);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const question = askForLoss(resolve);
    const answer = await Promise.race([promise, session.stopped]);
    question.close();
    if (answer === 'stopped') return answer;
    if (!answer) throw error;
    session.settings = { ...session.settings, acceptLoss: true };
    return run(session, loaded, tell);
  }
}

type End = 'stopped' | 'restart';

/** Runs a service until a signal comes, or a saved configuration needs another one. */
async function run(
  session: DevSession,
  loaded: LoadedConfiguration,
  tell: (service: Service, ready: ServiceReady) => void,
): Promise<End> {
  const { settings, sink, log, stopped } = session;
  const { promise: restart, resolve } = Promise.withResolvers<'restart'>();
  const node = await joinVault({ settings, loaded, log });
  const service = startService({ settings, loaded, sink, log, node });
  let isWrong = false;
  let unwatch = () => {};

  let question = { close: () => {} };

  /** Another configuration that is saved meanwhile takes a question back. */
  async function reload(acceptsLoss = session.settings.acceptLoss): Promise<void> {
    question.close();
    const result = await service.reloader.reload({ acceptsLoss });
    isWrong = result.outcome === 'wrong';
    if (result.outcome === 'restart') {
      session.settings = { ...session.settings, acceptLoss: acceptsLoss };
      resolve('restart');
      return;
    }
    const { said } = inWords(result);
    if (!result.isLoss || !isAsking()) return say(said);
    process.stdout.write(`${printableLines(said.join('\n'))}\n`);
    question = askForLoss((isAccepted) => {
      if (isAccepted) reload(true).catch(failed);
    });
  }

  async function start(): Promise<'stopped' | 'restart'> {
    const ready = await service.ready;
    await runSeed({ loaded, directory: service.directory, settings, baseUrl: ready.reachable });
    service.setState('ready');
    session.reload = () => void reload().catch(failed);
    const seen = () => ({ sources: service.reloader.state().seen, isWrong });
    unwatch = watchSources(seen, () => reload().catch(failed));
    tell(service, ready);
    return restart;
  }

  const failed = (err: Error) => log.error({ err }, 'the configuration could not be reloaded');
  const started = start();
  try {
    return await Promise.race([started, stopped]);
  } finally {
    started.catch(() => {});
    unwatch();
    question.close();
    session.reload = () => {};
    await service.stop();
  }
}

/**
 * Loads the configuration again, once it can be; null when a signal comes. @param isWaiting first waits until a file is
 * saved.
 */
async function loadSaved(
  { stopped }: DevSession,
  before: LoadedConfiguration,
  isWaiting: boolean,
): Promise<LoadedConfiguration | null> {
  let looked = textsOf(before.sources);
  for (let isFirst = !isWaiting; ; isFirst = false) {
    if (!isFirst && (await Promise.race([saved(before, looked), stopped])) === 'stopped') return null;
    looked = textsOf(before.sources);
    try {
      return await loadAgain(before.path);
    } catch (error) {
      say(['cannot start', messageOf(error)]);
    }
  }
}

async function saved(before: LoadedConfiguration, looked: FileTexts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sources = new Map([...before.sources, ...recordedSources()]);
  const unwatch = watchSources(
    () => ({ sources, isWrong: true }),
    async () => resolve(),
    looked,
  );
  await promise;
  unwatch();
}

/** Whether there is a terminal to ask on. */
function isAsking(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** Asks whether documents may show less. @returns takes the question back. */
function askForLoss(answered: (isAccepted: boolean) => void): { close: () => void } {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  // At a terminal it comes here alone.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  let isAccepted = false;
  reader.once('close', () => answered(isAccepted));
  reader.question('Go on all the same? [y/N] ', (answer) => {
    isAccepted = /^\s*y(es)?\s*$/i.test(answer);
    reader.close();
  });
  return reader;
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** In one line. */
function say([heading = '', ...lines]: readonly string[]): void {
  const points = lines.flatMap((line) => line.split('\n')).map(printable);
  // A line that leads to those below it ends in a colon.
  const told = points.join('; ').replaceAll(':; ', ': ');
  process.stdout.write(`${heading}${told === '' ? '' : `: ${told}`}\n`);
}
