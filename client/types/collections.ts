import type { FileSource } from '../form.ts';
import type { CallOptions, KeyedOptions, Moment, OnceOptions, ReasonOptions } from '../options.ts';
import type { ReplaceOptions, UploadOptions } from '../uploading.ts';
import type {
  Absence,
  AccountState,
  Batch,
  BulkChanged,
  BulkCreated,
  BulkUpserted,
  CursorPage,
  Groups,
  GroupValue,
  Invitation,
  Login,
  Page,
  Reference,
  Session,
  StreamState,
  Success,
  Trashed,
  UncountedPage,
  Undone,
  Versions,
} from './answers.ts';
import type {
  AccountOf,
  AnyConfig,
  CollectionSlug,
  CreateInput,
  FileOf,
  GlobalSlug,
  GroupPathOf,
  NumberPathOf,
  OrderedPathOf,
  SelectedOf,
  SelectOf,
  UniquePathOf,
  UpdateInput,
  UserOf,
  WhereOf,
} from './config.ts';
import type { CreateDocument } from './drafts.ts';
import type { FiguresOf, GroupOrder, ItemOf } from './group-order.ts';
import type {
  CountOptions,
  CursorOptions,
  FindOptions,
  FirstOptions,
  GroupOptions,
  HistoryOptions,
  ListOptions,
  PageOptions,
  Paging,
  ReadOptions,
  ReferenceOptions,
  UncountedOptions,
} from './reads.ts';

/** The methods of every collection that read. */
export type Documents<in out C extends AnyConfig, in out Slug extends string> = {
  /** One page of documents; with `next`, the documents after a cursor. */
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
  /** The document with an id, or the first document of a list; null without a document that the caller may read. */
  findOne: <const Depth extends number = 0, const Select extends string = never>(
    idOrList: string | FirstOptions<C, Slug, Depth, Select>,
    options?: ReadOptions<Depth, Select & SelectOf<C, Slug>>,
  ) => Promise<SelectedOf<C, Slug, Depth, Select> | null>;
  /**
   * The reason why there is no document with an id as of a moment; null if the document exists then, or if the caller
   * may not know of it.
   */
  absence: (id: string, options: CallOptions & { asOf: Moment }) => Promise<Absence | null>;
  /**
   * Yields every document, newest first unless `sort` is given. Each call fetches `limit` documents, 100 by default.
   */
  findAll: <const Depth extends number = 0, const Select extends string = never>(
    options?: ListOptions<C, Slug, Depth, Select>,
  ) => AsyncGenerator<SelectedOf<C, Slug, Depth, Select>, void, undefined>;
  /** The number of documents. */
  count: (options?: CountOptions<C, Slug>) => Promise<number>;
  /** Groups documents by the values of up to three paths, and computes figures for each group. */
  aggregate: <
    const By extends readonly GroupPathOf<C, Slug>[] = [],
    const Sum extends readonly NumberPathOf<C, Slug>[] = [],
    const Min extends readonly OrderedPathOf<C, Slug>[] = [],
    const Max extends readonly OrderedPathOf<C, Slug>[] = [],
    const Avg extends readonly NumberPathOf<C, Slug>[] = [],
  >(
    options?: GroupOptions<C, Slug> & {
      groupBy?: By | undefined;
      sum?: Sum | undefined;
      min?: Min | undefined;
      max?: Max | undefined;
      avg?: Avg | undefined;
      /** `count`, a figure such as `sum.views`, or a path of `groupBy`; with `-` in front for descending order. */
      sort?: GroupOrder<C, Slug, ItemOf<By>, FiguresOf<Sum, Min, Max, Avg>> | undefined;
    },
  ) => Promise<Groups<ItemOf<By>, FiguresOf<Sum, Min, Max, Avg>>>;
  /** The values of a field with the number of documents that have each, most frequent first. */
  distinct: (
    field: GroupPathOf<C, Slug>,
    options?: GroupOptions<C, Slug>,
  ) => Promise<{ values: { value: GroupValue; count: number }[]; total: number }>;
  /** The documents and globals with a reference to a document, as far as the caller may read them. */
  references: (id: string, options?: ReferenceOptions) => Promise<Page<Reference<CollectionSlug<C>, GlobalSlug<C>>>>;
  /** The deleted documents that the caller may read and delete, most recently deleted first. */
  trash: (options?: PageOptions) => Promise<Page<Trashed<Slug>>>;
  /** The versions of a document, for callers who may read the history. */
  history: (id: string, options?: HistoryOptions) => Promise<{ document: StreamState } & Versions>;
};

