import { DomainError } from '../../config/errors.ts';
import { type PendingSegment, usualSizes } from '../../events/segments/segment-writer.ts';
import { withCategories } from '../../events/service-events/categories.ts';
import { createClock, newClockCell } from '../../events/store/clock.ts';
import { createIds, newestOf } from '../../events/store/ids.ts';
import { logFile, webhooksFile } from '../../projections/tables/files.ts';
import { createRowMarks } from '../../projections/tables/row-marks.ts';
import { searchFileOf, searchTablesOf } from '../../projections/tables/search-tables.ts';
import { createKeyService } from '../accounts/keys/service.ts';
import { type ErasureWorker, openErasureWorker } from '../audit/erasure/worker.ts';
import { openSlotCounts } from '../callers/answer-slots.ts';
import { type BlobGuard, openBlobGuard, requireFit } from '../files/blobs/guard.ts';
import { createPins } from '../files/blobs/pins.ts';
import { blobSettingsOf } from '../files/blobs/store.ts';
import { callsThrough } from '../platform/calls.ts';
import { createMeter } from '../platform/meter.ts';
import { agreementIn, createState, type Phase, setState } from '../platform/state.ts';
import { openMissingList } from '../reads/missing-list.ts';
import type { Loaded } from '../settings/configuration.ts';
import { readConditions } from '../webhooks/conditions.ts';
import { createWebhookService, type WebhookService } from '../webhooks/service.ts';
import { connectWriter } from '../writer/append.ts';
import { openArchiving } from '../writer/archiving.ts';
import type { Following, SegmentOutcome } from '../writer/messages.ts';
import { type Offloading, openOffloading } from '../writer/offloading.ts';
import { startSearch } from '../writer/search.ts';
import { createSearchCell } from '../writer/search-cell.ts';
import { findSegmentsOf } from '../writer/segment-store.ts';
import { startWriter } from '../writer/writer.ts';
import { type AccountLinks, createAccountService } from './account-service.ts';
import { createCheckpointing } from './checkpointing.ts';
import { warnOfRest, watchClock } from './clock.ts';
import { type Directory, openDirectory } from './directory.ts';
import { watchRoom } from './disk-watch.ts';
import { type Configured, openWays, type Ways } from './engine-client.ts';
import type { EngineOptions } from './engine-options.ts';
import { erasurePortOf } from './erasure-port.ts';
import type { Observed } from './metrics/readings.ts';
import { elsewhereOf } from './nodes/erasures.ts';
import { forgetFormer } from './nodes/former.ts';
import { cannotReloadNode, refuseForNodes } from './nodes/limits.ts';
import type { Shared } from './open-app.ts';
import { sharedOf } from './shared.ts';
import { keysInService } from './signing-keys.ts';
import { openVaultService } from './vault-service.ts';
import { warnOfConfiguration, warnOfSecrets, warnOfUnsigned } from './warnings.ts';

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
export type EngineReady = {
  /** Events in the log at start. */
  size: number;
  /** How many of those that it held before, the last ones, no checkpoint had signed. */
  unsigned: number;
  /** The data that each thread starts with. */
  shared: Shared;
  /** The ways to this engine by the configuration in force. */
  ways: () => Ways;
  /**
   * Makes ready to go on with another configuration, which has the same read tables. Nothing is changed yet.
   *
   * @throws UsageError or BlobsRefusedError for a configuration that the settings do not go with.
   */
  prepare: (next: Loaded) => Promise<PreparedEngine>;
  /** Where its metrics are read. */
  observed: Observed;
  /**
   * Begins to send mail, whose links are known now.
   *
   * @param reachable the address by which it can be called from here; null where that is not known. Then the settings
   * must say where clients reach it.
   */
  announce: (reachable: string | null) => Announced;
};

/** Another configuration that an engine is ready for. Either `begin` is called, and `adopt` after it, or `drop`. */
export type PreparedEngine = {
  ways: Ways;
  /** From now on `ways` of the engine are these. Commands of the new request handlers wait. */
  begin: () => void;
  /**
   * Lets the commands go on; those of former request handlers are refused.
   *
   * @param isNew whether the log has another schema or other rules, so that those are recorded.
   * @returns false when there was no room to record them: the next write tries again.
   */
  adopt: (isNew: boolean) => Promise<boolean>;
  drop: () => Promise<void>;
};

/** Where clients reach the service, and its admin application: null where that is turned off. */
export type Announced = AccountLinks & { baseUrl: string; adminUrl: string | null };

/**
 * Starts the engine on a data directory: the writer, the secrets of accounts, the guard of files, signing and mail.
 *
 * @throws LockedError when another process works on it, or this one already does; UnwritableError when this user may
 * not.
 */
