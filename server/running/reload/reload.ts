import type { Logger } from 'pino';
import { counted } from '../../../config/counted.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { refusalOf } from '../../../projections/start/schema-check.ts';
import { messageOf } from '../../../storage/errors.ts';
import type { Reloading, ReloadResult } from '../../ports.ts';
import { type LoadedConfiguration, loadKept } from '../../settings/configuration.ts';
import type { ModuleSources } from '../../settings/modules.ts';
import type { Settings } from '../../settings/settings.ts';
import type { PreparedEngine } from '../engine/configurations.ts';
import type { EngineReady } from '../engine/engine.ts';
import type { HandlerPool } from '../handler-pool.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { CheckResult } from '../threads/config-thread.ts';
import { warnOfConfiguration } from '../warnings.ts';
import { checkConfiguration } from './checking.ts';
import { differencesOf } from './differences.ts';

/** Reads the configuration of a running service again. */
export type Reloader = Reloading & {
  /** The configuration in force, and the modules that were read last, also for a configuration that was refused. */
  state: () => { loaded: LoadedConfiguration; seen: ModuleSources };
};

type Options = {
  settings: Settings;
  loaded: LoadedConfiguration;
  directory: string;
  /** Resolves when requests are answered. */
  ready: Promise<EngineReady>;
  handlers: HandlerPool;
  /** Called when a part of the service cannot follow the others. */
  onFailure: (error: Error, message: string) => void;
  metrics: Metrics | null;
  log: Logger;
};

/**
 * Creates the reloader of a service. A thread of its own loads and checks a configuration; then all parts that depend
 * on it are prepared, and only then it is taken over: until then an error changes nothing.
 */
export function createReloader(options: Options): Reloader {
  const { settings, directory, ready, handlers, onFailure, metrics, log } = options;
  let current = options.loaded;
  let seen = current.sources;
  let last: Promise<unknown> = ready.catch(() => {});

  function reload({ acceptsLoss } = { acceptsLoss: false }): Promise<ReloadResult> {
    const reloaded = last.then(() => reloadNow(acceptsLoss));
    last = reloaded.catch(() => {});
    return reloaded;
  }

  async function reloadNow(acceptsLoss: boolean): Promise<ReloadResult> {
    const result = await take(acceptsLoss);
    metrics?.reloaded(result.outcome);
    logReloaded(result, current, options);
    return result;
  }

  async function take(acceptsLoss: boolean): Promise<ReloadResult> {
    const engine = await ready;
    const checked = await checkConfiguration({ config: current.path, directory });
    seen = new Map([...current.sources, ...checked.sources]);
    if (checked.problem !== null) return { outcome: 'wrong', lines: checked.problem.split('\n') };
    seen = checked.sources;
    let next: LoadedConfiguration;
    try {
      next = await loadKept(current.path, checked.sources);
    } catch (error) {
      return { outcome: 'wrong', lines: messageOf(error).split('\n') };
    }
    const { stored, all } = differencesOf(current.model, next.model);
    const refusal = refusalOf(checked.changes, { isStrict: settings.strictSchema, acceptsLoss });
    if (refusal) return { outcome: 'wrong', lines: [`${refusal.reason}:`, ...refusal.lines], isLoss: refusal.isLoss };
    if (checked.hasOtherTables) {
      const losses = checked.changes.filter(({ isLoss }) => isLoss).map(({ line }) => `with --accept-loss: ${line}`);
      return { outcome: 'restart', lines: [...(stored.length > 0 ? stored : ['the read tables differ']), ...losses] };
    }
    const problem = await follow(engine, next, checked);
    if (problem !== null) return { outcome: 'wrong', lines: problem.split('\n') };
    return {
      outcome: all.length > 0 ? 'changed' : 'unchanged',
      lines: [...all, ...checked.changes.map(({ line }) => line)],
    };
  }

  /** Prepares all parts, then takes the configuration over. @returns why that failed; null on success. */
  async function follow(engine: EngineReady, next: LoadedConfiguration, checked: PassedCheck): Promise<string | null> {
    let prepared: PreparedEngine | null = null;
    let begun: Promise<void>;
    try {
      prepared = await engine.prepare(next);
      await handlers.prepare(next, prepared.client);
      begun = handlers.begin();
    } catch (error) {
      handlers.drop();
      await prepared?.drop();
      return messageOf(error);
    }
    prepared.begin();
    current = next;
    await begun.catch((error) => onFailure(error, 'a thread cannot take over the configuration that the others have'));
    if (!(await prepared.adopt(checked.isRecorded)))
      log.warn(
        'the changed rules are in force; they are recorded before the next write, when there is room on the disk',
      );
    return null;
  }

  return { reload, state: () => ({ loaded: current, seen }) };
}

/** Logs the result of reading the configuration again. */
function logReloaded(
  { outcome, lines, isLoss }: ReloadResult,
  { path, model }: LoadedConfiguration,
  { settings, log }: Pick<Options, 'settings' | 'log'>,
): void {
  const about: JsonObject = { config: path, lines: [...lines] };
  if (settings.isDev) log.debug(about, outcome);
  else if (outcome === 'changed') log.info(about, `the configuration was reloaded: ${counted(lines.length, 'change')}`);
  else if (outcome === 'unchanged') log.info('the configuration was reloaded: nothing in it has changed');
  else if (outcome === 'restart')
    log.warn(about, `the configuration was not reloaded: it needs a restart: ${lines[0]}`);
  else {
    const reason = lines.slice(0, isLoss ? 2 : 1).join(' ');
    log.error(about, `the configuration was not reloaded, and the former one stays in force: ${reason}`);
  }
  if (outcome === 'changed') warnOfConfiguration(log, settings, { model, path });
}

type PassedCheck = Extract<CheckResult, { problem: null }>;
