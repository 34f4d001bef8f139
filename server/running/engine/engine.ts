import { DomainError } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import { hasDrafts } from '../../../config/traits.ts';
import { createKeyService } from '../../accounts/keys/service.ts';
import { openSlotCounts } from '../../callers/answer-slots.ts';
import { openDuePublisher } from '../../documents/releases/due.ts';
import { type Phase, setState } from '../../platform/state.ts';
import { openMissingList } from '../../reads/missing-list.ts';
import type { OpenApp } from '../app/open-app.ts';
import type { Directory } from '../directory.ts';
import { type DueReleases, openDueReleases } from '../due-releases.ts';
import type { MetricSources } from '../metrics/readings.ts';
import { cannotReloadNode, refuseForNodes } from '../nodes/limits.ts';
import type { ThreadData } from '../thread-data.ts';
import { type MainVaultService, openVaultService } from '../vault-service.ts';
import { warnOfConfiguration, warnOfSecrets } from '../warnings.ts';
import { type AccountLinks, type AccountService, createAccountService } from './account-service.ts';
import { type Checkpointing, createCheckpointing } from './checkpointing.ts';
import { type Configurations, openConfigurations } from './configurations.ts';
import { type EngineConfiguration, openEngineClient } from './engine-client.ts';
import { openErasures } from './erasures.ts';
import { type EngineOptions, type Foundation, openFoundation } from './foundation.ts';
import { type LogWriter, startLogWriter } from './log-writer.ts';
import {
  type OpenedLog,
  openFiles,
  openKeys,
  openLog,
  openNotary,
  openWebhookService,
  threadDataOf,
  watchMachine,
} from './opening.ts';

/** The main-thread half of a service: everything but the request handlers. */
export type Engine = {
  directory: Directory;
  /** Resolves when requests may be answered; rejects when the directory cannot be worked on. */
  ready: Promise<EngineReady>;
  setState: (phase: Phase) => void;
  /** Finishes the work under way and closes everything. The request handlers are to be stopped before. */
  stop: () => Promise<void>;
};

/** The part of the engine that request handlers need, in worker threads or in this one. */
export type EngineReady = Pick<Configurations, 'client' | 'prepare'> & {
  /** Events in the log at start. */
  size: number;
  /** How many of the last events found at the start no checkpoint had signed. */
  unsigned: number;
  /** The start data of each thread that answers requests. */
  threadData: ThreadData;
  /** The parts that the metrics are read from. */
  observed: MetricSources;
  /**
   * Begins to send mail, whose links are known now.
   *
   * @param reachable the address by which the service can be called from here; null if it is not known. Then the
   * settings must say where clients reach the service.
   */
  announce: (reachable: string | null) => ServiceAddresses;
};

/** Where clients reach the service, and its admin application: null if that is turned off. */
export type ServiceAddresses = AccountLinks & { baseUrl: string; adminUrl: string | null };

/** The parts of an engine that are there before the log is open. */
type StartedParts = {
  foundation: Foundation;
  logWriter: LogWriter;
  accounts: AccountService;
  vaultService: MainVaultService;
  checkpointing: Checkpointing;
};

/**
 * Starts the engine on a data directory: the writer, the secrets of accounts, the guard of files, signing and mail. A
 * start that fails closes what it has opened.
 *
 * @throws LockedError when another process works on the directory, or this one already does; UnwritableError when this
 * user may not.
 */
export function startEngine(options: EngineOptions): Engine {
  const { settings, loaded, log } = options;
  refuseForNodes({ settings, loaded });
  warnOfConfiguration(log, settings, loaded);
  warnOfSecrets(log, settings);
  const foundation = openFoundation(options);
  const { directory, state, parts } = foundation;

  function stop(): Promise<void> {
    setState(state, 'stopping');
    return parts.close();
  }

  const ready = openEngine(foundation);
  // A start that `stop` cuts short fails on the parts that are closed then.
  ready.catch(stop).catch(() => {});
  return { directory, ready, setState: (phase) => setState(state, phase), stop };
}

/** Opens the parts, each when those are open that it needs. They are closed in the reverse order. */
async function openEngine(foundation: Foundation): Promise<EngineReady> {
  const started = startParts(foundation);
  const { logWriter, accounts, checkpointing } = started;
  const opened = await openLog(started, accounts);
  watchMachine(foundation);
  const keys = await openKeys(started, opened);
  const { guard, moving } = await openFiles(started, opened);
  const { notary, unsigned } = await openNotary(started, opened, { checkpointing, keys, guard });
  const erasures = openErasures({ ...started, guard, moving });
  const webhooks = openWebhookService(foundation, opened);
  const threadData = threadDataOf(foundation, logWriter.search, opened);
  const openClient = clientOpener(started, { threadData, notary, guard, erasures, webhooks: webhooks.port });
  const configurations = openConfigurations({
    loaded: foundation.options.loaded,
    threadData,
    openClient,
    accounts,
    webhooks,
    adopt: logWriter.writer.adopt,
  });
  const { client, prepare } = foundation.parts.add(configurations, ({ close }) => close());
  await openMail(started, opened, openClient);
  const dueReleases = openDue(started, opened, client);
  return {
    size: opened.size,
    unsigned,
    threadData,
    client,
    prepare,
    observed: observedOf(started, opened),
    announce(reachable) {
      const addresses = announce(started, opened.model, reachable);
      dueReleases?.begin();
      return addresses;
    },
  };
}

