import { basename } from 'node:path';
import { compileValidator, defaultDocument } from '../../config/documents.ts';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Global, Model } from '../../config/model.ts';
import { type Category, categoryOf, dataFields } from '../../config/schema.ts';
import { compileDocument, compileGlobal, compileShape } from '../../config/shape.ts';
import { searchedFields } from '../../config/text-fields.ts';
import { hasReadHooks, hasReadRules, queryableFields } from '../../config/traits.ts';
import { globalStream } from '../../events/facts/catalogue.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import { readIdempotencyRecords } from '../../events/facts/idempotency.ts';
import { compileUpcaster, type Upcaster } from '../../events/facts/upcasters.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { parseVerifierKey } from '../../events/proof/notes.ts';
import { type Categories, formerSlugs, namesOf, withCategories } from '../../events/service-events/categories.ts';
import { createClock } from '../../events/store/clock.ts';
import { createIds } from '../../events/store/ids.ts';
import { openPast } from '../../projections/past/past.ts';
import type { CopyRoom } from '../../projections/past/snapshot-budget.ts';
import { snapshotLimits } from '../../projections/past/snapshots.ts';
import { openDocuments, registerFunctions } from '../../projections/query/documents.ts';
import { type JoinField, oldestFirst, openJoin } from '../../projections/query/joins.ts';
import { type KeptOf, keepRows } from '../../projections/query/kept-rows.ts';
import { openAccounts } from '../../projections/tables/accounts.ts';
import { openApiKeys } from '../../projections/tables/api-keys.ts';
import { openAuditIndex } from '../../projections/tables/audit.ts';
import { epochsOf } from '../../projections/tables/epochs.ts';
import { interruptible } from '../../projections/tables/interruption.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { late, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { readCondition } from '../access/conditions.ts';
import type { App, RouteParts, Target } from '../app.ts';
import { keyHistory } from '../audit/notary/keys.ts';
import { readUser } from '../documents/read/populate.ts';
import { storeName } from '../files/blobs/store.ts';
import { once } from '../platform/once.ts';
import { agreementIn, stateIn } from '../platform/state.ts';
import type { Api, Credentials, ToldOrigins } from '../ports.ts';
import { ownSortKeys } from '../queries/paths.ts';
import { openSearchReader, type SharedSearch } from '../queries/search-index.ts';
import type { TableState } from '../reads/kept.ts';
import { joinLane } from '../reads/lane.ts';
import type { Reads } from '../settings/settings.ts';
import type { Writing } from '../writer/append.ts';
import type { Following } from '../writer/messages.ts';
import { findSegmentsOf } from '../writer/segment-store.ts';
import type { ThreadMetrics } from './metrics/counting.ts';
import type { UpToDate } from './nodes/up-to-date.ts';

/** The data that each thread which answers requests starts with; it can be sent to another thread. */
export type Shared = {
  /** The categories of collections that were renamed. */
  categories: Categories;
  readFile: string;
  /** The search index; null where nothing is indexed, or it is not kept up. */
  search?: SharedSearch;
  logFile: string;
  /** For {@link createIds}: all threads make their ids from one counter. */
  counter: BigInt64Array<SharedArrayBuffer>;
  /** For {@link createClock}. */
  clockCell: BigInt64Array<SharedArrayBuffer>;
  /** For {@link keepRows}. */
  marks: RowMarks;
  state: Int32Array<SharedArrayBuffer>;
  credentials: Credentials;
  idempotencySecret: string;
  /** The kind of reads of this node; null where the log is its own. */
  reads: Reads | null;
  baseUrl: string | null;
  /** Which of the sites of the process it is; null where there is but one. */
  site: string | null;
  toldOrigins: ToldOrigins;
  isProduction: boolean;
  /** For {@link App}. */
  tellsErrors?: boolean;
  /** For {@link App}. */
  adminFolder?: string | undefined;
  blobs: BlobSettings;
  /** How long a read may take that no index serves. */
  readSeconds: number;
  /** The memory of a thread for what was read, in MiB. */
  cacheMiB: number;
};

/** Gives an OpenAPI document as text; it is called once for each, unless it fails. */
export type Describe = (api: Api) => Promise<string>;

/** The same, as other threads call it. */
export type Describing = { describe: Describe };

