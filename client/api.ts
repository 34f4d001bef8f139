import type { CallOptions, KeyedOptions, Moment, ReasonOptions, WriteOptions } from './options.ts';
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
  Review,
  StreamState,
  Trashed,
  Versions,
  Webhook,
} from './types/answers.ts';
import type { Blame, Difference, LogEvents, VersionWithDocument } from './types/audit.ts';
import type { Accounts, Bulk, Creation, Documents, Files, ReadBatch, Undo } from './types/collections.ts';
import type {
  AnyConfig,
  AuthSlug,
  CollectionSlug,
  GlobalSelectOf,
  GlobalSlug,
  SelectedGlobalOf,
  UploadSlug,
} from './types/config.ts';
import type { DocumentWrites, GlobalWrites } from './types/drafts.ts';
import type { Ahead, HistoryOptions, PageOptions, Paging, ReadOptions, SearchOptions } from './types/reads.ts';
import type { NewViewToken, PreviewTokens, Releases, ViewToken } from './types/releases.ts';
import type { Schemas } from './types/schemas.ts';

/** The methods of a collection. If the configuration is not known at compile time, every collection has all of them. */
export type CollectionClient<C extends AnyConfig, Slug extends string> = Documents<C, Slug> &
  DocumentWrites<C, Slug> &
  (Slug extends AuthSlug<C> ? Accounts<C, Slug> : unknown) &
  (string extends UploadSlug<C>
    ? Creation<C, Slug> & Bulk<C, Slug> & Files<C, Slug>
    : Slug extends UploadSlug<C>
      ? Files<C, Slug>
      : Creation<C, Slug> & Bulk<C, Slug>);

/** The methods of a global. */
export type GlobalClient<C extends AnyConfig, Slug extends string> = GlobalReads<C, Slug> & GlobalWrites<C, Slug>;

/** The methods of a global that read. */
export type GlobalReads<in out C extends AnyConfig, in out Slug extends string> = {
  /** The global, with related documents to the depth `depth`. */
  get: <const Depth extends number = 0, const Select extends string = never>(
    options?: ReadOptions<Depth, Select & GlobalSelectOf<C, Slug>>,
  ) => Promise<SelectedGlobalOf<C, Slug, Depth, Select>>;
  /** The versions of the global, for callers who may read the history. */
  history: (options?: HistoryOptions) => Promise<{ global: StreamState } & Versions>;
};

/** The content of a preview: changed data of an existing document. */
export type PreviewContent<C extends AnyConfig> = {
  collection: CollectionSlug<C>;
  id: string;
  data: Record<string, unknown>;
};

/**
 * Operations that an API key may do on some collections and globals; `*` stands for all. At least one collection or
 * global is needed.
 */
export type KeyScopeInput<C extends AnyConfig> = {
  collections?: readonly CollectionSlug<C>[] | '*';
  globals?: readonly GlobalSlug<C>[] | '*';
  operations: readonly KeyOperation[];
};

/** The data of a new API key. A key without `scopes` and `audit` may do nothing. */
export type KeyInput<C extends AnyConfig> = {
  name: string;
  scopes?: readonly KeyScopeInput<C>[];
  audit?: readonly KeyAudit[];
  /** A date and time with a zone. With null, the key does not expire. */
  expiresAt?: string | null;
};

/** The methods for API keys, for callers who may manage them. */
export type Keys<in out C extends AnyConfig> = {
  /** A page of the API keys that are not revoked, oldest first. */
  list: (options?: Paging) => Promise<Page<ApiKey>>;
  /** A key that is not revoked. */
  get: (id: string, options?: CallOptions) => Promise<ApiKey>;
  /** Makes a key. Only this answer contains the secret. */
  create: (input: KeyInput<C>, options?: KeyedOptions) => Promise<ApiKeyWithSecret>;
  /**
   * Gives a key a new secret. The previous secret stays valid for `overlapSeconds`; default 0, at most 604,800 (7
   * days).
   */
  rotate: (id: string, options?: KeyedOptions & { overlapSeconds?: number | undefined }) => Promise<ApiKeyWithSecret>;
  /** Revokes a key, and returns its last state. */
  revoke: (id: string, options?: ReasonOptions) => Promise<ApiKey>;
};

/** The methods for webhooks, for callers who may manage API keys. */
export type Webhooks = {
  /** A page of the webhooks of the configuration, with the state of their deliveries. */
  list: (options?: Paging) => Promise<Page<Webhook>>;
  /** A webhook, by its name. */
  get: (name: string, options?: CallOptions) => Promise<Webhook>;
  /** A page of the deliveries that have not succeeded yet, oldest first. */
  deliveries: (
    name: string,
    options?: Paging & { state?: 'all' | 'waiting' | 'parked' | undefined },
  ) => Promise<Page<Delivery>>;
  /** A delivery that has not succeeded yet. */
  delivery: (name: string, id: string, options?: CallOptions) => Promise<Delivery>;
  /** Makes a delivery due immediately. */
  retry: (name: string, id: string, options?: CallOptions) => Promise<Delivery>;
  /** Makes all deliveries of a webhook due immediately. */
  retryAll: (name: string, options?: CallOptions) => Promise<Webhook>;
};

/**
 * The document or global to which unsaved changes belong. For a document that does not exist yet, `id` is `new-`
 * followed by a UUID.
 */
export type DraftTarget<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string }
  | { global: GlobalSlug<C> };

