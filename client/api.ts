import type { FileSource } from './form.ts';
import type { CallOptions, KeyedOptions, Moment, ReasonOptions, WriteOptions } from './options.ts';
import type {
  AccountState,
  ApiKey,
  ApiKeyWithSecret,
  Boot,
  BulkChanged,
  BulkCreated,
  BulkUpserted,
  CursorPage,
  Delivery,
  Found,
  Groups,
  GroupValue,
  Invitation,
  KeyAudit,
  KeyOperation,
  Login,
  OwnDraft,
  OwnDraftWithData,
  Page,
  Reference,
  RestorePlan,
  RestoreSource,
  Schemas,
  Session,
  StreamState,
  Success,
  Trashed,
  UncountedPage,
  Undone,
  Versions,
  Webhook,
} from './types/answers.ts';
import type { Blame, Difference, LogEvents, VersionWithDocument } from './types/audit.ts';
import type {
  AnyConfig,
  AuthSlug,
  CollectionSlug,
  CreateInput,
  DocumentOf,
  GlobalInput,
  GlobalOf,
  GlobalSelectOf,
  GlobalSlug,
  GroupPathOf,
  SelectedGlobalOf,
  SelectedOf,
  SelectOf,
  SortOf,
  UpdateInput,
  UploadSlug,
  UserOf,
  WhereOf,
} from './types/config.ts';
import type { ReplaceOptions, UploadOptions } from './uploading.ts';

/** How a document or global is read: how many levels of related documents stand in it, as of when, and which members. */
export type ReadOptions<Depth extends number = number, Select = string> = CallOptions & {
  depth?: Depth | undefined;
  asOf?: Moment | undefined;
  select?: Select | readonly Select[] | undefined;
};

/** The documents that are read, and their order. */
export type ListOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ReadOptions<Depth, Select & SelectOf<C, Slug>> & {
  where?: WhereOf<C, Slug> | undefined;
  sort?: SortOf<C, Slug> | readonly SortOf<C, Slug>[] | undefined;
  limit?: number | undefined;
  /** Only documents whose texts hold each of these words; not with `asOf`. */
  q?: string | undefined;
};

/** A page of a list. */
export type FindOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count?: 'exact' | undefined };

/** A page of a list that is not counted. */
export type UncountedOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { page?: number | undefined; count: 'none' };

/** A list after a place in it: empty to begin, then the `nextCursor` of each answer. */
export type CursorOptions<
  C extends AnyConfig,
  Slug extends string,
  Depth extends number = number,
  Select = string,
> = ListOptions<C, Slug, Depth, Select> & { after: string; count?: 'exact' | 'none' | undefined };

/** The documents that are counted. */
export type CountOptions<C extends AnyConfig, Slug extends string> = CallOptions & {
  where?: WhereOf<C, Slug> | undefined;
  /** As in a list. */
  q?: string | undefined;
  asOf?: Moment | undefined;
};

/** Documents that are grouped: at most `limit` (100) groups are in the answer. */
export type GroupOptions<C extends AnyConfig, Slug extends string> = CallOptions & {
  where?: WhereOf<C, Slug> | undefined;
  limit?: number | undefined;
  asOf?: Moment | undefined;
};

/** A page of what points at a document. */
export type PageOptions = CallOptions & {
  limit?: number | undefined;
  page?: number | undefined;
  asOf?: Moment | undefined;
};

/** A page of deleted documents. */
export type TrashOptions = Omit<PageOptions, 'asOf'>;

/** How many documents a search gives, and of which collections; 20, of all that the caller may read. */
export type SearchOptions<C extends AnyConfig> = CallOptions & {
  limit?: number | undefined;
  collections?: readonly CollectionSlug<C>[] | undefined;
};

/** A page of a history: `limit` versions after the version `after`. */
export type HistoryOptions = CallOptions & {
  limit?: number | undefined;
  after?: number | undefined;
  /** `names`: each actor has a `label`. */
  actors?: 'ids' | 'names' | undefined;
};

/** A restore that is only tried. */
export type DryRun = CallOptions & { dryRun: true };