type OpenOptions = {
  model: Model;
  shared: Shared;
  writing: Writing;
  openApi: Describe;
  /** The way to what other nodes have appended; absent where the log is its own, or it answers no requests. */
  following?: Following | null;
  /** Absent where it answers no requests, or nothing is counted. */
  metrics?: ThreadMetrics | null;
  /** That of this thread; absent where it answers no requests. */
  copyRoom?: CopyRoom;
} & Pick<
  App & RouteParts,
  | 'passwords'
  | 'preferences'
  | 'unsavedChanges'
  | 'previews'
  | 'keyService'
  | 'notary'
  | 'pins'
  | 'erasures'
  | 'webhooks'
  | 'answerSlots'
  | 'bulkTurns'
  | 'missingIndexes'
  | 'reload'
  | 'log'
>;

/** The service as one thread has it, with all that its routes are made from. */
export type OpenApp = App &
  RouteParts & { metrics: ThreadMetrics | null; upToDate: UpToDate | null; close: () => Promise<void> };

/** Opens the service for one thread, to be closed by it too. */
export function openApp(options: OpenOptions): OpenApp {
  const { shared, writing, keyService, notary, pins, erasures, reload, log, openApi } = options;
  const { passwords, preferences, unsavedChanges, previews } = options;
  const model = withCategories(options.model, shared.categories);
  const { webhooks, answerSlots, bulkTurns, missingIndexes, metrics = null, copyRoom, following = null } = options;
  const { readFile, logFile, counter, state, credentials, baseUrl, isProduction, adminFolder } = shared;
  const clock = createClock(shared.clockCell);
  const unwatch = metrics?.watch(shared.site ?? '', writing.waiting);
  const background = new Set<Promise<void>>();
  const documents = { contract: once(() => openApi('contract')), audit: once(() => openApi('audit')) };
  const blobs = openBlobStore(shared.blobs);
  const read = openDatabase(readFile, { readonly: true, cacheMiB: 64 });
  registerFunctions(read);
  const events = openDatabase(logFile, { readonly: true });
  findSegmentsOf(logFile, shared.blobs, false);
  const eventReader = readLog(events);
  let upcaster: Upcaster | null = null;
  let formerNames: ReadonlyMap<string, string> | null = null;
  let removedAuthCollections: ReadonlySet<Category> | null = null;
  const rows = keepRows(shared.marks, { most: shared.cacheMiB * 1024 * 1024, isApart: () => read.inTransaction });
  const targets = openTargets(read, model, rows.of);
  const past = openPast(readFile, snapshotLimits, copyRoom);
  const selectPosition = read.prepare('SELECT position FROM checkpoint').pluck();
  const selectState = read.prepare<[], TableState>(
    'SELECT position, (SELECT count FROM erasures) AS erasures FROM checkpoint',
  );
  const { lane, leave } = joinLane(copyRoom);
  return {
    model,
    ...targets,
    names: namesOf(model.schema.collections),
    ...writing,
    search: openSearchReader(read, model.schema, shared.search ?? null),
    auditIndex: openAuditIndex(read),
    events: eventReader,
    idempotencyRecords: readIdempotencyRecords(events),
    whenDurable: following?.durable ?? (async () => {}),
    idempotencySecret: shared.idempotencySecret,
    upcaster() {
      // Compiled late: it is needed rarely, and schemas may be many.
      upcaster ??= compileUpcaster(epochsOf(eventReader));
      return upcaster;
    },
    formerSlugs() {
      formerNames ??= formerSlugs(epochsOf(eventReader), model.schema);
      return formerNames;
    },
    removedAuthCollections() {
      removedAuthCollections ??= accountsBesides(model, epochsOf(eventReader));
      return removedAuthCollections;
    },
    cacheVariant: `${shared.site === null ? '' : `${shared.site}.`}${basename(readFile, '.db').slice('read-'.length)}`,
    past,
    readPosition: () => (selectPosition.get() as number | undefined) ?? 0,
    readState: () => selectState.get() ?? { position: 0, erasures: 0 },
    readFile,
    longReads: { lane, seconds: shared.readSeconds, note: (end) => metrics?.noteRead(shared.site ?? '', end) },
    async keyHistory() {
      const verifierKey = await notary.verifierKey();
      return keyHistory(events, { id: parseVerifierKey(verifierKey).id, verifierKey });
    },
    ids: createIds(counter, clock.now),
    clock,
    accounts: openAccounts(read),
    userOf: (collection, id) => readUser(targets, collection, id),
    readCondition: (target, condition) => readCondition(targets, target, condition),
    passwords,
    preferences,
    unsavedChanges,
    previews,
    apiKeys: openApiKeys(read),
    keyService,
    notary,
    blobs,
    store: storeName(shared.blobs),
    hasBucket: shared.blobs.kind === 'bucket',
    pins,
    erasures,
    reload,
    webhooks,
    answerSlots,
    bulkTurns,
    missingIndexes,
    credentials,
    log,
    state: () => stateIn(state),
    site: shared.site,
    baseUrl,
    basePath: baseUrl === null ? '/' : new URL(baseUrl).pathname,
    toldOrigins: shared.toldOrigins,
    isProduction,
    tellsErrors: shared.tellsErrors ?? false,
    adminFolder,
    inBackground(run, failure) {
      const running = run()
        .catch((err) => log.error({ err }, failure))
        .finally(() => background.delete(running));
      background.add(running);
    },
    openApi: (api = 'contract') => documents[api](),
    metrics,
    upToDate: following && shared.reads && { following, reads: shared.reads, agreement: () => agreementIn(state) },
    applySchema: following ? following.apply : refuseToApply,
    changeKey: following ? notary.changeKey : refuseToChangeKey,
    close: async () => {
      unwatch?.();
      await Promise.all(background);
      await leave(readFile);
      await past.close();
      rows.close();
      blobs.close();
      read.close();
      events.close();
    },
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

function accountsBesides(model: Model, epochs: ReturnType<typeof epochsOf>): ReadonlySet<Category> {
  const declared = new Set(model.schema.collections.map(categoryOf));
  const known = epochs.flatMap(({ schema }) => schema.collections.filter(({ auth }) => auth));
  return new Set(known.map(categoryOf)).difference(declared);
}

function openTargets(
  db: Sqlite,
  model: Model,
  keep: (key: string) => KeptOf,
): Pick<App, 'collections' | 'globals' | 'byCategory'> {
  const tables = new Map(tablesOf(model.schema).map((described) => [described.key, described]));
  const tablesAt = (key: string) => tables.get(key) as Tables;
  const collections = [...model.collections.values()].map((collection) => {
    const joins = collection.fields
      .filter(({ type }) => type === 'join')
      .map(({ name, collection: slug = '', on = '', limit = null, sort }) => {
        const joined = model.collections.get(slug) as Collection;
        const order = sort === undefined ? oldestFirst : ownSortKeys(sort, joined.fields);
        const field: JoinField = { tables: tablesAt(joined.category), field: on, sort: order };
        return { name, collection: slug, limit, field, sources: openJoin(db, field) };
      });
    return [
      collection.slug,
      {
        ...openTarget(db, { tables: tablesAt(collection.category), kept: keep(collection.category) }, collection),
        joins,
      },
    ] as const;
  });
  const globals = [...model.globals.values()].map((global) => {
    return [
      global.slug,
      openTarget(db, { tables: tablesAt(globalStream(global.slug)), kept: keep(globalStream(global.slug)) }, global),
    ] as const;
  });
  const byCategory = new Map(collections.map(([, target]) => [target.category, target]));
  return { collections: new Map(collections), globals: new Map(globals), byCategory };
}

function openTarget<M extends Collection | Global>(
  db: Sqlite,
  { tables, kept }: { tables: Tables; kept: KeptOf },
  model: M,
): Target<M> {
  const fields = dataFields(model.schema.fields);
  const isGlobal = model.kind === 'global';
  const shape = compileShape(fields);
  return {
    model,
    slug: model.slug,
    category: model.category,
    documents: openDocuments(db, tables, { kept }),
    interruptible: late(() => openDocuments(db, interruptible(tables))),
    validator: compileValidator(model),
    documentOf: isGlobal ? compileGlobal(fields) : compileDocument(fields, model.upload ? model.slug : null),
    defaults: isGlobal ? () => shape(defaultDocument(model.fields)) : null,
    unique: isGlobal ? [] : uniqueFields(model.category, model.schema.fields),
    joins: [],
    tables,
    searched: model.kind === 'collection' ? searchedFields(model.schema) : [],
    hasReadHooks: hasReadHooks(model),
    queryable: queryableFields(model),
    hasReadRules: hasReadRules(model),
  };
}
