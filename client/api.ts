import type { CallOptions, Moment, ReasonOptions, WriteOptions } from './options.ts';
import type {
  ApiKey,
  ApiKeyWithSecret,
  Boot,
  Delivery,
  Found,
  KeyAudit,
  KeyOperation,
  OwnDraft,
  OwnDraftWithData,
  Page,
  RestorePlan,
  RestoreSource,
  StreamState,
  Trashed,
  Versions,
  Webhook,
} from './types/answers.ts';
import type { Blame, Difference, LogEvents, VersionWithDocument } from './types/audit.ts';
import type { Accounts, Bulk, Creation, Documents, Files, Undo } from './types/collections.ts';
import type {
  AnyConfig,
  AuthSlug,
  CollectionSlug,
  GlobalInput,
  GlobalOf,
  GlobalSelectOf,
  GlobalSlug,
  SelectedGlobalOf,
  UploadSlug,
} from './types/config.ts';
import type { DryRun, HistoryOptions, PageOptions, ReadOptions, SearchOptions } from './types/reads.ts';
import type { Schemas } from './types/schemas.ts';

/** The calls of a collection. Where the configuration is not known at compile time, each has all of them. */
export type CollectionClient<C extends AnyConfig, Slug extends string> = Documents<C, Slug> &
  (Slug extends AuthSlug<C> ? Accounts<C, Slug> : unknown) &
  (string extends UploadSlug<C>
    ? Creation<C, Slug> & Bulk<C, Slug> & Files<C, Slug>
    : Slug extends UploadSlug<C>
      ? Files<C, Slug>
      : Creation<C, Slug> & Bulk<C, Slug>);

/** The calls of a global. */
export type GlobalClient<in out C extends AnyConfig, in out Slug extends string> = {
  get: <const Depth extends number = 0, const Select extends string = never>(
    options?: ReadOptions<Depth, Select & GlobalSelectOf<C, Slug>>,
  ) => Promise<SelectedGlobalOf<C, Slug, Depth, Select>>;
  /** Changes the given fields, each whole, and gives the whole global. */
  update: (data: GlobalInput<C, Slug>, options?: WriteOptions) => Promise<GlobalOf<C, Slug>>;
  /** Makes the global what it was; with `dryRun`, tells what that would change. */
  restore: {
    (source: RestoreSource, options: DryRun): Promise<RestorePlan>;
    (source: RestoreSource, options?: WriteOptions): Promise<GlobalOf<C, Slug>>;
  };
  /** The versions of the global, for who may look into the history. */
  history: (options?: HistoryOptions) => Promise<{ global: StreamState } & Versions>;
};

/** A preview: a draft of a document that exists. */
export type Draft<C extends AnyConfig> = {
  collection: CollectionSlug<C>;
  id: string;
  data: Record<string, unknown>;
};

/** Operations that an API key may do, and to what; `*` stands for all. At least one collection or global is needed. */
export type KeyScopeInput<C extends AnyConfig> = {
  collections?: readonly CollectionSlug<C>[] | '*';
  globals?: readonly GlobalSlug<C>[] | '*';
  operations: readonly KeyOperation[];
};

/** An API key to be made; without scopes and parts of the history it may do nothing. */
export type KeyInput<C extends AnyConfig> = {
  name: string;
  scopes?: readonly KeyScopeInput<C>[];
  audit?: readonly KeyAudit[];
  /** A date and time with a zone; null: it does not expire. */
  expiresAt?: string | null;
};

/** The calls of API keys, for who manages those. */
export type Keys<in out C extends AnyConfig> = {
  /** Those that are not revoked, oldest first. */
  list: (options?: CallOptions) => Promise<ApiKey[]>;
  /** Makes a key. The secret is shown this once. */
  create: (input: KeyInput<C>, options?: ReasonOptions) => Promise<ApiKeyWithSecret>;
  /** Gives a key a new secret; the one before is refused after `overlapSeconds`, 0 by default, at most 7 days. */
  rotate: (id: string, options?: ReasonOptions & { overlapSeconds?: number | undefined }) => Promise<ApiKeyWithSecret>;
  /** Ends a key, and gives what it was. */
  revoke: (id: string, options?: ReasonOptions) => Promise<ApiKey>;
};

/** The calls of webhooks, for who manages API keys. */
export type Webhooks = {
  list: (options?: CallOptions) => Promise<Webhook[]>;
  /** Those that did not succeed yet, oldest first. */
  deliveries: (
    name: string,
    options?: CallOptions & { state?: 'all' | 'waiting' | 'parked'; limit?: number; page?: number },
  ) => Promise<Page<Delivery>>;
  /** Makes a delivery due now. */
  retry: (name: string, id: string, options?: CallOptions) => Promise<Delivery>;
  /** Makes all deliveries of a webhook due now. */
  retryAll: (name: string, options?: CallOptions) => Promise<Webhook>;
};