/** The methods for unsaved changes of the user. The service keeps each for 30 days. */
export type Drafts<in out C extends AnyConfig> = {
  /** A page of the unsaved changes to documents and globals that the user may read, newest first, without `data`. */
  list: (options?: Paging) => Promise<Page<OwnDraft>>;
  /** The unsaved changes to a document or global, with `data`. */
  get: (target: DraftTarget<C>, options?: CallOptions) => Promise<OwnDraftWithData>;
  /** Stores unsaved changes, and replaces earlier ones. `version` is the version of the document that they change. */
  keep: (
    target: DraftTarget<C>,
    draft: { data: Record<string, unknown>; version?: number | null },
    options?: Pick<WriteOptions, 'ifMatch'> & CallOptions,
  ) => Promise<OwnDraft>;
  /** Deletes unsaved changes. */
  drop: (target: DraftTarget<C>, options?: Pick<WriteOptions, 'ifMatch'> & CallOptions) => Promise<OwnDraft>;
};

/** The document or global whose history is read. */
export type AuditTarget<C extends AnyConfig> =
  | { collection: CollectionSlug<C>; id: string }
  | { global: GlobalSlug<C> };

/** How answers of the history show actors: with `names`, each actor has a `label`. */
export type ActorOptions = CallOptions & { actors?: 'ids' | 'names' | undefined };

/** Which events of the log to read: by stream, bulk call, collection, type, actor or time. */
export type EventOptions = ActorOptions & {
  stream?: string | undefined;
  batch?: string | undefined;
  collection?: string | undefined;
  type?: string | undefined;
  actor?: string | undefined;
  from?: Moment | undefined;
  to?: Moment | undefined;
  next?: number | undefined;
  limit?: number | undefined;
};

/** A version of a document, or one of its lines as it is today. */
type VersionOrLine = number | 'published' | 'draft';

/** The methods for the history, for callers who may read it. */
export type Audit<in out C extends AnyConfig> = {
  /** Events of the log, in the order of their positions. */
  events: (options?: EventOptions) => Promise<LogEvents>;
  /** A version, with the whole document as of that version. */
  version: (target: AuditTarget<C>, version: number, options?: ActorOptions) => Promise<VersionWithDocument>;
  /**
   * The fields that differ between two versions; default: the newest version and the one before. `published` and
   * `draft` are the lines of today.
   */
  diff: (
    target: AuditTarget<C>,
    options?: ActorOptions & { from?: VersionOrLine | undefined; to?: VersionOrLine | undefined },
  ) => Promise<Difference>;
  /** The version that set the value of each field. */
  blame: (target: AuditTarget<C>, options?: ActorOptions & { version?: VersionOrLine | undefined }) => Promise<Blame>;
};

/** A client of one service. */
export type Client<in out C extends AnyConfig = AnyConfig> = {
  /** The token of the logged-in user; null without a login. */
  token: string | null;
  /** The methods of a collection. */
  collection: <Slug extends CollectionSlug<C>>(slug: Slug) => CollectionClient<C, Slug>;
  /** The methods of a global. */
  global: <Slug extends GlobalSlug<C>>(slug: Slug) => GlobalClient<C, Slug>;
  /** The API keys that are made at run time. */
  keys: Keys<C>;
  /** The webhooks of the configuration, and their deliveries. */
  webhooks: Webhooks;
  /** Releases, which publish drafts together, now or at a time. */
  releases: Releases<C>;
  /** Searches the texts of all collections for documents that contain all of the words; best matches first. */
  search: (words: string, options?: SearchOptions<C>) => Promise<Found<CollectionSlug<C>>>;
  /** The number of documents in each collection of which the caller may read something. */
  counts: (
    options?: CallOptions & { asOf?: Moment | undefined; draft?: boolean | undefined } & Ahead,
  ) => Promise<{ [Slug in CollectionSlug<C>]?: { total: number } }>;
  /** Reads what a bulk call did, with a page of its documents. */
  batch: ReadBatch;
  /** Undoes a bulk call. */
  undo: Undo;
  /** The history of documents and globals, and the events of the log. */
  audit: Audit<C>;
  /** Changes that the user typed but has not saved. */
  drafts: Drafts<C>;
  /** The preferences of the user: any JSON object. */
  preferences: {
    /** The preferences; `{}` until some are set. */
    get: (options?: CallOptions) => Promise<Record<string, unknown>>;
    /** Applies a JSON merge patch (RFC 7396): objects are merged, null removes a member, other values replace it. */
    update: (patch: Record<string, unknown>, options?: CallOptions) => Promise<Record<string, unknown>>;
  };
  /** The deleted documents, of all collections, that the caller may read and delete; most recently deleted first. */
  trash: (options?: PageOptions) => Promise<Page<Trashed<CollectionSlug<C>>>>;
  /** The open requests for review whose drafts the caller may read, the newest first. */
  reviews: (options?: Omit<PageOptions, 'asOf'>) => Promise<Page<Review>>;
  /** The configuration; for a user also the user's rights. */
  schemas: (options?: CallOptions & { asOf?: Moment | undefined }) => Promise<Schemas>;
  /** The data that an admin application needs before a user logs in; a 404 if the admin application is turned off. */
  boot: (options?: CallOptions) => Promise<Boot>;
  /** Makes a token with which anyone can read a preview, or a view of the site, for a limited time. */
  previewToken: (of: PreviewContent<C> | NewViewToken, options?: CallOptions) => Promise<ViewToken>;
  /** The tokens of views that the caller has made, and the way to take one back. */
  previewTokens: PreviewTokens;
  /** The preview of a token. The call needs no login and ignores one. */
  previewData: (token: string, options?: CallOptions) => Promise<PreviewContent<C>>;
  /** The full URL of a file, from its document or its `url`. */
  mediaUrl: (file: string | object) => string;
  /**
   * The ETag of a document or global, for `ifMatch`. It is known only for the very object that a call returned:
   * undefined for a copy, and for documents of a list.
   */
  etagOf: (document: object) => string | undefined;
};
