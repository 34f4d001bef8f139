import { basename } from 'node:path';
import type { Logger } from 'pino';
import { compileValidator, type Validator } from '../config/documents.ts';
import type { Collection, Global, Model } from '../config/model.ts';
import { dataFields, type JsonObject } from '../config/schema.ts';
import { compileDocument, compileShape, type DocumentShape } from '../config/shape.ts';
import { type Attempts, readAttempts } from '../events/attempts.ts';
import { globalStream } from '../events/catalogue.ts';
import { type UniqueField, uniqueFields } from '../events/claims.ts';
import { type Clock, createClock } from '../events/clock.ts';
import { createIds, type Ids } from '../events/ids.ts';
import { type LogReader, readLog } from '../events/log-reader.ts';
import { parseVerifierKey } from '../events/notes.ts';
import { compileUpcaster, type Upcaster } from '../events/upcasters.ts';
import { type Accounts, openAccounts } from '../projections/accounts.ts';
import { type AuditIndex, openAuditIndex } from '../projections/audit.ts';
import { epochsOf } from '../projections/boot.ts';
import { type Documents, openDocuments, registerFunctions } from '../projections/documents.ts';
import { type JoinField, type JoinRequest, oldestFirst, openJoin, type Sources } from '../projections/joins.ts';
import { openPast, type Past } from '../projections/past.ts';
import { type Tables, tablesOf } from '../projections/tables.ts';
import { openBlobStore } from '../storage/blob-store.ts';
import type { BlobSettings, BlobStore } from '../storage/blobs.ts';
import { openDatabase, type Sqlite } from '../storage/sqlite.ts';
import type { Keeper } from './accounts/keeper.ts';
import type { ApiKey } from './authentication.ts';
import type { Pins } from './blobs/pins.ts';
import { storeName } from './blobs/store.ts';
import type { Erasers } from './erasure/eraser.ts';
import { hasReadRules } from './field-access.ts';
import { hasReadHooks } from './hooks.ts';
import { type KeyRecord, keyHistory } from './notary/key-history.ts';
import type { Notary } from './notary/notary.ts';
import { once } from './once.ts';
import type { Api } from './openapi/document.ts';
import { ownSortKeys } from './paths.ts';
import type { ToldOrigins } from './refused-origins.ts';
import { type State, stateIn } from './state.ts';
import type { Writing } from './threads/append.ts';

/** A relationship the other way round: `sources` gives the documents that point at some of this target's, today. */
export type Join = {
  name: string;
  collection: string;
  /** How many of them a document shows; null: all. */
  limit: number | null;
  field: JoinField;
  sources: (request: JoinRequest) => Sources;
};

type Common = {
  slug: string;
  documents: Documents;
  validator: Validator;
  shape: (values: JsonObject) => JsonObject;
  /** A document as it is answered, from its values. */
  documentOf: DocumentShape;
  unique: readonly UniqueField[];
  joins: readonly Join[];
  tables: Tables;
  /** True when a read runs hooks. */
  hasReadHooks: boolean;
  /** True when some field is not for every reader. */
  hasReadRules: boolean;
};

/** A collection or global with all that its routes need, prepared once. */
export type Target<M extends Collection | Global = Collection | Global> = Common & { model: M };

/** The running service as one thread has it: opened once, shared by every route. */
export type App = Writing & {
  model: Model;
  collections: ReadonlyMap<string, Target<Collection>>;
  globals: ReadonlyMap<string, Target<Global>>;
  /** The log, to be read. */
  events: LogReader;
  /** Finds events in it. */
  auditIndex: AuditIndex;
  /** What was recorded with an Idempotency-Key. */
  attempts: Attempts;
  /** The key of the hashes that those are kept as. */
  attemptSecret: string;
  /** Brings events to the names of today. */
  upcaster: () => Upcaster;
  /** The collections of accounts that the log has and the configuration no longer. */
  goneAccounts: () => ReadonlySet<string>;
  /** Names the form in which documents are stored to be read: another configuration of fields has another one, and another site. */
  shape: string;
  /** Documents as they stood at a position of the log. */
  past: Past;
  /** The last position that the read tables have. */
  readPosition: () => number;
  /** All keys that have signed the log. */
  keyHistory: () => Promise<KeyRecord[]>;
  ids: Ids;
  clock: Clock;
  accounts: Accounts;
  keeper: Keeper;
  notary: Notary;
  /** Where the bytes of uploads are. */
  blobs: BlobStore;
  /** The name of that store, by which commands mean it. */
  store: string;
  pins: Pins;
  eraser: Erasers;
  apiKeys: readonly ApiKey[];
  secrets: readonly string[];
  /** The hash of the credential that the command line has: it reads it from the vault. */
  operatorHash: Buffer;
  log: Logger;
  state: () => State;
  /** Which of the sites of this process it is; null where there is but one. */
  site: string | null;
  /** Where clients reach the service, as was set; null: nobody said. */
  baseUrl: string | null;
  /** The path under which they do; `/` when it is all of the host. */
  basePath: string;
  /** The origins of refused pages that the log tells of. */
  toldOrigins: ToldOrigins;
  isProduction: boolean;
  /** Runs what no caller waits for; `close` does. What fails is logged under this message. */
  inBackground: (run: () => Promise<void>, failure: string) => void;
  /** An OpenAPI document as text, fetched when it is asked for first; that of the contract where none is named. */
  openApi: (api?: Api) => Promise<string>;
};

