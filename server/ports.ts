import type { WebhookEvent } from '../config/model.ts';
import type { Category, JsonObject } from '../config/schema.ts';
import type { Actor } from '../events/facts/envelope.ts';
import type { StampedCheckpoint } from '../events/proof/stamps.ts';
import type { Draft } from '../events/vault/previews.ts';
import type { Kept as KeptOwnDraft, NewOwnDraft, OwnDraft, Removed } from '../events/vault/unsaved-changes.ts';

// The interfaces of the main thread for the workers that answer requests. Types alone.

/** A login to check. `address` is the caller's; `credential` is null without such an account, or without a password. */
export type LoginAttempt = {
  address: string;
  category: Category;
  email: string;
  credential: string | null;
  password: string;
};

/**
 * The outcome of a login: the same kinds, in the same time, with and without such an account. `seconds`: until the lock
 * ends. `lockedUntil` (milliseconds since the epoch) is set by the failure that locks the account.
 */
export type Checked =
  | { kind: 'right' }
  | { kind: 'wrong'; lockedUntil: number | null }
  | { kind: 'locked'; seconds: number }
  /** The queue is full: the caller may retry after `seconds`. */
  | { kind: 'busy'; seconds: number };

/**
 * Failed logins in a row that still count, and when the lock ends, in milliseconds since the epoch; null without a
 * lock.
 */
export type LockState = { failures: number; lockedUntil: number | null };

/** The purpose of a one-time token, which is valid for one kind and one collection. */
export type TokenKind = 'invite' | 'reset' | 'setup';

/**
 * Stores and checks the secrets of accounts. All workers that answer requests share one, in the main thread, so counts
 * are exact, and one connection has the vault. Workers of its own hash.
 */
export type PasswordService = {
  /** Counts a call of a public account route; gives the seconds to wait above the rate limit, else 0. */
  limit: (address: string, email: string | null) => Promise<number>;
  /** Whether an account may get one more mail of those that any caller can request. */
  mayMail: (category: Category, id: string) => Promise<boolean>;
  /** Checks a password, unless its account is locked. */
  checkPassword: (attempt: LoginAttempt) => Promise<Checked>;
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
  /** Tells that a recorded event causes a mail. */
  mailWaits: () => Promise<void>;
  /** The preferences of a user, `<category>/<id>`, as JSON. */
  preferences: (user: string) => Promise<string>;
  /** Changes them by a JSON merge patch, and gives them. @throws DomainError `too-large`. */
  changePreferences: (user: string, patch: JsonObject) => Promise<string>;
  forgetPreferences: (user: string) => Promise<void>;
  /** Keeps a draft of a user, in the place of the one before. */
  keepOwnDraft: (draft: NewOwnDraft) => Promise<KeptOwnDraft>;
  /** The draft of a user about a target, with its data as JSON; null without one. */
  ownDraft: (owner: string, target: string) => Promise<(OwnDraft & { data: string }) | null>;
  /** Those of a user, newest first. */
  ownDrafts: (owner: string) => Promise<OwnDraft[]>;
  removeOwnDraft: (owner: string, target: string, expected: NewOwnDraft['expected']) => Promise<Removed>;
  /** Deletes the drafts of a document, and those of its user. */
  forgetOwnDrafts: (stream: string) => Promise<void>;
  /** Stores a draft for a preview; gives its id. */
  storeDraft: (draft: NewDraft) => Promise<string>;
  /** The draft with an id; null if it does not exist, or has expired. */
  draft: (id: string) => Promise<KeptDraft | null>;
  dropDraft: (id: string) => Promise<void>;
};

/** The owner of a draft: a user of the admin collection, an API key, or another. */
export type DraftCaller = 'user' | 'key' | 'other';
/** A draft as it comes; `caller` is the stream of a user, or the id of an API key. */
export type NewDraft = Pick<Draft, 'collection' | 'document' | 'data'> & { caller: string; by: DraftCaller };

/** A draft as it is shown; `data` is JSON. */
export type KeptDraft = Pick<Draft, 'collection' | 'document' | 'data'>;

/**
 * A signed tree head (C2SP tlog-checkpoint): `note` is the signed note, `root` base64, `signedAt` ISO 8601, all of the
 * log's first `size` events.
 */
export type LogCheckpoint = { size: number; root: string; note: string; signedAt: string };

/**
 * An alteration that was found, in words, and the range of events that holds the first alteration, where that is known.
 * `part`: the log itself, or its claims and read tables, which follow from it.
 */
export type Altered = {
  finding: string;
  from: number | null;
  to: number | null;
  at: string;
  part: 'log' | 'tables';
};