/** The methods of collections that are not upload collections. */
export type Creation<in out C extends AnyConfig, in out Slug extends string> = {
  /** Creates a document, and returns it; with `draft` as a draft. */
  create: CreateDocument<C, Slug>;
};

/** The documents of a bulk call: by their ids, or all documents that match a filter and that the caller may read. */
export type Selection<C extends AnyConfig, Slug extends string> =
  | { ids: readonly string[]; where?: never }
  | { where: WhereOf<C, Slug>; ids?: never };

/** The options of a bulk call. With `dryRun` nothing is written. */
export type ChangeOptions = KeyedOptions & { dryRun?: boolean | undefined };

/** The options of a bulk call that is about drafts with `draft`, where there are drafts. */
export type LineOptions = ChangeOptions & { draft?: boolean | undefined };

/** The methods for many documents, at most 1,000 in a call. A call changes all of its documents or none. */
export type Bulk<in out C extends AnyConfig, in out Slug extends string> = {
  /** Creates documents. With `dryRun`, only checks them: their ids are not those that the call would give. */
  createMany: (docs: readonly Omit<CreateInput<C, Slug>, 'password'>[], options?: LineOptions) => Promise<BulkCreated>;
  /**
   * Updates each document whose value in the unique field `upsertBy` exists already, and creates the others. With
   * `dryRun`, only returns what the call would do.
   */
  upsertMany: Upsert<UniquePathOf<C, Slug>, UpdateInput<C, Slug>>;
  /**
   * Replaces the values of the given fields in each document. With `dryRun`, only returns what the call would change.
   */
  updateMany: (
    selection: Selection<C, Slug>,
    data: Omit<UpdateInput<C, Slug>, 'password'>,
    options?: LineOptions,
  ) => Promise<BulkChanged<'updated' | 'unchanged'>>;
  /** Deletes documents. With `dryRun`, only returns which. */
  deleteMany: (selection: Selection<C, Slug>, options?: LineOptions) => Promise<BulkChanged<'deleted'>>;
  /** Makes the drafts of documents public. With `dryRun`, only returns which. */
  publishMany: (
    selection: Selection<C, Slug>,
    options?: ChangeOptions,
  ) => Promise<BulkChanged<'published' | 'unchanged'>>;
  /** Takes documents out of what is public. With `dryRun`, only returns which. */
  unpublishMany: (selection: Selection<C, Slug>, options?: ChangeOptions) => Promise<BulkChanged<'unpublished'>>;
  /** Makes the drafts of documents what is public. With `dryRun`, only returns which. */
  discardMany: (
    selection: Selection<C, Slug>,
    options?: ChangeOptions,
  ) => Promise<BulkChanged<'discarded' | 'unchanged'>>;
};

type Upsert<Field, Data> = <const By extends Field>(
  upsertBy: By,
  docs: readonly (Omit<Data, 'password'> & (string extends Field ? unknown : WithValue<Data, By>))[],
  options?: LineOptions,
) => Promise<BulkUpserted>;

/** Data with a value at a path, which may lead through objects. */
type WithValue<Data, Path> = Path extends `${infer Name}.${infer Rest}`
  ? { [One in Name]: WithValue<MemberOf<Data, Name>, Rest> }
  : { [One in Path & string]: MemberOf<Data, One> };
type MemberOf<Data, Name> = NonNullable<Data[Name & keyof Data]>;