/** What every thread that answers requests is given of the running service; it can be sent to another thread. */
export type Shared = {
  readFile: string;
  logFile: string;
  /** For {@link createIds}: all threads make their ids from one counter. */
  counter: BigInt64Array<SharedArrayBuffer>;
  /** For {@link createClock}. */
  clockCell: BigInt64Array<SharedArrayBuffer>;
  state: Int32Array<SharedArrayBuffer>;
  apiKeys: readonly ApiKey[];
  /** For what the service signs: the first signs, all verify. */
  secrets: readonly string[];
  operatorHash: Buffer;
  attemptSecret: string;
  baseUrl: string | null;
  /** Which of the sites of the process it is; null where there is but one. */
  site: string | null;
  toldOrigins: ToldOrigins;
  isProduction: boolean;
  blobs: BlobSettings;
};

/** Gives an OpenAPI document as text; it is called once for each, unless it fails. */
export type Describe = (api: Api) => Promise<string>;

/** The same, as other threads call it. */
export type Describing = { describe: Describe };

type OpenOptions = { model: Model; shared: Shared; writing: Writing; openApi: Describe } & Pick<
  App,
  'keeper' | 'notary' | 'pins' | 'eraser' | 'log'
>;

/** Opens the service for one thread, to be closed by it too. */
export function openApp(options: OpenOptions): App & { close: () => Promise<void> } {
  const { model, shared, writing, keeper, notary, pins, eraser, log, openApi } = options;
  const { readFile, logFile, counter, state, apiKeys, secrets, operatorHash, baseUrl, isProduction } = shared;
  const clock = createClock(shared.clockCell);
  const background = new Set<Promise<void>>();
  const documents = { contract: once(() => openApi('contract')), audit: once(() => openApi('audit')) };
  const blobs = openBlobStore(shared.blobs);
  const read = openDatabase(readFile, { readonly: true, cacheMiB: 64 });
  registerFunctions(read);
  const events = openDatabase(logFile, { readonly: true });
  const eventReader = readLog(events);
  let upcaster: Upcaster | null = null;
  let goneAccounts: ReadonlySet<string> | null = null;
  const past = openPast(readFile);
  const selectPosition = read.prepare('SELECT position FROM checkpoint').pluck();
  return {
    model,
    ...openTargets(read, model),
    ...writing,
    auditIndex: openAuditIndex(read),
    events: eventReader,
    attempts: readAttempts(events),
    attemptSecret: shared.attemptSecret,
    upcaster() {
      // Only what is rare looks back, and schemas may be many.
      upcaster ??= compileUpcaster(epochsOf(eventReader));
      return upcaster;
    },
    goneAccounts() {
      goneAccounts ??= accountsBesides(model, epochsOf(eventReader));
      return goneAccounts;
    },
    shape: `${shared.site === null ? '' : `${shared.site}.`}${basename(readFile, '.db').slice('read-'.length)}`,
    past,
    readPosition: () => (selectPosition.get() as number | undefined) ?? 0,
    async keyHistory() {
      const verifierKey = await notary.verifierKey();
      return keyHistory(events, { id: parseVerifierKey(verifierKey).id, verifierKey });
    },
    ids: createIds(counter, clock.now),
    clock,
    accounts: openAccounts(read),
    keeper,
    notary,
    blobs,
    store: storeName(shared.blobs),
    pins,
    eraser,
    apiKeys,
    secrets,
    operatorHash,
    log,
    state: () => stateIn(state),
    site: shared.site,
    baseUrl,
    basePath: baseUrl === null ? '/' : new URL(baseUrl).pathname,
    toldOrigins: shared.toldOrigins,
    isProduction,
    inBackground(run, failure) {
      const running = run()
        .catch((err) => log.error({ err }, failure))
        .finally(() => background.delete(running));
      background.add(running);
    },
    openApi: (api = 'contract') => documents[api](),
    close: async () => {
      await Promise.all(background);
      await past.close();
      blobs.close();
      read.close();
      events.close();
    },
  };
}

function accountsBesides(model: Model, epochs: ReturnType<typeof epochsOf>): ReadonlySet<string> {
  const declared = epochs.flatMap(({ schema }) => schema.collections);
  return new Set(declared.filter(({ auth, slug }) => auth && !model.collections.has(slug)).map(({ slug }) => slug));
}

function openTargets(db: Sqlite, model: Model): Pick<App, 'collections' | 'globals'> {
  const tables = new Map(tablesOf(model.schema).map((described) => [described.key, described]));
  const tablesAt = (key: string) => tables.get(key) as Tables;
  const collections = [...model.collections.values()].map((collection) => {
    const joins = collection.fields
      .filter(({ type }) => type === 'join')
      .map(({ name, collection: slug = '', on = '', limit = null, sort }) => {
        const fields = model.collections.get(slug)?.fields ?? [];
        const order = sort === undefined ? oldestFirst : ownSortKeys(sort, fields);
        const field: JoinField = { tables: tablesAt(slug), field: on, sort: order };
        return { name, collection: slug, limit, field, sources: openJoin(db, field) };
      });
    return [collection.slug, { ...openTarget(db, tablesAt(collection.slug), collection), joins }] as const;
  });
  const globals = [...model.globals.values()].map((global) => {
    return [global.slug, openTarget(db, tablesAt(globalStream(global.slug)), global)] as const;
  });
  return { collections: new Map(collections), globals: new Map(globals) };
}

function openTarget<M extends Collection | Global>(db: Sqlite, tables: Tables, model: M): Target<M> {
  const fields = dataFields(model.schema.fields);
  return {
    model,
    slug: model.slug,
    documents: openDocuments(db, tables),
    validator: compileValidator(model),
    shape: compileShape(fields),
    documentOf: compileDocument(fields, model.kind === 'collection' && model.upload ? model.slug : null),
    unique: model.kind === 'collection' ? uniqueFields(model.slug, model.schema.fields) : [],
    joins: [],
    tables,
    hasReadHooks: hasReadHooks(model),
    hasReadRules: hasReadRules(model),
  };
}
