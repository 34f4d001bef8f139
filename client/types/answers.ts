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

/** A value that documents are grouped by; null for those without one. */
export type GroupValue = string | number | boolean | null;

/** Groups of documents: the value of each path of `groupBy`, and the figures that were asked for. */
export type Groups<By extends string, Figures extends Record<string, string>> = {
  groups: ({ key: { [Path in By]: GroupValue }; count: number } & {
    [Kind in keyof Figures as [Figures[Kind]] extends [never] ? never : Kind]: {
      [Path in Figures[Kind]]: number | string | null;
    };
  })[];
  total: number;
};

/**
 * The documents that a search has found, and how many there are in all. `excerpt` is HTML: escaped text, with `<mark>`.
 */
export type Found<Slug extends string = string> = {
  hits: { collection: Slug; id: string; title: string; excerpt: string }[];
  total: number;
};

/** A page of a list that is not counted. */
export type UncountedPage<Document> = Omit<Page<Document>, 'total' | 'totalPages'> & { total: null; totalPages: null };

/** The documents of a list after a place in it; `nextCursor` is the next one, null at the end. */
export type CursorPage<Document> = {
  docs: Document[];
  /** Null where they are not counted. */
  total: number | null;
  limit: number;
  page: null;
  totalPages: null;
  hasNextPage: boolean;
  hasPrevPage: boolean;
  nextPage: null;
  prevPage: null;
  nextCursor: string | null;
};

/**
 * A document or global that points at another; `field` is the path of the field by which it does, without places in
 * lists.
 */
export type Reference<Slug extends string = string, Global extends string = string> = (
  | { collection: Slug; id: string }
  | { global: Global; id: null }
) & { field: string; title: string };

/**
 * A deleted document; `version` is the last at which it was there. `title`, `reason` and `deletedBy` may be for
 * auditors only.
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

/** The answer to a login. */
export type Login<User> = { token: string; user: User };

/** Whether what was asked for is on its way. */
export type Success = { success: true; message: string };

/** The cause of an event; `label` is there where it was asked for. */
export type Actor = { type: 'user' | 'apiKey' | 'system' | 'anonymous'; id?: string; label?: string | null };

/** An operation that a scope of an API key may name. */
export type KeyOperation = 'read' | 'create' | 'update' | 'delete';

/** A part of the history that an API key may see, or the right to erase. */
export type KeyAudit = 'headers' | 'payloads' | 'export' | 'erase';

/** An API key. `lastUsedAt` is to the minute; it may name what is configured no longer. */
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

/** An API key whose secret is shown, for the option `apiKey` of a client. */
export type ApiKeyWithSecret = ApiKey & { secret: string };

/** A webhook of the configuration, and how far it has come; of its URL the origin alone is told. */
export type Webhook = {
  name: string;
  origin: string;
  collections: string[] | '*';
  globals: string[] | '*';
  events: ('created' | 'updated' | 'deleted' | 'restored')[];
  position: number;
  waiting: number;
  parked: number;
  lastDeliveredAt: string | null;
};

/** A delivery that did not succeed yet, with its message. */
export type Delivery = {
  id: string;
  state: 'waiting' | 'parked';
  type: string;
  timestamp: string;
  data: {
    collection?: string;
    global?: string;
    id: string | null;
    version: number;
    position: number;
    batch: string | null;
  };
  attempts: number;
  lastAttemptAt: string | null;
  nextAttemptAt: string | null;
  error: string | null;
};

/** One version of a document or global. `reason`, `rule` and `changed` are for callers who may see payloads. */
export type Version = {
  version: number;
  position: number;
  type: string;
  recordedAt: string;
  actor: Actor;
  reason?: string | null;
  /** The rule that admitted it, such as `posts.update`, if the event names one. */
  rule?: string;
  changed?: string[];
  erased?: true;
};

/** Where a document or global stands: its newest version, and the position of that in the log. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/** Versions, oldest first; `next` is the `after` of the next ones, null at the end. */
export type Versions = { versions: Version[]; next: number | null };

/** The state that a restore goes back to: a version, or the state when the log stood at a position. */
export type RestoreSource = { version: number } | { position: number };

/** The event by which a document came or went. */
export type Turn = { version: number; position: number; recordedAt: string };

/** Why a document is not there as of a moment: it was created later, or was deleted by then. */
export type Absence = { created: Turn } | { deleted: Turn };

/** The effect that a restore would have. */
export type RestorePlan = {
  source: { version: number; position: number };
  diff: { field: string; before: unknown; after: unknown }[];
  dangling: { field: string; id: string }[];
  conflicts: { field: string; id?: string }[];
};

/** A document of a call about many: `index` is its place in the call, `version` that after it. */
export type BulkResult<Outcome extends string> = { index: number; id: string; version: number; outcome: Outcome };

/** Documents that one call has created; `batch` is in each of its events, null where nothing was recorded. */
export type BulkCreated = { results: Omit<BulkResult<never>, 'outcome'>[]; batch: string | null };

/** Documents that one call has created or changed. */
export type BulkUpserted = { results: BulkResult<'created' | 'updated' | 'unchanged'>[]; batch: string | null };

/**
 * Documents that one call has changed or deleted, or with `dryRun` would: how many it is about, and how many differ
 * after it.
 */
export type BulkChanged<Outcome extends string> = {
  matched: number;
  changed: number;
  results: BulkResult<Outcome>[];
  batch: string | null;
};

/** The undoing of a call about many documents. */
export type Undone = Omit<BulkChanged<never>, 'results'> & {
  results: (BulkResult<'deleted' | 'restored' | 'updated' | 'unchanged'> & { collection: string })[];
};

/** A session of an account; `isCurrent`: it is that of the call. */
export type Session = {
  sid: string;
  startedAt: string;
  refreshedAt: string | null;
  expiresAt: string;
  ip: string | null;
  userAgent: string | null;
  isCurrent: boolean;
};

/** The state of an account beside its document; `failures` are the failed logins in a row that still count. */
export type AccountState = {
  locked: boolean;
  lockedUntil: string | null;
  failures: number;
  lastLoginAt: string | null;
  hasPassword: boolean;
  sessions: Session[];
};

/** A draft that the user keeps; `version` is that of the document which was changed. */
export type OwnDraft = ({ collection: string; id: string } | { global: string; id: null }) & {
  title: string;
  updatedAt: string;
  version: number | null;
};

/** Such a draft with what was typed. */
export type OwnDraftWithData = OwnDraft & { data: Record<string, unknown> };

/** An invitation that can be accepted. */
export type Invitation = {
  id: string;
  email: string;
  /** Its sender, as events name users: `<slug>/<id>`. */
  invitedBy: { type: 'user'; id: string };
  createdAt: string;
  expiresAt: string;
};

/** The facts that an admin UI needs before a user logs in. */
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
