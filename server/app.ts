import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { compileValidator, type Validator } from '../config/documents.ts';
import type { Collection, Global, Model } from '../config/model.ts';
import { dataFields, type JsonObject } from '../config/schema.ts';
import { compileShape } from '../config/shape.ts';
import { globalStream } from '../events/catalogue.ts';
import { type UniqueField, uniqueFields } from '../events/claims.ts';
import { createIds, type Ids } from '../events/ids.ts';
import type { Append } from '../events/log.ts';
import { openVault } from '../events/vault.ts';
import { type Documents, openDocuments, openJoin, registerFunctions } from '../projections/documents.ts';
import type { Progress } from '../projections/rebuild.ts';
import { type Tables, tablesOf } from '../projections/tables.ts';
import { lockDirectory } from '../storage/lock.ts';
import { openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { type ApiKey, readApiKeys } from './authentication.ts';
import { hasReadRules } from './field-access.ts';
import { hasReadHooks } from './hooks.ts';
import { startWriter } from './writer.ts';

/** A relationship the other way round: `sources` gives the documents that point at some of this target's. */
export type Join = { name: string; sources: (ids: readonly string[]) => Map<string, string[]> };

type Common = {
  slug: string;
  documents: Documents;
  validator: Validator;
  shape: (values: JsonObject) => JsonObject;
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

/** The running service: opened once, shared by every route. */
export type App = {
  model: Model;
  collections: ReadonlyMap<string, Target<Collection>>;
  globals: ReadonlyMap<string, Target<Global>>;
  append: Append;
  ids: Ids;
  apiKeys: readonly ApiKey[];
  /** For what the service signs: the first signs, all verify. */
  secrets: readonly string[];
  log: Logger;
  /** Where clients reach the service; known once it listens. */
  baseUrl: string;
  /** `starting` until the first load is over. */
  state: 'starting' | 'ready' | 'stopping';
};

/** What was found and made when the service was opened, for the people who started it. */
export type Opened = {
  app: App;
  dataDirectory: string;
  /** The key that was generated because none was given. */
  generatedKey: string | null;
  /** Events in the log. */
  size: number;
  /** Tells a second server under which address this one answers. */
  announce: (address: string) => void;
  close: () => Promise<void>;
};

type OpenOptions = {
  model: Model;
  data: string;
  apiKeys: readonly string[];
  secrets: readonly string[];
  log: Logger;
  progress: Progress;
  onDeath: (error: Error) => void;
};

/**
 * Opens a data directory, made if it is missing, and everything in it.
 *
 * @throws LockedError when another process works on it; StartError when its log or documents refuse.
 */
export async function openApp(options: OpenOptions): Promise<Opened> {
  const { model, log } = options;
  const directory = resolve(options.data);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(directory, 'annals serve');
  const vault = openVault(resolve(directory, 'vault.db'));
  try {
    const counter = new BigInt64Array(new SharedArrayBuffer(8));
    const ids = createIds(counter, Date.now);
    const logId = `annals/${ids.next().id}`;
    const input = { directory, schema: model.schema, counter, logId };
    const writer = await startWriter(input, options.progress, options.onDeath);
    const read = openDatabase(writer.readFile, { readonly: true, cacheMiB: 64 });
    registerFunctions(read);
    const generatedKey = options.apiKeys.length > 0 ? null : vault.secret('api-key');
    const app: App = {
      model,
      ...openTargets(read, model),
      append: writer.append,
      ids,
      apiKeys: readApiKeys(generatedKey ? [generatedKey] : options.apiKeys, vault.opaqueId),
      secrets: options.secrets.length > 0 ? options.secrets : [vault.secret('signing')],
      log,
      baseUrl: '',
      state: 'starting',
    };
    const { size } = writer;
    return { app, dataDirectory: directory, generatedKey, size, announce: lock.describe, close };

    async function close(): Promise<void> {
      app.state = 'stopping';
      read.close();
      await writer.close();
      vault.close();
      lock.release();
    }
  } catch (error) {
    vault.close();
    lock.release();
    throw error;
  }
}

function openTargets(db: Sqlite, model: Model): Pick<App, 'collections' | 'globals'> {
  const tables = new Map(tablesOf(model.schema).map((described) => [described.key, described]));
  const tablesAt = (key: string) => tables.get(key) as Tables;
  const collections = [...model.collections.values()].map((collection) => {
    const joins = collection.fields
      .filter(({ type }) => type === 'join')
      .map(({ name, collection: source = '', on = '' }) => ({ name, sources: openJoin(db, tablesAt(source), on) }));
    return [collection.slug, { ...openTarget(db, tablesAt(collection.slug), collection), joins }] as const;
  });
  const globals = [...model.globals.values()].map((global) => {
    return [global.slug, openTarget(db, tablesAt(globalStream(global.slug)), global)] as const;
  });
  return { collections: new Map(collections), globals: new Map(globals) };
}

function openTarget<M extends Collection | Global>(db: Sqlite, tables: Tables, model: M): Target<M> {
  return {
    model,
    slug: model.slug,
    documents: openDocuments(db, tables),
    validator: compileValidator(model),
    shape: compileShape(dataFields(model.schema.fields)),
    unique: model.kind === 'collection' ? uniqueFields(model.slug, model.schema.fields) : [],
    joins: [],
    tables,
    hasReadHooks: hasReadHooks(model),
    hasReadRules: hasReadRules(model),
  };
}