/** The subject of a draft that a user keeps; the `id` of a document that is not there yet is `new-` and a UUID. */
export type DraftTarget<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string }
  | { global: GlobalSlug<C> };

/** The calls of the drafts that the user keeps, each for 30 days. */
export type Drafts<in out C extends AnyConfig> = {
  /** Those of what the user may read, newest first, without their data. */
  list: (options?: CallOptions) => Promise<OwnDraft[]>;
  get: (target: DraftTarget<C>, options?: CallOptions) => Promise<OwnDraftWithData>;
  /** Keeps a draft in the place of the one before; `version` is that of the document which was changed. */
  keep: (
    target: DraftTarget<C>,
    draft: { data: Record<string, unknown>; version?: number | null },
    options?: Pick<WriteOptions, 'ifMatch'> & CallOptions,
  ) => Promise<OwnDraft>;
  drop: (target: DraftTarget<C>, options?: Pick<WriteOptions, 'ifMatch'> & CallOptions) => Promise<OwnDraft>;
};

/** A document or global whose history is read. */
export type AuditTarget<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string }
  | { global: GlobalSlug<C> };

/** The names of actors in an answer of the history. */
export type ActorOptions = CallOptions & { actors?: 'ids' | 'names' | undefined };

/** Some events of the log: those of a stream, a bulk call, a collection, of some types, of an actor, in a time. */
export type EventOptions = ActorOptions & {
  stream?: string | undefined;
  batch?: string | undefined;
  collection?: string | undefined;
  type?: string | undefined;
  actor?: string | undefined;
  from?: Moment | undefined;
  to?: Moment | undefined;
  after?: number | undefined;
  limit?: number | undefined;
};

/** The calls of the history, for who may look into it. */
export type Audit<in out C extends AnyConfig> = {
  /** Events of the log, in the order of their positions. */
  events: (options?: EventOptions) => Promise<LogEvents>;
  /** A version, with the whole document after it. */
  version: (target: AuditTarget<C>, version: number, options?: ActorOptions) => Promise<VersionWithDocument>;
  /** The fields that differ between two versions: the newest and the one before it, where none is named. */
  diff: (
    target: AuditTarget<C>,
    options?: ActorOptions & { from?: number | undefined; to?: number | undefined },
  ) => Promise<Difference>;
  /** For each field the version that set its value. */
  blame: (target: AuditTarget<C>, options?: ActorOptions & { version?: number | undefined }) => Promise<Blame>;
};

/** A client of one service. */
export type Client<in out C extends AnyConfig = AnyConfig> = {
  /** The token of the user who is logged in; null without one. */
  token: string | null;
  collection: <Slug extends CollectionSlug<C>>(slug: Slug) => CollectionClient<C, Slug>;
  global: <Slug extends GlobalSlug<C>>(slug: Slug) => GlobalClient<C, Slug>;
  /** The API keys that were made at run time. */
  keys: Keys<C>;
  /** The webhooks of the configuration, and their deliveries. */
  webhooks: Webhooks;
  /** The documents of all collections whose texts hold each of some words, those that fit best first. */
  search: (words: string, options?: SearchOptions<C>) => Promise<Found<CollectionSlug<C>>>;
  /** How many documents there are in each collection of which the caller may read something. */
  counts: (
    options?: CallOptions & { asOf?: Moment | undefined },
  ) => Promise<{ [Slug in CollectionSlug<C>]?: { total: number } }>;
  undo: Undo;
  /** The history of documents and globals, and the events of the log. */
  audit: Audit<C>;
  /** Drafts of the user: typed, and not written. */
  drafts: Drafts<C>;
  /** Preferences of the user: any JSON object. */
  preferences: {
    get: (options?: CallOptions) => Promise<Record<string, unknown>>;
    /** Applies a JSON merge patch (RFC 7396): objects are merged, null removes, all else replaces. */
    update: (patch: Record<string, unknown>, options?: CallOptions) => Promise<Record<string, unknown>>;
  };
  /** The deleted documents of all collections that the caller may read and delete, the last deleted first. */
  trash: (options?: PageOptions) => Promise<Page<Trashed<CollectionSlug<C>>>>;
  /** The configuration, and for a user their rights. */
  schemas: (options?: CallOptions & { asOf?: Moment | undefined }) => Promise<Schemas>;
  /** The facts that an admin UI needs before a user logs in; 404 where it is turned off. */
  boot: (options?: CallOptions) => Promise<Boot>;
  /** A token that lets its holder read a draft for a while. */
  previewToken: (draft: Draft<C>, options?: CallOptions) => Promise<{ token: string }>;
  /** The draft of a preview token; no login is needed or looked at. */
  previewData: (token: string, options?: CallOptions) => Promise<Draft<C>>;
  /**
   * The whole address of a file, from its document or its `url`, with the path of the service's base URL or without.
   */
  mediaUrl: (file: string | object) => string;
  /**
   * The version of a document or global that a call gave, for `ifMatch`; undefined for those of lists, and for copies.
   */
  etagOf: (document: object) => string | undefined;
};
