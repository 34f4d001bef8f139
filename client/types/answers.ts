/** One page of a list. */
export type Page<Document> = {
  docs: Document[];
  total: number;
  limit: number;
  page: number;
  totalPages: number;
  hasNextPage: boolean;
  hasPrevPage: boolean;
  nextPage: number | null;
  prevPage: number | null;
};

/** A value by which documents are grouped; null for documents without a value. */
export type GroupValue = string | number | boolean | null;

/**
 * Groups of documents: for each group the values of the `groupBy` paths, the count, and the requested figures. `total`
 * is the number of groups.
 */
export type Groups<By extends string, Figures extends Record<string, string>> = {
  groups: ({ key: { [Path in By]: GroupValue }; count: number } & {
    [Kind in keyof Figures as [Figures[Kind]] extends [never] ? never : Kind]: {
      [Path in Figures[Kind]]: number | string | null;
    };
  })[];
  total: number;
};

/** The results of a search; `total` counts all matches. `excerpt` is HTML: escaped text with `<mark>`. */
export type Found<Slug extends string = string> = {
  docs: { collection: Slug; id: string; title: string; excerpt: string }[];
  total: number;
};

/** One page of a list whose documents are not counted. */
export type UncountedPage<Document> = Omit<Page<Document>, 'total' | 'totalPages'> & { total: null; totalPages: null };

/**
 * The documents of a list after a cursor. `next` is the option `next` of the next page, null at the end of the list.
 */
export type CursorPage<Document> = {
  docs: Document[];
  /** The number of all documents of the list; null with `count: 'none'`. */
  total: number | null;
  limit: number;
  page: null;
  totalPages: null;
  hasNextPage: boolean;
  hasPrevPage: boolean;
  nextPage: null;
  prevPage: null;
  next: string | null;
};

/**
 * A document or global with a reference to a document. `field` is the path of the referring field, without list
 * indexes.
 */
export type Reference<Slug extends string = string, Global extends string = string> = (
  | { collection: Slug; id: string }
  | { global: Global; id: null }
) & { field: string; title: string };

/**
 * A deleted document; `version` is its last version before the deletion. `title`, `reason` and `deletedBy` are null for
 * callers who may not see them.
 */
export type Trashed<Slug extends string = string> = {
  collection: Slug;
  id: string;
  title: string | null;
  deletedAt: string;
  deletedBy: Omit<Actor, 'label'> | null;
  reason: string | null;
  version: number;
};

/**
 * An open request for review of a document or global. `version` is the version that it is about, `newest` that of the
 * newest draft; `to` are the ids of the users who are asked.
 */
export type Review = {
  collection: string | null;
  global: string | null;
  id: string | null;
  title: string;
  version: number;
  newest: number;
  requestedBy: Omit<Actor, 'label'>;
  requestedAt: string;
  to: string[];
  note: string | null;
};

/** The answer to a login. */
export type Login<User> = { token: string; user: User };

/** The answer to a call that sends a mail or sets a password. */
export type Success = { success: true; message: string };

/** The actor of an event. `label` is present if `actors: 'names'` was requested. */
export type Actor = { type: 'user' | 'apiKey' | 'system' | 'anonymous'; id?: string; label?: string | null };

/** An operation that a scope of an API key can allow. `draft`: to read and save drafts, and not to publish. */
export type KeyOperation = 'read' | 'create' | 'update' | 'delete' | 'draft';

/** A right to the history that an API key may have, or the right to erase. */
export type KeyAudit = 'headers' | 'payloads' | 'export' | 'erase';

/**
 * An API key. `lastUsedAt` is accurate to the minute. `scopes` may name collections and globals that are no longer
 * configured.
 */
export type ApiKey = {
  id: string;
  name: string;
  scopes: { collections: string[] | '*'; globals: string[] | '*'; operations: KeyOperation[] }[];
  audit: KeyAudit[];
  createdAt: string;
  createdBy: { type: 'user' | 'apiKey' | 'system'; id?: string };
  expiresAt: string | null;
  lastUsedAt: string | null;
};

/** An API key with its secret, which is the option `apiKey` of a client. */
export type ApiKeyWithSecret = ApiKey & { secret: string };

/** A webhook of the configuration, with the state of its deliveries. Of its URL only the origin is shown. */
export type Webhook = {
  name: string;
  origin: string;
  collections: string[] | '*';
  globals: string[] | '*';
  events: (
    | 'document.created'
    | 'document.updated'
    | 'document.deleted'
    | 'document.restored'
    | 'document.erased'
    | 'global.updated'
    | 'global.restored'
    | 'release.failed'
    | `document.draft.${'created' | 'updated' | 'restored' | 'discarded'}`
    | `global.draft.${'updated' | 'restored' | 'discarded'}`
    | `review.${'requested' | 'withdrawn' | 'refused'}`
  )[];
  position: number;
  waiting: number;
  parked: number;
  lastDeliveredAt: string | null;
};

/** A delivery that has not succeeded yet, with its message. */
export type Delivery = {
  id: string;
  state: 'waiting' | 'parked';
  type: string;
  timestamp: string;
  data: {
    collection?: string;
    global?: string;
    /** The id of a release that failed. */
    release?: string;
    id: string | null;
    version: number;
    position: number;
    batch: string | null;
    /** Why readers see the change, if it is because a draft was published, or a document unpublished. */
    cause?: 'published' | 'unpublished';
  };
  attempts: number;
  lastAttemptAt: string | null;
  nextAttemptAt: string | null;
  error: string | null;
};

/**
 * A version of a document or global. `reason`, `rule` and `changed` are present only for callers who may see payloads.
 */