export function startEngine(options: EngineOptions): Engine {
  const { settings, loaded, log, onFailure, progress = () => {}, holder, isBrief = false, node = null } = options;
  const { reload: reloadAlone = cannotReload, sizes = usualSizes } = options;
  const { model } = loaded;
  const reload = settings.log === undefined ? reloadAlone : cannotReloadNode;
  refuseForNodes({ settings, loaded });
  warnOfConfiguration(log, settings, loaded);
  warnOfSecrets(log, settings);
  const directory = openDirectory(settings, node, holder);
  for (const warning of directory.warnings) log.warn(warning);
  const file = logFile(directory.path);
  const blobs = blobSettingsOf(settings);
  findSegmentsOf(file, blobs, false);
  const state = createState();
  const meter = createMeter();
  const counter = new BigInt64Array(new SharedArrayBuffer(8));
  const clockCell = newClockCell();
  const marks = createRowMarks();
  const clock = createClock(clockCell);
  const ids = createIds(counter, clock.believed);
  const now = node?.now ?? clock.believed;
  const writer = startWriter(
    {
      directory: directory.path,
      schema: model.schema,
      rules: model.rules,
      counter,
      clockCell,
      marks,
      logId: `annals/${ids.next().id}`,
      signed: node ? [...node.signed] : directory.vault.logKeys.signed(),
      seals: directory.vault.seals(),
      meter,
      state,
      acceptsClock: settings.acceptClock,
      isStrict: settings.strictSchema,
      acceptsLoss: settings.acceptLoss,
      segmentSizes: isBrief ? null : sizes,
      blobs,
      noBackup: settings.noBackup,
      ...(settings.log !== undefined && {
        shared: { address: settings.log, node: settings.node, appliesSchema: settings.applySchema },
      }),
    },
    {
      progress,
      onChanges: (lines) => {
        for (const line of lines) log.warn(line);
      },
      onSealed: directory.vault.remembersSealed,
      onUpgrade: options.onUpgrade ?? ((line) => log.warn(line)),
      onSegmentDue: () => archiving.archive(),
      onWarning: (message) => log.warn(message),
      onErased: () => erasures?.wake(),
    },
    (error) => onFailure(error, 'the writer failed, and the next start recovers from the log'),
  );
  async function keep(pending: PendingSegment): Promise<SegmentOutcome> {
    const kept = await writer.keepSegment(pending);
    if (kept.isKept) moving?.wake();
    return kept;
  }
  const archiving = openArchiving({ file, sizes, blobs, keep, log });
  const mayRecord = () => agreementIn(state) === 'current';
  const upToDate = node ? callsThrough<Following>(writer.follow()).current : async () => {};
  const accounts = createAccountService({
    directory,
    model,
    settings,
    now,
    log,
    openMailTurn: node && ((onGained) => node.openLogLease({ name: 'mail', onGained, mayTake: mayRecord, upToDate })),
  });
  const vaultService = openVaultService({
    vault: directory.vaultPort,
    passwords: accounts.passwords.passwords,
    now,
    onPurgeFailure: (err) => log.error({ err }, 'drafts could not be deleted; it is tried again'),
  });
  const checkpointing = createCheckpointing({
    settings,
    directory,
    keep: writer.keepCheckpoint,
    now,
    log,
    isBrief,
    onContradiction: (error) => onFailure(error, 'the log is not the one that was signed'),
  });
  const pins = node?.pins ?? createPins();
  let guard: BlobGuard | null = null;
  let erasures: ErasureWorker | null = null;
  let moving: Offloading | null = null;
  let unwatch = () => {};
  let closeWays = () => {};
  let endRoom = async () => {};
  let webhooks: WebhookService | null = null;
  const missingList = openMissingList(directory.path);
  const searchCell = createSearchCell();
  // The next service indexes the writes of a single command.
  const hasSearch = !isBrief && searchTablesOf(model.schema).length > 0;
  const search = hasSearch ? startSearch(searchCell, { log, onCleaned: () => erasures?.wake() }) : null;

  async function start(): Promise<EngineReady> {
    const { isProduction } = settings;
    await readConditions(loaded.model, isProduction);
    await accounts.passwords.ready;
    const { readFile, log: logName, size, found, foundAt, upgradedFrom, categories } = await writer.ready;
    // Only the log knows them.
    const model = withCategories(loaded.model, categories);
    const conditions = await readConditions(model, isProduction);
    (await accounts.prepare(model)).begin();
    if (!node) warnOfRest(log, { foundAt, now: now() });
    // Now it is certain that they are in PostgreSQL.
    if (directory.node) forgetFormer(directory.path);
    const searchFile = searchFileOf(readFile, model.schema);
    if (search && searchFile !== null) {
      search.begin({ readFile, searchFile, schema: model.schema });
      writer.tellSearch(search.notifications, searchCell);
    }
    endRoom = watchRoom({ directory: directory.path, state, log });
    unwatch = watchClock({ clock, newest: () => newestOf(counter), log });
    const keys = keysInService({
      file,
      directory,
      logName,
      append: (command) => connectWriter(writer.connect()).appendAnyway(command),
      nextId: () => ids.next().id,
      upToDate,
      mayRecord,
      log,
    });
    await keys.begin();
    const isIdle = isBrief && !options.takesFiles;
    const blobGuard = await openBlobGuard({
      settings,
      model,
      logId: logName,
      writer,
      pins,
      upToDate,
      isBrief: isIdle,
      log,
    });
    guard = blobGuard;
    const mover = openOffloading({ file, blobs, ready: blobGuard.store, log });
    moving = mover;
    if (!isBrief) mover.wake();
    const { notary, signedAtStart } = await checkpointing.start({
      logId: logName,
      size,
      found,
      store: blobGuard.store,
      upToDate,
      ...keys,
    });
    const unsigned = Math.max(found - signedAtStart, 0);
    // Another node may have written them just now, and signs them.
    if (!node) warnOfUnsigned(log, { found, unsigned, upgradedFrom });
    const worker = openErasureWorker({
      logFile: file,
      guard: blobGuard,
      scrub: writer.scrub,
      rewriteSegments: archiving.rewriteSegments,
      objects: mover,
      forgetKept: vaultService.forgetKept,
      logger: log,
    });
    erasures = worker;
    worker.wake();
    const shared = {
      categories,
      readFile,
      search: search && searchFile !== null ? { file: searchFile, cell: searchCell } : null,
      logFile: file,
      counter,
      clockCell,
      marks,
      state,
      ...sharedOf(settings, directory),
    };
    const keyService = createKeyService(directory.vaultPort.apiKeys, now);
    const delivering = createWebhookService({
      model,
      conditions,
      isProduction,
      log,
      now,
      node: node?.webhooks(mayRecord) ?? null,
    });
    webhooks = delivering;
    if (!isBrief) delivering.start({ log: logName, logFile: file, readFile, path: webhooksFile(directory.path) });
    // Those that are open when the configuration is read again count on.
    const slotCounts = openSlotCounts();
    const openFor = (configured: Configured, generation: number | null) =>
      openWays({
        loaded: configured,
        generation,
        shared,
        writer,
        vault: vaultService.vault,
        keyService,
        notary,
        guard: blobGuard,
        erasures: erasurePortOf({
          worker,
          guard: blobGuard,
          caught: accounts.caught,
          cleaned: writer.cleaned,
          elsewhere: elsewhereOf(settings, writer.standing),
        }),
        webhooks: delivering.port,
        slotCounts,
        missingIndexes: { note: missingList.note, all: missingList.all },
        reload,
        directory: directory.path,
        log,
      });
    let generation = 0;
    let current = openFor(loaded, generation);
    closeWays = () => current.close();

    async function prepare(next: Loaded): Promise<PreparedEngine> {
      if (shared.blobs.kind === 'bucket') requireFit(next.model);
      const model = withCategories(next.model, categories);
      const preparedWebhooks = await delivering.prepare(model);
      const preparedAccounts = await accounts.prepare(model);
      const following = generation + 1;
      const ways = openFor(next, following);
      return {
        ways,
        begin() {
          preparedAccounts.begin();
          preparedWebhooks.begin();
          generation = following;
          current.close();
          current = ways;
        },
        adopt: (isNew) => writer.adopt(following, isNew ? { schema: model.schema, rules: model.rules } : null),
        async drop() {
          ways.close();
          await preparedAccounts.drop();
        },
      };
    }

    // The main thread reads accounts as request handlers do.
    if (model.adminCollection !== null && !isBrief) await accounts.open(openFor(loaded, null).openHere(), logName);

    function announce(reachable: string | null): Announced {
      const baseUrl = shared.baseUrl ?? reachable;
      if (baseUrl === null) throw new Error('the address under which clients reach the service is not known');
      if (reachable !== null) directory.announce(reachable);
      const query = settings.site === null ? '' : `?site=${settings.site}`;
      const adminUrl = model.admin ? `${baseUrl}/admin${query}` : null;
      return { baseUrl, adminUrl, ...accounts.announce(baseUrl) };
    }

    const observed = {
      directory: directory.path,
      logFile: file,
      readFile,
      meter,
      state,
      now: clock.believed,
      standing: settings.log === undefined ? null : writer.standing,
      verification: checkpointing.verification,
    };
    return { size, unsigned, shared, ways: () => current, prepare, observed, announce };
  }

  const ready = start();
  return {
    directory,
    ready,
    setState: (next) => setState(state, next),
    async stop() {
      // A start that is cut short fails on the parts closed now.
      ready.catch(() => {});
      setState(state, 'stopping');
      unwatch();
      await endRoom();
      closeWays();
      await accounts.closeMail();
      await webhooks?.close();
      await erasures?.close();
      await archiving.close();
      await moving?.close();
      await checkpointing.close();
      guard?.close();
      missingList.close();
      await search?.close();
      // Last, since the last connection to the log leaves it as one file, which a reader cannot.
      await writer.close();
      await vaultService.close();
      await accounts.passwords.close();
      await directory.close();
    },
  };
}

async function cannotReload(): Promise<never> {
  throw new DomainError('conflict', 'this service cannot read its configuration again: it must be started again');
}
