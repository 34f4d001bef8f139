import type { WebhookEvent } from '../config/model.ts';
import type { Category, JsonObject } from '../config/schema.ts';
import type { Actor } from '../events/facts/envelope.ts';
import type { StampedCheckpoint } from '../events/proof/stamps.ts';
import type { PreviewToken } from '../events/vault/preview-tokens.ts';
import type { PreviewContent } from '../events/vault/previews.ts';
import type {
  ExpectedRevisions,
  KeepResult,
  NewUnsavedChange,
  RemoveResult,
  UnsavedChange,
  UnsavedDocument,
} from '../events/vault/unsaved-changes.ts';

// The interfaces of the main thread for the threads that answer requests. Only types.

/** A login to check. `address` is the caller's; `credential` is null without such an account, or without a password. */
export type LoginAttempt = {
  address: string;
  category: Category;
  email: string;
  credential: string | null;
  password: string;
};

/** The outcome of a login: the same kinds, in the same time, with and without such an account. */
export type LoginCheck =
  | { kind: 'right' }
  /** `lockedUntil`, in milliseconds since the epoch, is set by the failure that locks the account, else null. */
  | { kind: 'wrong'; lockedUntil: number | null }
  /** The account is locked for this number of seconds. */
  | { kind: 'locked'; seconds: number }
  /** The queue is full: the caller may retry after `seconds`. */
  | { kind: 'busy'; seconds: number };

/** Failed logins in a row that still count, and the end of the lock, in ms since the epoch; null without a lock. */
export type LockState = { failures: number; lockedUntil: number | null };

/** The purpose of a one-time token, which is valid for one kind and one collection. */
export type TokenKind = 'invite' | 'reset' | 'setup';

/** A count of calls after one more. `wait`: the seconds to wait, at least 1, if there were too many, else 0. */
export type Count = {
  wait: number;
  /** How many calls are left until the count begins anew. */
  remaining: number;
  /** In how many seconds it does. */
  reset: number;
};

/** The count of an address, and the seconds to wait for an e-mail address; 0 if there were not too many of it. */
export type CountedCall = Count & { emailWait: number };

/**
 * Stores and checks the secrets of accounts. All threads that answer requests share one, in the main thread: so counts
 * are exact, and one connection has the vault. It hashes in threads of its own.
 */
export type PasswordService = {
  /** Counts a call of a public account route; gives null if nothing is limited. */
  limit: (address: string, email: string | null) => Promise<CountedCall | null>;
  /** Whether an account may get one more of the mails that any caller can request. */
  mayMail: (category: Category, id: string) => Promise<boolean>;
  /** Checks a password, unless its account is locked. */
  checkPassword: (attempt: LoginAttempt) => Promise<LoginCheck>;
  /** Hashes and stores a password for a caller; gives the credential that names it, or null if the queue is full. */
  storePassword: (password: string, address: string) => Promise<string | null>;
  /** Deletes a password that no event names any longer. */
  forgetPassword: (credential: string) => Promise<void>;
  /** The failed logins that are counted for an address, and its lock. */
  lockOf: (category: Category, email: string) => Promise<LockState>;
  /** Ends a lock and the count of failures; false without either. */
  unlock: (category: Category, email: string) => Promise<boolean>;
  /** The id in a one-time token, or null if it was not made here. */
  openToken: (kind: TokenKind, category: Category, token: string) => Promise<string | null>;
  /** Has the mails looked for that recorded events cause. */
  mailWaits: () => Promise<void>;
};

/** The preferences of users in the vault: JSON that the service does not look into. A user is `<category>/<id>`. */
export type Preferences = {
  read: (user: string) => Promise<string>;
  /**
   * Changes them by a JSON merge patch, and gives them.
   *
   * @param expected the tags of which they must have one; null or `*`: any.
   * @throws DomainError `too_large`, `stale`.
   */
  change: (user: string, patch: JsonObject, expected: '*' | string[] | null) => Promise<string>;
  forget: (user: string) => Promise<void>;
};

/** The values that users have typed and not saved, in the vault. An owner is a user, `<category>/<id>`. */
export type UnsavedChanges = {
  /** Keeps a change in the place of the one before. */
  keep: (change: NewUnsavedChange) => Promise<KeepResult>;
  /** The change of a user to a target, with its data; null without one. */
  read: (owner: string, target: string) => Promise<UnsavedDocument | null>;
  /** The changes of a user, newest first. */
  list: (owner: string) => Promise<UnsavedChange[]>;
  remove: (owner: string, target: string, expected: ExpectedRevisions) => Promise<RemoveResult>;
  /** Deletes the changes to a document, and those of a user. */
  forget: (stream: string) => Promise<void>;
};