/** The methods of every collection. */
export type Documents<in out C extends AnyConfig, in out Slug extends string> = {
  /** One page of documents, or those after a place in the list. */
  find: {
    <const Depth extends number = 0, const Select extends string = never>(
      options: CursorOptions<C, Slug, Depth, Select>,
    ): Promise<CursorPage<SelectedOf<C, Slug, Depth, Select>>>;
    <const Depth extends number = 0, const Select extends string = never>(
      options: UncountedOptions<C, Slug, Depth, Select>,
    ): Promise<UncountedPage<SelectedOf<C, Slug, Depth, Select>>>;
    <const Depth extends number = 0, const Select extends string = never>(
      options?: FindOptions<C, Slug, Depth, Select>,
    ): Promise<Page<SelectedOf<C, Slug, Depth, Select>>>;
  };
  /** The document with an id, or the first one of a list; null where the caller may know of none. */
  findOne: <const Depth extends number = 0, const Select extends string = never>(
    idOrList: string | Omit<ListOptions<C, Slug, Depth, Select>, 'limit'>,
    options?: ReadOptions<Depth, Select & SelectOf<C, Slug>>,
  ) => Promise<SelectedOf<C, Slug, Depth, Select> | null>;
  /** Every document, `limit` (100) of them in each call; the newest first. */
  findAll: <const Depth extends number = 0, const Select extends string = never>(
    options?: ListOptions<C, Slug, Depth, Select>,
  ) => AsyncGenerator<SelectedOf<C, Slug, Depth, Select>, void, undefined>;
  /** How many documents there are. */
  count: (options?: CountOptions<C, Slug>) => Promise<number>;
  /** Documents grouped by the values of up to three paths, with figures of each group. */
  aggregate: <
    const By extends readonly GroupPathOf<C, Slug>[] = [],
    const Sum extends readonly string[] = [],
    const Min extends readonly string[] = [],
    const Max extends readonly string[] = [],
    const Avg extends readonly string[] = [],
  >(
    options?: GroupOptions<C, Slug> & {
      groupBy?: By | undefined;
      sum?: Sum | undefined;
      min?: Min | undefined;
      max?: Max | undefined;
      avg?: Avg | undefined;
      /** `count`, a figure such as `sum.views`, or a path of `groupBy`; `-` in front for descending. */
      sort?: string | readonly string[] | undefined;
    },
  ) => Promise<Groups<By[number], { sum: Sum[number]; min: Min[number]; max: Max[number]; avg: Avg[number] }>>;
  /** The values of a field, the most frequent first, and how many documents have each. */
  distinct: (
    field: GroupPathOf<C, Slug>,
    options?: GroupOptions<C, Slug>,
  ) => Promise<{ values: { value: GroupValue; count: number }[]; total: number }>;
  /** The documents and globals that point at a document, as far as the caller may read them. */
  references: (id: string, options?: PageOptions) => Promise<Page<Reference<CollectionSlug<C>, GlobalSlug<C>>>>;
  /** The deleted documents that the caller may read and delete, the last deleted first. */
  trash: (options?: TrashOptions) => Promise<Page<Trashed<Slug>>>;
  /** Changes the given fields, each whole, and gives the whole document. */
  update: (id: string, data: UpdateInput<C, Slug>, options?: WriteOptions) => Promise<DocumentOf<C, Slug>>;
  /** Deletes a document and gives what it was. */
  delete: (id: string, options?: WriteOptions) => Promise<DocumentOf<C, Slug>>;
  /** Makes a document what it was, one that was deleted too; with `dryRun`, tells what that would change. */
  restore: {
    (id: string, source: RestoreSource, options: DryRun): Promise<RestorePlan>;
    (id: string, source: RestoreSource, options?: WriteOptions): Promise<DocumentOf<C, Slug>>;
  };
  /** The versions of a document, for who may look into the history. */
  history: (id: string, options?: HistoryOptions) => Promise<{ document: StreamState } & Versions>;
};

/** The methods of collections without files. */
export type Creation<in out C extends AnyConfig, in out Slug extends string> = {
  create: (data: CreateInput<C, Slug>, options?: KeyedOptions) => Promise<DocumentOf<C, Slug>>;
};

/** Documents: those with these ids, or those that the caller may read and that meet a condition. */
export type Selection<C extends AnyConfig, Slug extends string> =
  | { ids: readonly string[]; where?: never }
  | { where: WhereOf<C, Slug>; ids?: never };

/** A call about many documents that may only be tried. */
export type ChangeOptions = KeyedOptions & { dryRun?: boolean | undefined };

/** The methods about many documents, at most 1,000 in a call: all of them are done, or none. */
export type Bulk<in out C extends AnyConfig, in out Slug extends string> = {
  createMany: (docs: readonly Omit<CreateInput<C, Slug>, 'password'>[], options?: KeyedOptions) => Promise<BulkCreated>;
  /** Changes the documents that have the same value in a unique field, and creates the others. */
  upsertMany: (
    upsertBy: Exclude<SortOf<C, Slug>, `-${string}`>,
    docs: readonly Omit<UpdateInput<C, Slug>, 'password'>[],
    options?: KeyedOptions,
  ) => Promise<BulkUpserted>;
  /** Changes the given fields, each whole; with `dryRun`, tells what that would change. */
  updateMany: (
    selection: Selection<C, Slug>,
    data: Omit<UpdateInput<C, Slug>, 'password'>,
    options?: ChangeOptions,
  ) => Promise<BulkChanged<'updated' | 'unchanged'>>;
  /** Deletes documents; with `dryRun`, tells which. */
  deleteMany: (selection: Selection<C, Slug>, options?: ChangeOptions) => Promise<BulkChanged<'deleted'>>;
};

