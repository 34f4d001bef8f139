/** What a login is checked against. `credential` is null where there is no such account, or one without a password. */
export type Attempt = { collection: string; email: string; credential: string | null; password: string };

/**
 * What became of an attempt: the same kinds, in the same time, whether there is such an account or not. `seconds`: until
 * the lock ends. `lockedUntil` (milliseconds since the epoch) is set by the attempt that locks the account.
 */
export type Checked =
  | { kind: 'right' }
  | { kind: 'wrong'; lockedUntil: number | null }
  | { kind: 'locked'; seconds: number }
  /** Too many wait for their passwords to be looked at: the caller may come again. */
  | { kind: 'busy'; seconds: number };

/** What a one-time token is for: one of one kind or collection opens nothing of another. */
export type TokenKind = 'invite' | 'reset' | 'setup';

/**
 * Keeps what is secret about accounts. All threads that answer requests share one, in the main thread: so counting is exact,
 * and one connection has the vault. Hashing is done by threads of its own.
 */
export type Keeper = {
  /** Counts a call of a public account route; gives the seconds to wait when there were too many, else 0. */
  limit: (address: string, email: string | null) => Promise<number>;
  /** Looks at a password, unless its account is locked. */
  check: (attempt: Attempt) => Promise<Checked>;
  /** Hashes and keeps a password; gives the credential that names it, or null when too many wait. */
  keep: (password: string) => Promise<string | null>;
  /** Forgets a password that nothing names any longer. */
  forget: (credential: string) => Promise<void>;
  /** Ends a lock and the count of failures; false when there was neither. */
  unlock: (collection: string, email: string) => Promise<boolean>;
  /** The id that a one-time token was made for, or null when it was not made here. */
  openToken: (kind: TokenKind, collection: string, token: string) => Promise<string | null>;
  /** Says that something was recorded that causes a mail. */
  mailWaits: () => Promise<void>;
};