export type Version = {
  version: number;
  position: number;
  type: string;
  recordedAt: string;
  actor: Actor;
  reason?: string | null;
  /** The rule that allowed the change, such as `posts.update`, if the event names one. */
  rule?: string;
  changed?: string[];
  erased?: true;
  /** The event is about a draft that the caller may not see. */
  withheld?: true;
};

/** The state of a document or global: its newest version, and the position of that version in the log. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/** Versions, oldest first. `next` is the option `next` of the next page, null at the end. */
export type Versions = { docs: Version[]; next: number | null };

/** The state to restore: a version, or the state as of a position of the log. */
export type RestoreSource = { version: number } | { position: number };

/** The event that created or deleted a document. */
export type Turn = { version: number; position: number; recordedAt: string };

/** The reason why a document does not exist as of a moment: it was created later, or deleted before. */
export type Absence = { created: Turn } | { deleted: Turn };

/**
 * The effect that a restore would have. `diff` lists the fields that would change, `dangling` the references to missing
 * documents, `conflicts` the unique values that other documents have.
 */
export type RestorePlan = {
  source: { version: number; position: number };
  diff: { field: string; before: unknown; after: unknown }[];
  dangling: { field: string; id: string }[];
  conflicts: { field: string; id?: string }[];
};

/**
 * The effect that a publication would have. `version` is the version whose draft would be published; `problems` what a
 * public document may not lack; `notPublished` the linked documents that are not public; `overwritten` the public
 * values that became public after the draft was changed, and would be replaced.
 */
export type PublicationPlan = {
  version: number;
  changes: { field: string; before: unknown; after: unknown }[];
  problems: { field: string; message: string; code: string }[];
  notPublished: { field: string; collection: string; id: string; title: string }[];
  overwritten: { field: string; now: unknown; then: unknown }[];
  releases: string[];
};

/**
 * The result for one document of a bulk call. `index` is its place in the call, `version` its version after the call.
 */
export type BulkResult<Outcome extends string> = { index: number; id: string; version: number; outcome: Outcome };

/**
 * The result of a bulk create. `batch` is the id of the call, which each of its events has; null if nothing was
 * recorded.
 */
export type BulkCreated = { results: Omit<BulkResult<never>, 'outcome'>[]; batch: string | null };

/** The result of a bulk upsert. */
export type BulkUpserted = { results: BulkResult<'created' | 'updated' | 'unchanged'>[]; batch: string | null };

/**
 * The result of a bulk update or delete, or of its dry run. `matched` is the number of selected documents, `changed`
 * the number of documents that the call changes.
 */
export type BulkChanged<Outcome extends string> = {
  matched: number;
  changed: number;
  results: BulkResult<Outcome>[];
  batch: string | null;
};

/** The result of undoing a bulk call. */
export type Undone = Omit<BulkChanged<never>, 'results'> & {
  results: (BulkResult<'deleted' | 'restored' | 'updated' | 'unchanged'> & { collection: string })[];
};

/**
 * A bulk call that was made, with a page of those of its documents that the caller may read. `outcomes` counts
 * documents, also erased ones; without the audit scope `headers` only those that the caller may read, and `actor` is
 * null. `undoes` is the call that it undid, `undoneBy` the first call that undid it.
 */
export type Batch = Page<BatchDocument> & {
  batch: string;
  call: 'create' | 'upsert' | 'update' | 'delete' | 'publish' | 'unpublish' | 'discard' | 'undo' | 'release';
  recordedAt: string;
  actor: Omit<Actor, 'label'> | null;
  reason: string | null;
  collections: string[];
  outcomes: {
    created: number;
    updated: number;
    deleted: number;
    restored: number;
    /** Only if the call published documents. */
    published?: number;
    unpublished?: number;
  };
  undoes: string | null;
  undoneBy: string | null;
};

/** A document of a bulk call; `version` is its version after the call. */
export type BatchDocument = {
  collection: string;
  id: string;
  title: string | null;
  version: number;
  outcome: 'created' | 'updated' | 'deleted' | 'restored' | 'published' | 'unpublished';
};

/** A session of an account. `isCurrent` is true for the session of the call. */
export type Session = {
  sid: string;
  startedAt: string;
  refreshedAt: string | null;
  expiresAt: string;
  ip: string | null;
  userAgent: string | null;
  isCurrent: boolean;
};

/**
 * The state of an account, beside its document. `failures` is the number of failed logins in a row that still count.
 */
export type AccountState = {
  locked: boolean;
  lockedUntil: string | null;
  failures: number;
  lastLoginAt: string | null;
  hasPassword: boolean;
  sessions: Session[];
};

/** Unsaved changes of the user. `version` is the version of the document that they change, null for a new document. */
export type OwnDraft = ({ collection: string; id: string } | { global: string; id: null }) & {
  title: string;
  updatedAt: string;
  version: number | null;
};

/** Unsaved changes with their data. */
export type OwnDraftWithData = OwnDraft & { data: Record<string, unknown> };

/** An invitation that can still be accepted. */
export type Invitation = {
  id: string;
  email: string;
  /** The sender, named as in events: `<slug>/<id>`. */
  invitedBy: { type: 'user'; id: string };
  createdAt: string;
  expiresAt: string;
};

/** The data that an admin application needs before a user logs in. */
export type Boot = {
  title: string;
  initialized: boolean;
  authCollections: {
    slug: string;
    labels: { singular: string; plural: string } | null;
    isAdmin: boolean;
    login: 'password'[];
  }[];
  publicSchema: boolean;
};
