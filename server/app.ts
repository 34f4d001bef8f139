import type { Request } from '@hapi/hapi';
import type { Validator } from '../config/documents.ts';
import type { Collection, Field, Global, Model, User } from '../config/model.ts';
import type { Category, JsonObject } from '../config/schema.ts';
import type { DocumentShape } from '../config/shape.ts';
import type { TextField } from '../config/text-fields.ts';
import type { UniqueField } from '../events/facts/claims.ts';
import type { IdempotencyRecords } from '../events/facts/idempotency.ts';
import type { LinesNow } from '../events/facts/line-decisions.ts';
import type { Upcaster } from '../events/facts/upcasters.ts';
import type { LogReader } from '../events/log/log-reader.ts';
import type { CollectionNames } from '../events/service-events/categories.ts';
import type { Clock } from '../events/store/clock.ts';
import type { Ids } from '../events/store/ids.ts';
import type { Past } from '../projections/past/past.ts';
import type { Documents } from '../projections/query/documents.ts';
import type { JoinField, JoinRequest, JoinSources } from '../projections/query/joins.ts';
import type { OpenReview } from '../projections/query/lines.ts';
import type { Shown } from '../projections/query/overlay.ts';
import type { OverlayReader } from '../projections/query/overlay-documents.ts';
import type { Where } from '../projections/query/where.ts';
import type { Accounts } from '../projections/tables/accounts.ts';
import type { ApiKeys } from '../projections/tables/api-keys.ts';
import type { AuditIndex } from '../projections/tables/audit.ts';
import type { Releases } from '../projections/tables/releases.ts';
import type { Tables } from '../projections/tables/tables.ts';
import type { BlobStore } from '../storage/blobs.ts';
import type { Log } from './platform/logging.ts';
import type { ServiceState } from './platform/state.ts';
import type {
  AnswerSlots,
  Api,
  BulkQueue,
  Credentials,
  ErasurePort,
  KeyRecord,
  KeyService,
  Notary,
  PasswordService,
  Pins,
  Preferences,
  Previews,
  PreviewTokens,
  Reloading,
  Replays,
  ToldOrigins,
  UnsavedChanges,
  WebhookPort,
} from './ports.ts';
import type { SearchReader } from './queries/search-index.ts';
import type { TableState } from './reads/kept.ts';
import type { LongReadQueue } from './reads/long-read-queue.ts';
import type { MissingIndexes } from './reads/missing-list.ts';
import type { ReadEnd } from './reads/reads.ts';
import type { Writing } from './writer/append.ts';
import type { AppliedSchema } from './writer/messages.ts';

/** A relationship in reverse: `sources` gives the documents that point at some of this target's, today. */
export type Join = {
  name: string;
  collection: string;
  /** How many of these documents a document shows; null: all. */
  limit: number | null;
  field: JoinField;
  sources: (request: JoinRequest) => JoinSources;
};

/**
 * A target in the view of drafts: its documents are the newest that the caller may see. `published` is the target
 * without drafts, and `passes` is asked about each document that `documents` gives; null if all may be seen.
 */
type DraftView = {
  published: Target;
  passes: ((document: JsonObject) => Promise<boolean>) | null;
  sources: OverlayReader['sources'];
};

type Common = {
  slug: string;
  category: Category;
  documents: Documents;
  /** Reads both lines of a document; null without drafts. */
  lines: ((id: string) => LinesNow) | null;
  /** The documents of which a review is requested; null without drafts. */
  openReviews: (() => OpenReview[]) | null;
  /** The drafts that differ from the public documents; null without drafts. */
  draftDocuments: Documents | null;
  /** Gives the view in which these drafts are in the place of what is public; null without drafts. */
  overlay: ((shown: Shown) => OverlayReader) | null;
  /** The view of a request that reads drafts; absent in all other requests. */
  view?: DraftView;
  /** The documents by queries that ask whether they may go on. */
  interruptible: () => Documents;
  validator: Validator;
  /** Checks what is saved as a draft; null without drafts. */
  draftValidator: Validator | null;
  /** Makes the document of an answer from its values. */
  documentOf: DocumentShape;
  /** The document of a global before its first write; null in a collection. */
  defaults: (() => JsonObject) | null;
  unique: readonly UniqueField[];
  joins: readonly Join[];
  tables: Tables;
  /** The fields that a search covers. */
  searched: readonly TextField[];
  /** True if a read runs hooks. */
  hasReadHooks: boolean;
  /** The fields by which callers may filter who see only what the read hooks leave of documents. */
  queryable: readonly Field[];
  /** True if a field has a `read` rule. */
  hasReadRules: boolean;
};

/** A collection or global with all that its routes need, prepared once. */
export type Target<M extends Collection | Global = Collection | Global> = Common & { model: M };

/** The long reads: the thread that does them, how many seconds they may take, and a counter of how they ended. */
type LongReads = { queue: LongReadQueue; seconds: number; note: (end: ReadEnd) => void };