/**
 * The result of the background check of the log: `verified` is the position and time of the last check without a
 * finding, null before the first; `altered` the last finding. It stays after a check without a finding, which a later
 * `verified` tells, and after a restart, until `annals verify` finds all sound.
 */
export type Verification = { verified: { to: number; at: string } | null; altered: Altered | null };

/** Signs checkpoints of the log. All threads share one, in the main thread, which has the key. */
export type Notary = {
  /**
   * The newest checkpoint, of the log as it is now: one is signed if it has grown since.
   *
   * @throws DomainError `unavailable` when there is no room on the disk for it, or the log is known to be altered.
   */
  checkpoint: () => Promise<LogCheckpoint>;
  /** The newest checkpoints, newest first. */
  recent: (count: number) => Promise<LogCheckpoint[]>;
  /**
   * Of each witness and authority the first checkpoint that holds the event at a position, and the newest, up to `size`
   * events.
   */
  stamped: (position: number, size: number) => Promise<StampedCheckpoint[]>;
  /** The verifier key of the log (C2SP signed-note: name+hash+key), by which its checkpoints are checked. */
  verifierKey: () => Promise<string>;
  /** Whether the log is still the signed one, as far as the service has checked. */
  verification: () => Promise<Verification>;
  /**
   * Gives the log another key, and records why: `rotate` with a hand-over by the present one, `replace` without.
   *
   * @throws DomainError `unavailable` when it could not be done, or it is not known whether it was, as the message
   * says.
   */
  changeKey: (way: KeyWay, reason: string) => Promise<ChangedKey>;
};

/** The ways to another key. */
export type KeyWay = 'rotate' | 'replace';

/** The id of the key that was replaced, and the verifier key of the one that signs from then on. */
export type ChangedKey = { from: string; key: string };

/** An event about a key. */
export type KeyNote = { position: number; recordedAt: string; actor: Actor; reason: string };

/** A checkpoint that the log keeps: how many events it is of, and when it was signed. */
type Signed = { size: number; signedAt: string };

/**
 * A key of a log. `verifierKey` is null where it is lost. `since` is the event by which it began to sign, null for the
 * first; `first` and `last` are of those checkpoints of it that the log keeps. `handover` is the note by which it
 * handed over.
 */
export type KeyRecord = {
  id: string;
  verifierKey: string | null;
  signs: boolean;
  since: KeyNote | null;
  first: Signed | null;
  last: Signed | null;
  replaced: (KeyNote & { by: string; handover: string | null }) | null;
  disowned: (KeyNote & { signed: number | null }) | null;
};

/**
 * Keeps the collector of unused files away from those that an upload is about to name in an event: pinned before they
 * are looked for in the store, unpinned when the event is recorded, or never will be. While that is unknown, the pin
 * stays.
 */
export type Pins = {
  /**
   * Waits for a removal of these bytes that is under way. @throws DomainError `unavailable` while nothing can be
   * stored.
   */
  pin: (sha256: string) => Promise<void>;
  unpin: (sha256: string) => Promise<void>;
  /**
   * Removes a file some time later, unless an event names it or another upload has pinned it: its upload was refused.
   */
  discard: (sha256: string) => Promise<void>;
  collect: Collect;
};

/** Files of a store that no event up to a position of the log names. `store`: which store, as `storeName` has it. */
export type Candidates = { store: string; position: number; sha256: string[] };

/** Which of the candidates were removed, and which the store does not let go of. The others are needed after all. */
export type Collected = { removed: string[]; held: { sha256: string; because: string }[] };

/** Removes the candidates that nothing needs, one after the other. */
export type Collect = (candidates: Candidates) => Promise<Collected>;

/** The functions of the erasure worker for other threads. */
export type ErasurePort = {
  /**
   * Waits a while for the erasure at a position to be finished; false when it goes on in the background, or elsewhere.
   */
  settle: (position: number) => Promise<boolean>;
  /** Which of these files are needed by other streams than these. */
  neededBeside: (sha256: readonly string[], streams: readonly string[]) => Promise<string[]>;
  /** How many caught mails to these addresses there are. */
  countMails: (emails: readonly string[]) => Promise<number>;
  forgetMails: (emails: readonly string[]) => Promise<void>;
  /**
   * The obstacle of the erasure at a position, for callers who may see that it is not finished; null when that is not
   * known.
   */
  obstacle: (position: number) => Promise<string | null>;
  /** The nodes, or the servers of PostgreSQL, that an erasure waits for which is finished here; null for none. */
  elsewhere: (position: number) => Promise<string | null>;
  /**
   * How much of the data files has been cleaned of what was erased, from 0 to 1; null when they are not being cleaned.
   */
  progress: () => Promise<number | null>;
};