/** Documents that are to be looked at before they are written, in the vault. */
export type Previews = {
  /** Keeps a preview; gives its id. @throws DomainError `unavailable` if there is no room for it. */
  keep: (preview: NewPreview) => Promise<string>;
  /** The content of a preview; null if it does not exist, or has expired. */
  read: (id: string) => Promise<PreviewContent | null>;
  drop: (id: string) => Promise<void>;
};

/** The tokens that show views of the site, in the vault. A maker is the stream of a user, or the id of an API key. */
export type PreviewTokens = {
  /** Keeps a token. @throws DomainError `unavailable` if there are too many. */
  add: (token: PreviewToken) => Promise<void>;
  /** The token with this hash; null without one, and if it has expired. */
  find: (hash: string) => Promise<PreviewToken | null>;
  /** All tokens, the newest first. */
  all: () => Promise<PreviewToken[]>;
  drop: (id: string) => Promise<void>;
};

/** The kinds of callers by which quotas differ. */
export type CallerKind =
  /** A user of the admin collection. */
  | 'user'
  /** An API key. */
  | 'key'
  /** Any other user. */
  | 'other';

/** A preview that is to be kept; `caller` is the stream of a user, or the id of an API key. */
type NewPreview = PreviewContent & { caller: string; by: CallerKind };

/**
 * A request that is about to be carried out, under the keyed hash `key` of its idempotency key. `attempt` is its id,
 * `fingerprint` a keyed hash of it, `caller` the stream of a user or the id of an API key, `about` the stream of the
 * document that the answer shows something of. The answer is kept for `seconds`, at most an hour.
 */
type NewReplay = {
  key: string;
  attempt: string;
  fingerprint: string;
  caller: string;
  by: CallerKind;
  about: string | null;
  seconds: number;
};

/**
 * The first request with an idempotency key. `answer` is encrypted; null as long as there is no answer. `age`: for how
 * many milliseconds the key has been reserved.
 */
export type Replay = { attempt: string; fingerprint: string; answer: string | null; age: number };

/** The answers that may be given again, in the vault: each encrypted by an idempotency key, which is not kept. */
export type Replays = {
  /**
   * Reserves an idempotency key for a request, unless another request has it; gives the request that has it.
   *
   * @throws DomainError `unavailable` if there is no room.
   */
  reserve: (replay: NewReplay) => Promise<Replay>;
  /** Keeps the answer to the request that has reserved a key. */
  keep: (key: string, attempt: string, answer: string) => Promise<void>;
  /** Gives a key back, whose request was refused. */
  drop: (key: string, attempt: string) => Promise<void>;
};

/**
 * A signed tree head (C2SP tlog-checkpoint): `note` is the signed note, `root` base64, `signedAt` ISO 8601, all of the
 * log's first `size` events.
 */
export type LogCheckpoint = { size: number; root: string; note: string; signedAt: string };

/**
 * An alteration that was found, in words, and the range of events that holds the first alteration, if it is known.
 * `part`: the log, or the claims and read tables, which are made from it.
 */
export type Alteration = {
  finding: string;
  from: number | null;
  to: number | null;
  at: string;
  part: 'log' | 'tables';
};

/**
 * The result of the background verification. `verified` is the position and time of the last check without a finding,
 * null before the first. `altered` is the last finding: it stays after a later check without a finding, and after a
 * restart, until `annals verify` finds no alteration.
 */
export type Verification = { verified: { to: number; at: string } | null; altered: Alteration | null };

/** Signs checkpoints of the log. All threads share one, in the main thread, which has the key. */
export type Notary = {
  /**
   * The newest checkpoint, of the log as it is now: one is signed if it has grown since.
   *
   * @throws DomainError `unavailable` if the disk is full, or the log is known to be altered.
   */
  checkpoint: () => Promise<LogCheckpoint>;
  /** The newest checkpoints, newest first. */
  recent: (count: number) => Promise<LogCheckpoint[]>;
  /**
   * The checkpoints of up to `size` events that each witness and authority has signed: the first one that holds the
   * event at a position, and the newest one.
   */
  stamped: (position: number, size: number) => Promise<StampedCheckpoint[]>;
  /** The verifier key of the log (C2SP signed-note: name+hash+key), by which its checkpoints are checked. */
  verifierKey: () => Promise<string>;
  /** Whether the log is still the signed one, as far as the service has checked. */
  verification: () => Promise<Verification>;
  /**
   * Gives the log another key, and records why: `rotate` with a hand-over by the present one, `replace` without.
   *
   * @throws DomainError `unavailable` if it could not be done, or if that is not known; the message says which.
   */
  changeKey: (way: KeyWay, reason: string) => Promise<ChangedKey>;
};

