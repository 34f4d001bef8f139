import { basename } from 'node:path';
import { DomainError } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import { namesOf, withCategories } from '../../../events/service-events/categories.ts';
import { createClock } from '../../../events/store/clock.ts';
import { createIds } from '../../../events/store/ids.ts';
import type { SnapshotBudget } from '../../../projections/past/snapshot-budget.ts';
import { openBlobStore } from '../../../storage/blob-store.ts';
import { faultsOnce } from '../../access/rule-faults.ts';
import type { App, RouteParts } from '../../app.ts';
import { storeName } from '../../files/blobs/store.ts';
import { once } from '../../platform/once.ts';
import { createParts, type Parts } from '../../platform/parts.ts';
import { agreementIn, stateIn } from '../../platform/state.ts';
import type { Api } from '../../ports.ts';
import type { Writing } from '../../writer/append.ts';
import type { Following } from '../../writer/messages.ts';
import type { ThreadMetrics } from '../metrics/counting.ts';
import type { UpToDate } from '../nodes/up-to-date.ts';
import type { ThreadData } from '../thread-data.ts';
import { openLogViews } from './log-views.ts';
import { openReadTables } from './read-tables.ts';

/** Gives an OpenAPI document as text; it is called once for each document, unless it fails. */
export type Describe = (api: Api) => Promise<string>;

/** {@link Describe} as other threads call it. */
export type Describing = { describe: Describe };

type OpenOptions = {
  model: Model;
  threadData: ThreadData;
  writing: Writing;
  openApi: Describe;
  /** The way to what other nodes have appended; absent if the log is its own, or the thread answers no requests. */
  following?: Following | null;
  /** Absent if the thread answers no requests, or nothing is counted. */
  metrics?: ThreadMetrics | null;
  /** The thread's budget for copies of tables; absent if it answers no requests. */
  snapshotBudget?: SnapshotBudget;
} & Pick<
  App & RouteParts,
  | 'passwords'
  | 'preferences'
  | 'unsavedChanges'
  | 'previews'
  | 'previewTokens'
  | 'replays'
  | 'keyService'
  | 'notary'
  | 'pins'
  | 'erasures'
  | 'webhooks'
  | 'answerSlots'
  | 'bulkQueue'
  | 'missingIndexes'
  | 'reload'
  | 'log'
>;

/** The service as one thread has it, with all that its routes are made from. */
export type OpenApp = App &
  RouteParts & { metrics: ThreadMetrics | null; upToDate: UpToDate | null; close: () => Promise<void> };

/** Opens the service for one thread, to be closed by that thread too. */
export function openApp(options: OpenOptions): OpenApp {
  const parts = createParts();
  try {
    return open(parts, options);
  } catch (error) {
    parts.close().catch(() => {});
    throw error;
  }
}

function open(parts: Parts, options: OpenOptions): OpenApp {
  const {
    writing,
    openApi,
    metrics = null,
    snapshotBudget,
    following = null,
    model: declared,
    threadData,
    ...ports
  } = options;
  const { state, reads } = threadData;
  const model = withCategories(declared, threadData.categories);
  const clock = createClock(threadData.clockCell);
  const documents = { contract: once(() => openApi('contract')), audit: once(() => openApi('audit')) };
  const logViews = openLogViews(parts, { model, threadData, notary: ports.notary });
  const blobs = parts.add(openBlobStore(threadData.blobs), ({ close }) => close());
  const readTables = openReadTables(parts, { model, threadData, metrics, snapshotBudget });
  const inBackground = openBackground(parts, options.log);
  if (metrics) parts.add(metrics.watch(threadData.site ?? '', writing.waiting), (unwatch) => unwatch());
  return {
    model,
    ...readTables,
    names: namesOf(model.schema.collections),
    ...writing,
    ...logViews,
    ...ports,
    ...settingsOf(threadData),
    waitUntilReplicated: following?.durable ?? (async () => {}),
    ids: createIds(threadData.counter, clock.now),
    clock,
    blobs,
    state: () => stateIn(state),
    inBackground,
    tellRuleFault: faultsOnce(options.log),
    openApi: (api = 'contract') => documents[api](),
    metrics,
    upToDate: following && reads && { following, reads, agreement: () => agreementIn(state) },
    applySchema: following ? following.apply : refuseToApply,
    changeKey: following ? ports.notary.changeKey : refuseToChangeKey,
    close: parts.close,
  };
}

/** The members of {@link App} that come from the settings. */
function settingsOf(threadData: ThreadData) {
  const { readFile, blobs, credentials, site, baseUrl, toldOrigins, isProduction, adminFolder } = threadData;
  return {
    idempotencySecret: threadData.idempotencySecret,
    etagSuffix: `${site === null ? '' : `${site}.`}${basename(readFile, '.db').slice('read-'.length)}`,
    store: storeName(blobs),
    hasBucket: blobs.kind === 'bucket',
    credentials,
    site,
    baseUrl,
    basePath: baseUrl === null ? '/' : new URL(baseUrl).pathname,
    toldOrigins,
    isProduction,
    tellsErrors: threadData.tellsErrors ?? false,
    adminFolder,
  };
}

/** Runs work that no request waits for. The service is closed when all of it is done. */
function openBackground(parts: Parts, log: App['log']): App['inBackground'] {
  const background = parts.add(new Set<Promise<void>>(), (running) => Promise.all(running));
  return (run, failure) => {
    const running = run()
      .catch((err) => log.error({ err }, failure))
      .finally(() => background.delete(running));
    background.add(running);
  };
}

async function refuseToApply(): Promise<never> {
  throw new DomainError('conflict', 'this service has its log to itself: it applied its configuration when it started');
}

async function refuseToChangeKey(): Promise<never> {
  throw new DomainError(
    'conflict',
    'this service has its log to itself: its key is changed while it is stopped, without ANNALS_POSTGRES_URL',
  );
}
