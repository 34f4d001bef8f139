import type { FileSource } from '../form.ts';
import type { CallOptions, KeyedOptions, Moment, ReasonOptions, WriteOptions } from '../options.ts';
import type { ReplaceOptions, UploadOptions } from '../uploading.ts';
import type {
  Absence,
  AccountState,
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
  RestorePlan,
  RestoreSource,
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
  DocumentOf,
  FileOf,
  GlobalSlug,
  GroupPathOf,
  SelectedOf,
  SelectOf,
  SortOf,
  UpdateInput,
  UserOf,
  WhereOf,
} from './config.ts';
import type {
  CountOptions,
  CursorOptions,
  DryRun,
  FindOptions,
  GroupOptions,
  HistoryOptions,
  ListOptions,
  PageOptions,
  ReadOptions,
  UncountedOptions,
} from './reads.ts';

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
  /** Why there is no document with an id as of a moment; null where there is one, or the caller may know of none. */
  absence: (id: string, options: CallOptions & { asOf: Moment }) => Promise<Absence | null>;
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
  trash: (options?: PageOptions) => Promise<Page<Trashed<Slug>>>;
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
  upload: (file: FileSource, data?: CreateInput<C, Slug>, options?: UploadOptions) => Promise<FileOf<C, Slug>>;
  /** Puts another file in the place of a document's, and changes the given fields. */
  replaceFile: (
    id: string,
    file: FileSource,
    data?: UpdateInput<C, Slug>,
    options?: ReplaceOptions,
  ) => Promise<FileOf<C, Slug>>;
};

/** The methods of collections of accounts. All but the last five work with the token that the client keeps. */
export type Accounts<in out C extends AnyConfig, in out Slug extends string> = {
  /** Logs in and keeps the token. */
  login: (
    credentials: { email: string; password: string },
    options?: CallOptions,
  ) => Promise<Login<AccountOf<C, Slug>>>;
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
  ) => Promise<Login<AccountOf<C, Slug>>>;
  forgotPassword: (input: { email: string }, options?: CallOptions) => Promise<Success>;
  resetPassword: (input: { token: string; password: string }, options?: CallOptions) => Promise<Success>;
  /** Whether there is an account. */
  isInitialized: (options?: CallOptions) => Promise<boolean>;
  /** Makes the first account, by the token that the service prints at its start; logs in and keeps the token. */
  registerFirstUser: (
    input: { setupToken: string; email: string; password: string } & Omit<CreateInput<C, Slug>, 'email' | 'password'>,
    options?: ReasonOptions,
  ) => Promise<Login<AccountOf<C, Slug>>>;
};