/** The running service as one thread has it: opened once, shared by every route. */
export type App = Writing & {
  model: Model;
  bulkQueue: BulkQueue;
  collections: ReadonlyMap<string, Target<Collection>>;
  globals: ReadonlyMap<string, Target<Global>>;
  /** The collections by the category of their streams. */
  byCategory: ReadonlyMap<Category, Target<Collection>>;
  /** Maps slugs, which callers write, to categories, which the log has, and back. */
  names: CollectionNames;
  /** The former slugs of renamed collections, each with the present one. */
  formerSlugs: () => ReadonlyMap<string, string>;
  /** Reads the log. */
  events: LogReader;
  /** Finds events in the log. */
  auditIndex: AuditIndex;
  /** The writes that were recorded with an Idempotency-Key. */
  idempotencyRecords: IdempotencyRecords;
  /**
   * Waits until all that can be read now would survive a failover. @throws DomainError `unavailable` after some
   * seconds.
   */
  waitUntilReplicated: () => Promise<void>;
  /** The key of the hashes that Idempotency-Keys are stored as. */
  idempotencySecret: string;
  /** Translates events to the present names. */
  upcaster: () => Upcaster;
  /** The categories of auth collections that the log has, and the configuration no longer. */
  removedAuthCollections: () => ReadonlySet<Category>;
  /** Changes with the configuration of fields and with the site; part of every ETag. */
  etagSuffix: string;
  /** Reads documents as of a position of the log. */
  past: Past;
  /** The index of texts. */
  search: SearchReader;
  /** The position of the last event that the read tables have. */
  appliedPosition: () => number;
  /** That position, and the number of erasures that the read tables have had. */
  readState: () => TableState;
  /** The path of the read tables. */
  readFile: string;
  longReads: LongReads;
  missingIndexes: MissingIndexes;
  ids: Ids;
  clock: Clock;
  accounts: Accounts;
  /** A user of an auth collection as rules, hooks and mails see it; null without such a user. */
  userOf: (collection: string, id: string) => User | null;
  /** Reads the condition that a rule of a target answers with. @throws DomainError `validation_failed`. */
  readCondition: (target: Target, condition: object) => Promise<Where>;
  passwords: PasswordService;
  preferences: Preferences;
  unsavedChanges: UnsavedChanges;
  previews: Previews;
  previewTokens: PreviewTokens;
  replays: Replays;
  /** API keys that were made at run time, and the service that has their secrets. */
  apiKeys: ApiKeys;
  keyService: KeyService;
  /** Releases, with their items. */
  releases: Releases;
  notary: Notary;
  /** The store of uploaded files. */
  blobs: BlobStore;
  pins: Pins;
  credentials: Credentials;
  log: Log;
  /** Logs, once, a rule that gave no answer, for example `the read rule of posts`. */
  tellRuleFault: (rule: string, error: unknown) => void;
  state: () => ServiceState;
  /** The id of the site; null if the process serves only one. */
  site: string | null;
  /** The configured address by which clients reach the service; null: not configured. */
  baseUrl: string | null;
  /** The path of that address; `/` if it is the whole host. */
  basePath: string;
  isProduction: boolean;
  /** Whether a 500 has the message of the error, as only in development. */
  tellsErrors: boolean;
  /** Where the built admin application is looked for; undefined: where the installation has it. */
  adminFolder: string | undefined;
  /** Runs work that no request waits for; `close` waits for it. An error is logged under this message. */
  inBackground: (run: () => Promise<void>, failure: string) => void;
};

/** Parts of the running service that one route alone needs. */
export type RouteParts = {
  /** All keys that have signed the log. */
  keyHistory: () => Promise<KeyRecord[]>;
  /** The name of the store of files, by which commands refer to it. */
  store: string;
  /** Whether that store is a bucket, which may also hold segments of the log. */
  hasBucket: boolean;
  erasures: ErasurePort;
  webhooks: WebhookPort;
  answerSlots: AnswerSlots;
  /** Reads the configuration again. @throws DomainError `conflict` where that is not possible. */
  reload: Reloading['reload'];
  /**
   * Applies the configuration of a node that waits. @throws DomainError `conflict` naming the documents that contradict
   * it.
   */
  applySchema: (options?: { acceptsLoss: boolean }) => Promise<AppliedSchema>;
  /**
   * Gives the log another key, as {@link Notary} does. @throws DomainError `conflict` if the log is not shared by
   * nodes.
   */
  changeKey: Notary['changeKey'];
  /** The origins of refused pages that were logged. */
  toldOrigins: ToldOrigins;
  /** An OpenAPI document as text, fetched on the first call; by default the contract's. */
  openApi: (api?: Api) => Promise<string>;
};

/** A request to a route, and the service as the answering thread has it. */
export type RouteCall = { app: App; request: Request };

/** A request to a route of a collection or global. */
export type Call<M extends Collection | Global = Collection | Global> = RouteCall & { target: Target<M> };