/** The ways to another key. */
export type KeyWay = 'rotate' | 'replace';

/** The id of the key that was replaced, and the verifier key of the new one. */
export type ChangedKey = { from: string; key: string };

/** An event about a key. */
export type KeyNote = { position: number; recordedAt: string; actor: Actor; reason: string };

/** A checkpoint that the log keeps: the number of its events, and the time of its signature. */
type SignedCheckpoint = { size: number; signedAt: string };

/** A key of a log. */
export type KeyRecord = {
  id: string;
  /** Null: it is lost. */
  verifierKey: string | null;
  signs: boolean;
  /** The event by which the key began to sign; null for the first key. */
  since: KeyNote | null;
  /** The first and the last of its checkpoints that the log keeps. */
  first: SignedCheckpoint | null;
  last: SignedCheckpoint | null;
  /** `handover` is the note by which the key handed over. */
  replaced: (KeyNote & { by: string; handover: string | null }) | null;
  disowned: (KeyNote & { signed: number | null }) | null;
};

/**
 * Keeps the collector of unused files from removing a file that an upload is about to name in an event. A file is
 * pinned before it is looked for in the store, and unpinned when the event is recorded, or never will be. While that is
 * unknown, the pin stays.
 */
export type Pins = {
  /**
   * Pins a file, after a removal of it that is under way.
   *
   * @throws DomainError `unavailable` while nothing can be stored.
   */
  pin: (sha256: string) => Promise<void>;
  unpin: (sha256: string) => Promise<void>;
  /** Removes the file of a refused upload some time later, unless an event names it or another upload has pinned it. */
  discard: (sha256: string) => Promise<void>;
  collect: Collect;
};

/** Files of a store that no event up to a position of the log names. `store`: which store, as `storeName` has it. */
export type Candidates = { store: string; position: number; sha256: string[] };

/** The candidates that were removed, and those that the store does not delete. The others are needed after all. */
export type RemovalResult = { removed: string[]; held: { sha256: string; because: string }[] };

/** Removes the candidates that nothing needs, one after the other. */
export type Collect = (candidates: Candidates) => Promise<RemovalResult>;

/** The functions of the erasure worker for other threads. */
export type ErasurePort = {
  /** Waits a while for the end of the erasure at a position; false if it goes on in the background, or elsewhere. */
  settle: (position: number) => Promise<boolean>;
  /** The files among these that other streams need. */
  neededBeside: (sha256: readonly string[], streams: readonly string[]) => Promise<string[]>;
  /** The number of caught mails to these addresses. */
  countMails: (emails: readonly string[]) => Promise<number>;
  forgetMails: (emails: readonly string[]) => Promise<void>;
  /** The obstacle of the erasure at a position, for callers who may see that it is not finished; null if not known. */
  obstacle: (position: number) => Promise<string | null>;
  /** The nodes or servers of PostgreSQL that the erasure at a position still waits for, in words; null for none. */
  elsewhere: (position: number) => Promise<string | null>;
  /** The part of the data files that is cleaned of erased content, from 0 to 1; null if they are not being cleaned. */
  progress: () => Promise<number | null>;
};

/**
 * Keeps and checks the secrets of API keys that are made at run time. All threads share one, in the main thread, which
 * has the vault. Events name a secret by its `credential`.
 */
export type KeyService = {
  /** Keeps the hash of a secret; gives its credential. @throws DomainError `unavailable` if the disk is full. */
  store: (secret: string) => Promise<string>;
  /** The credential among these whose secret this is; null without one. It takes the same time for all. */
  match: (credentials: readonly (string | null)[], secret: string) => Promise<string | null>;
  /** Deletes what is kept about a key, and about these credentials. */
  forget: (id: string, credentials: readonly string[]) => Promise<void>;
  /** Deletes the hashes of all other secrets, which are no longer valid. */
  retain: (credentials: readonly string[]) => Promise<void>;
  /** Remembers the time at which a key was used, in milliseconds since the epoch. */
  used: (id: string, at: number) => Promise<void>;
  /** The time at which each key was used last. */
  uses: () => Promise<{ [id: string]: number }>;
};