/**
 * Keeps and checks the secrets of API keys that are made at run time. All workers share one, in the main thread, which
 * has the vault. A `credential` is what events name a secret by.
 */
export type KeyService = {
  /** Keeps the hash of a secret; gives its credential. @throws DomainError `unavailable` where there is no room. */
  store: (secret: string) => Promise<string>;
  /** The credential among these whose secret this is; null without one. It takes the same time for all. */
  match: (credentials: readonly (string | null)[], secret: string) => Promise<string | null>;
  /** Deletes all that is kept of a key and of these credentials. */
  forget: (id: string, credentials: readonly string[]) => Promise<void>;
  /** Deletes the hashes of secrets that are no longer valid: of all but these. */
  retain: (credentials: readonly string[]) => Promise<void>;
  /** Remembers that a key was used at a time, in milliseconds since the epoch. */
  used: (id: string, at: number) => Promise<void>;
  /** When each key was used last. */
  uses: () => Promise<{ [id: string]: number }>;
};

/** A webhook as answers show it: without its secret, and of its URL the origin alone. */
export type WebhookView = {
  name: string;
  origin: string;
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  events: readonly WebhookEvent[];
  /** The position up to which the log was looked through for it. */
  position: number;
  waiting: number;
  parked: number;
  lastDeliveredAt: string | null;
};

/** A delivery that did not succeed yet, with its message. */
export type DeliveryView = {
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
  /** Null for one that is parked, or waits for an earlier one of its document. */
  nextAttemptAt: string | null;
  /** Why the last attempt failed. */
  error: string | null;
};

/** The deliveries that a list shows. */
export type DeliveryQuery = { state: 'all' | 'waiting' | 'parked'; limit: number; page: number };

/** The webhooks, which the main thread serves. Null stands for a webhook or delivery that there is not. */
export type WebhookPort = {
  all: () => Promise<WebhookView[]>;
  deliveries: (name: string, query: DeliveryQuery) => Promise<{ deliveries: DeliveryView[]; total: number } | null>;
  retry: (name: string, id: string) => Promise<DeliveryView | null>;
  retryAll: (name: string) => Promise<WebhookView | null>;
};

/** An answer that takes long, of which a caller has few at once: a stream of events; an export or evidence pack. */
export type PlaceKind = 'stream' | 'archive';

/**
 * The places of answers that take long, which the main thread counts for all others. A caller is named by an opaque
 * text.
 */
export type Places = {
  /** Takes a place of a caller; false when they have as many of the kind as one may have. */
  take: (kind: PlaceKind, caller: string) => Promise<boolean>;
  /** Gives a place back. */
  free: (kind: PlaceKind, caller: string) => Promise<void>;
};

/**
 * The turns of calls about many documents: one at a time for each caller, and few at once. All workers share one, in
 * the main thread.
 */
export type BulkTurns = {
  /** Waits for the turn of a caller; gives its number, or null where too many wait. */
  take: (caller: string) => Promise<number | null>;
  /** Waits until the call of a turn may begin; false where too many wait. */
  begin: (turn: number) => Promise<boolean>;
  /** Ends a turn, whether its call began or not. */
  end: (turn: number) => Promise<void>;
};

/** The secrets that callers are checked by. */
export type Credentials = {
  apiKeys: readonly ApiKey[];
  /** For what the service signs: the first signs, all verify. */
  secrets: readonly string[];
  /** The hash of the credential of the command line, which reads it from the vault. */
  operatorHash: Buffer;
};

/** A valid API key, by the hash it is compared with, and the opaque id that events name. */
export type ApiKey = { hash: Buffer; id: string };

/** The origins that have been logged, for all threads: a hash of each. */
export type ToldOrigins = Int32Array<SharedArrayBuffer>;

/** The documents that there are: a route is in one of them, by its path. */
export type Api = 'contract' | 'audit';

/**
 * The result of reading the configuration again. `changed`: another one is in force, which differs in these points.
 * `unchanged`: it was read again, and no difference is known. `restart`: it differs in points that only a start can
 * change. `wrong`: it cannot be loaded, is not valid, or may not follow. In the last two cases the one before stays in
 * force, and `lines` are the reasons. `isLoss`: it is refused for documents would show less, which can be accepted.
 */
export type Reloaded = {
  outcome: 'changed' | 'unchanged' | 'restart' | 'wrong';
  lines: readonly string[];
  isLoss?: boolean;
};

/** Reads the configuration again, one call after the other. `acceptsLoss`: also one by which documents show less. */
export type Reloading = { reload: (options?: { acceptsLoss: boolean }) => Promise<Reloaded> };