/** Undoes a call about many documents, by its `batch`; with `force`, also where documents have changed since. */
export type Undo = (batch: string, options?: ChangeOptions & { force?: boolean | undefined }) => Promise<Undone>;

/** The methods of collections of files. */
export type Files<in out C extends AnyConfig, in out Slug extends string> = {
  /** Sends a file and makes a document of it. */
  upload: (file: FileSource, data?: CreateInput<C, Slug>, options?: UploadOptions) => Promise<DocumentOf<C, Slug>>;
  /** Puts another file in the place of a document's, and changes the given fields. */
  replaceFile: (
    id: string,
    file: FileSource,
    data?: UpdateInput<C, Slug>,
    options?: ReplaceOptions,
  ) => Promise<DocumentOf<C, Slug>>;
};

/** The methods of collections of accounts. All but the last five work with the token that the client keeps. */
export type Accounts<in out C extends AnyConfig, in out Slug extends string> = {
  /** Logs in and keeps the token. */
  login: (
    credentials: { email: string; password: string },
    options?: CallOptions,
  ) => Promise<Login<DocumentOf<C, Slug>>>;
  /** Ends the session and forgets the token; that it had ended already is not an error. */
  logout: (options?: CallOptions) => Promise<void>;
  /** The user who is logged in, related documents to `auth.depth`. */
  me: (options?: CallOptions) => Promise<UserOf<C, Slug>>;
  /** Keeps a token that is good for longer. */
  refreshToken: (options?: CallOptions) => Promise<{ token: string }>;
  /** The sessions of the user that have not ended, the oldest first. */
  sessions: (options?: CallOptions) => Promise<Session[]>;
  /** Ends a session of the user, and gives what it was. */
  endOwnSession: (sid: string, options?: CallOptions) => Promise<Session>;
  invite: (input: { email: string }, options?: CallOptions) => Promise<Success>;
  /** The invitations that can be accepted and that the user might have sent, oldest first. */
  invitations: (options?: CallOptions) => Promise<Invitation[]>;
  /** Ends an invitation, and gives what it was. */
  withdrawInvitation: (id: string, options?: CallOptions) => Promise<Invitation>;
  /** The lock and the sessions of an account, for who may update it. */
  account: (id: string, options?: CallOptions) => Promise<AccountState>;
  /** Ends the lock of an account, not the user's own, and the count of failed logins. */
  unlock: (id: string, options?: CallOptions) => Promise<AccountState>;
  /** Ends a session of an account, and gives what it was. */
  endSession: (id: string, sid: string, options?: CallOptions) => Promise<Session>;
  /** Makes the account of who was invited, logs in and keeps the token. */
  acceptInvite: (
    input: { token: string; password: string } & Omit<CreateInput<C, Slug>, 'email' | 'password'>,
    options?: ReasonOptions,
  ) => Promise<Login<DocumentOf<C, Slug>>>;
  forgotPassword: (input: { email: string }, options?: CallOptions) => Promise<Success>;
  resetPassword: (input: { token: string; password: string }, options?: CallOptions) => Promise<Success>;
  /** Whether there is an account. */
  isInitialized: (options?: CallOptions) => Promise<boolean>;
  /** Makes the first account, by the token that the service prints at its start; logs in and keeps the token. */
  registerFirstUser: (
    input: { setupToken: string; email: string; password: string } & Omit<CreateInput<C, Slug>, 'email' | 'password'>,
    options?: ReasonOptions,
  ) => Promise<Login<DocumentOf<C, Slug>>>;
};

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
  trash: (options?: TrashOptions) => Promise<Page<Trashed<CollectionSlug<C>>>>;
  /** The configuration, and for a user their rights. */
  schemas: (options?: CallOptions & { asOf?: Moment | undefined }) => Promise<Schemas>;
  /** The facts that an admin UI needs before a user logs in; 404 where it is turned off. */
  boot: (options?: CallOptions) => Promise<Boot>;
  /** A token that lets its holder read a draft for a while. */
  previewToken: (draft: Draft<C>, options?: CallOptions) => Promise<{ token: string }>;
  /** The draft of a preview token; no login is needed or looked at. */
  previewData: (token: string, options?: CallOptions) => Promise<Draft<C>>;
  /** The whole address of a file, from its document or its `url`, with the path of the service's base URL or without. */
  mediaUrl: (file: string | object) => string;
  /** The version of a document or global that a call gave, for `ifMatch`; undefined for those of lists, and for copies. */
  etagOf: (document: object) => string | undefined;
};