/** Reads what a bulk call did, given its `batch`, with a page of its documents. */
export type ReadBatch = (batch: string, options?: Omit<PageOptions, 'asOf'>) => Promise<Batch>;

/** Undoes a bulk call, given its `batch`. With `force`, it also overwrites documents that have changed since. */
export type Undo = (batch: string, options?: ChangeOptions & { force?: boolean | undefined }) => Promise<Undone>;

/** The methods of upload collections. */
export type Files<in out C extends AnyConfig, in out Slug extends string> = {
  /** Uploads a file and creates its document. */
  upload: (file: FileSource, data?: CreateInput<C, Slug>, options?: UploadOptions) => Promise<FileOf<C, Slug>>;
  /** Replaces the file of a document, and the values of the given fields. */
  replaceFile: (
    id: string,
    file: FileSource,
    data?: UpdateInput<C, Slug>,
    options?: ReplaceOptions,
  ) => Promise<FileOf<C, Slug>>;
};

/** The methods of auth collections. All but the last five use the token that the client holds. */
export type Accounts<in out C extends AnyConfig, in out Slug extends string> = {
  /** Logs in. The client keeps the token. */
  login: (
    credentials: { email: string; password: string },
    options?: CallOptions,
  ) => Promise<Login<AccountOf<C, Slug>>>;
  /** Ends the session and forgets the token. It is not an error if the session has ended already. */
  logout: (options?: CallOptions) => Promise<void>;
  /** The logged-in user, with related documents to the depth `auth.depth`. */
  me: (options?: CallOptions) => Promise<UserOf<C, Slug>>;
  /** Gets a new token with a later expiry. The client keeps it. */
  refreshToken: (options?: CallOptions) => Promise<{ token: string }>;
  /** A page of the sessions of the user that have not ended, oldest first. */
  sessions: (options?: Paging) => Promise<Page<Session>>;
  /** Ends a session of the user, and returns its last state. */
  endOwnSession: (sid: string, options?: CallOptions) => Promise<Session>;
  /** Sends an invitation by mail. */
  invite: (input: { email: string }, options?: OnceOptions) => Promise<Success>;
  /** A page of the invitations that can still be accepted, for users who may invite; oldest first. */
  invitations: (options?: Paging) => Promise<Page<Invitation>>;
  /** An invitation that can still be accepted. */
  invitation: (id: string, options?: CallOptions) => Promise<Invitation>;
  /** Withdraws an invitation, and returns its last state. */
  withdrawInvitation: (id: string, options?: CallOptions) => Promise<Invitation>;
  /** The lock and the sessions of an account, for callers who may update the account. */
  account: (id: string, options?: CallOptions) => Promise<AccountState>;
  /** Unlocks an account and resets its count of failed logins. Users cannot unlock their own account. */
  unlock: (id: string, options?: CallOptions) => Promise<AccountState>;
  /** Ends a session of an account, and returns its last state. */
  endSession: (id: string, sid: string, options?: CallOptions) => Promise<Session>;
  /** Creates the account of an invited user and logs in. The client keeps the token. */
  acceptInvite: (
    input: { token: string; password: string } & Omit<CreateInput<C, Slug>, 'email' | 'password'>,
    options?: ReasonOptions,
  ) => Promise<Login<AccountOf<C, Slug>>>;
  /** Sends a mail with a link to set a new password, if there is such an account. The answer does not tell. */
  forgotPassword: (input: { email: string }, options?: CallOptions) => Promise<Success>;
  /** Sets a new password, with the token of the mail. */
  resetPassword: (input: { token: string; password: string }, options?: CallOptions) => Promise<Success>;
  /** Whether the collection has an account. */
  isInitialized: (options?: CallOptions) => Promise<boolean>;
  /**
   * Creates the first account, with the setup token that the service prints when it starts, and logs in. The client
   * keeps the token.
   */
  createFirstUser: (
    input: { setupToken: string; email: string; password: string } & Omit<CreateInput<C, Slug>, 'email' | 'password'>,
    options?: ReasonOptions,
  ) => Promise<Login<AccountOf<C, Slug>>>;
};