/** The parts that load while the writer opens the log. */
function startParts(foundation: Foundation): StartedParts {
  const { options, parts, directory, now, mayRecord } = foundation;
  const { settings, loaded, log, node, isBrief, onFailure } = options;
  const logWriter = startLogWriter(foundation);
  const { writer, upToDate } = logWriter;
  const accounts = createAccountService({
    directory,
    model: loaded.model,
    settings,
    now,
    log,
    openMailLease: node && ((onGained) => node.openLogLease({ name: 'mail', onGained, mayTake: mayRecord, upToDate })),
  });
  parts.add(accounts.passwords, ({ close }) => close());
  const vaultService = parts.add(
    openVaultService({
      vault: directory.vaultPort,
      passwords: accounts.passwords.passwords,
      now,
      onPurgeFailure: (err) =>
        log.error({ err }, 'drafts or kept answers that have expired could not be deleted; it is tried again'),
    }),
    ({ close }) => close(),
  );
  const checkpointing = createCheckpointing({
    settings,
    directory,
    keep: writer.keepCheckpoint,
    now,
    log,
    isBrief,
    onContradiction: (error) => onFailure(error, 'the log is not the one that was signed'),
  });
  return { foundation, logWriter, accounts, vaultService, checkpointing };
}

type ClientParts = Pick<
  Parameters<typeof openEngineClient>[0],
  'threadData' | 'notary' | 'guard' | 'erasures' | 'webhooks'
>;

/** Opens clients of the engine, of which each is of one configuration. */
function clientOpener({ foundation, logWriter, vaultService }: StartedParts, ready: ClientParts) {
  const { options, parts, directory, now } = foundation;
  const { settings, log, reload = cannotReload } = options;
  const missingIndexes = parts.add(openMissingList(directory.path), ({ close }) => close());
  const common = {
    ...ready,
    writer: logWriter.writer,
    vault: vaultService.vault,
    keyService: createKeyService(directory.vaultPort.apiKeys, now),
    // One for all configurations: an answer that is open when another one begins still counts.
    slotCounts: openSlotCounts(),
    missingIndexes: { note: missingIndexes.note, all: missingIndexes.all },
    reload: settings.log === undefined ? reload : cannotReloadNode,
    directory: directory.path,
    log,
  };
  return (loaded: EngineConfiguration, generation: number | null) =>
    openEngineClient({ ...common, loaded, generation });
}

/** Makes mail ready. The main thread reads accounts as request handlers do. */
async function openMail(
  { foundation: { options, parts }, accounts }: StartedParts,
  { id, model }: OpenedLog,
  openClient: ReturnType<typeof clientOpener>,
): Promise<void> {
  if (model.adminCollection === null || options.isBrief) return;
  parts.add(accounts, ({ closeMail }) => closeMail());
  await accounts.open(openClient(options.loaded, null).openHere(), id);
}

/** Opens a publisher for the releases that are due, to be closed soon. */
function openPublisher(app: OpenApp) {
  return { publish: openDuePublisher(app), close: app.close };
}

/** Makes releases ready to be published at their times; null without drafts. */
function openDue(
  { foundation, logWriter: { upToDate } }: StartedParts,
  { readFile, model }: OpenedLog,
  client: Configurations['client'],
): DueReleases | null {
  const { options, parts, clock, now, mayRecord } = foundation;
  const { node, isBrief, log } = options;
  if (isBrief || !hasDrafts(model)) return null;
  const openLease =
    node && ((onGained: () => void) => node.openLogLease({ name: 'releases', onGained, mayTake: mayRecord, upToDate }));
  const due = openDueReleases({
    readFile,
    openPublisher: () => openPublisher(client().openHere()),
    clock,
    now,
    openLease,
    log,
  });
  return parts.add(due, ({ close }) => close());
}

function observedOf({ foundation, logWriter, checkpointing }: StartedParts, { readFile }: OpenedLog): MetricSources {
  const { options, directory, file, meter, state, clock } = foundation;
  return {
    directory: directory.path,
    logFile: file,
    readFile,
    meter,
    state,
    now: clock.believed,
    standing: options.settings.log === undefined ? null : logWriter.writer.standing,
    verification: checkpointing.verification,
  };
}

function announce({ foundation, accounts }: StartedParts, model: Model, reachable: string | null): ServiceAddresses {
  const { options, directory } = foundation;
  const { baseUrl: configured, site } = options.settings;
  const baseUrl = configured ?? reachable;
  if (baseUrl === null) throw new Error('the address under which clients reach the service is not known');
  if (reachable !== null) directory.announce(reachable);
  const query = site === null ? '' : `?site=${site}`;
  const adminUrl = model.admin ? `${baseUrl}/admin${query}` : null;
  return { baseUrl, adminUrl, ...accounts.announce(baseUrl) };
}

async function cannotReload(): Promise<never> {
  throw new DomainError('conflict', 'this service cannot read its configuration again: it must be started again');
}