/** A webhook as answers show it: without its secret, and with the origin of its URL alone. */
export type WebhookView = {
  name: string;
  origin: string;
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  events: readonly WebhookEvent[];
  /** The position up to which the log was searched for its events. */
  position: number;
  waiting: number;
  parked: number;
  lastDeliveredAt: string | null;
};

/** A delivery that has not succeeded yet, with its message. */
export type DeliveryView = {
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
    /** If the event is told as a publication, or as the end of one. */
    cause?: 'published' | 'unpublished';
  };
  attempts: number;
  lastAttemptAt: string | null;
  /** Null if the delivery is parked, or waits for an earlier one of its document. */
  nextAttemptAt: string | null;
  /** Why the last attempt failed. */
  error: string | null;
};

/** The deliveries that a list shows. */
export type DeliveryQuery = { state: 'all' | 'waiting' | 'parked'; limit: number; page: number };

/** The webhooks, which the main thread serves. Null stands for a webhook or delivery that does not exist. */
export type WebhookPort = {
  /** A page of the webhooks, in the order of the configuration, and their number. */
  page: (asked: { limit: number; page: number }) => Promise<{ webhooks: WebhookView[]; total: number }>;
  find: (name: string) => Promise<WebhookView | null>;
  deliveries: (name: string, query: DeliveryQuery) => Promise<{ deliveries: DeliveryView[]; total: number } | null>;
  delivery: (name: string, id: string) => Promise<DeliveryView | null>;
  retry: (name: string, id: string) => Promise<DeliveryView | null>;
  retryAll: (name: string) => Promise<WebhookView | null>;
};

/** The kinds of answers that take long, of which a caller has few at once. */
export type SlotKind =
  /** A stream of events. */
  | 'stream'
  /** An export or an evidence pack. */
  | 'archive';

/**
 * The slots of answers that take long. The main thread counts them for all threads, by an opaque name of the caller.
 */
export type AnswerSlots = {
  /** Takes a slot of a caller; false if the caller has no more of this kind. */
  take: (kind: SlotKind, caller: string) => Promise<boolean>;
  /** Gives a slot back. */
  free: (kind: SlotKind, caller: string) => Promise<void>;
};

/**
 * The queue of calls about many documents: one at a time for each caller, and few at once. All threads share one, in
 * the main thread.
 */
export type BulkQueue = {
  /** Waits for the turn of a caller; gives the number of the call, or null if too many wait. */
  take: (caller: string) => Promise<number | null>;
  /** Waits until a call may begin; false if too many wait. */
  begin: (call: number) => Promise<boolean>;
  /** Ends a call, whether it began or not. */
  end: (call: number) => Promise<void>;
};

/** The secrets by which callers are checked. */
export type Credentials = {
  apiKeys: readonly ApiKey[];
  /** For tokens: the first secret signs, all verify. */
  secrets: readonly string[];
  /** The hash of the credential that the command line reads from the vault. */
  operatorHash: Buffer;
};

/** A valid API key: the hash of its text, and the opaque id by which events name it. */
export type ApiKey = { hash: Buffer; id: string };

/** Hashes of the origins that have been logged, for all threads. */
export type ToldOrigins = Int32Array<SharedArrayBuffer>;

/** The documents of OpenAPI: a route is in one of them, by its path. */
export type Api = 'contract' | 'audit';

/** The outcomes of reading the configuration again. */
type ReloadOutcome =
  /** Another configuration is in force. */
  | 'changed'
  /** No difference is known. */
  | 'unchanged'
  /** It differs in points that only a start can change: the one before stays in force. */
  | 'restart'
  /** It cannot be loaded, is not valid, or may not follow: the one before stays in force. */
  | 'wrong';

/** The result of reading the configuration again. */
export type ReloadResult = {
  outcome: ReloadOutcome;
  /** The differences of `changed`, and the reasons of `restart` and `wrong`. */
  lines: readonly string[];
  /** Whether it is refused because documents would show less, which the caller can accept. */
  isLoss?: boolean;
};

/** Reads the configuration again, one call after the other. `acceptsLoss`: even if documents show less then. */
export type Reloading = { reload: (options?: { acceptsLoss: boolean }) => Promise<ReloadResult> };
