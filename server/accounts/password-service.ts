import { createHmac, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { normalEmail } from '../../config/addresses.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import type { RateLimit } from '../../config/model.ts';
import { passwordProblem } from '../../config/passwords.ts';
import type { Category } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import { commitmentPrefix } from '../../events/vault/passwords.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { keepDrafts } from '../documents/preview/drafts.ts';
import { keepOwnDrafts } from '../documents/unsaved-changes/keeping.ts';
import { createLimit, createMailLimit, networkOf } from '../http/limits.ts';
import { createTurns } from '../platform/fair-queue.ts';
import { oneByOne } from '../platform/one-by-one.ts';
import type { Checked, LoginAttempt, PasswordService, TokenKind } from '../ports.ts';
import { canWait, diskFull } from '../writer/disk-full.ts';
import { hashThreads } from './hash.ts';
import { createLockout, type LockRule } from './lockout.ts';
import { createTokens } from './one-time-tokens.ts';
import { keepPreferences } from './preferences.ts';

/** The password service, and the functions that only the main thread calls. */
export type MainPasswordService = {
  passwords: PasswordService;
  /** Resolves when it may be asked. */
  ready: Promise<void>;
  /** The one-time token for an id, in base64url. */
  token: (kind: TokenKind, category: Category, id: string) => string;
  /**
   * Deletes all passwords but these, and counts those of these that are missing, and those with another hash than the
   * one that was stored. Only at the start: a password just stored is not named by an event yet.
   */
  sweep: (referenced: ReadonlySet<string>) => Promise<{ missing: number; swapped: number }>;
  /** Deletes the drafts of a document and, if it is a user, those that the user stored, and their preferences. */
  forgetKept: (category: Category, id: string) => Promise<void>;
  /** Takes another configuration. A changed rate limit begins to count anew. */
  follow: (next: Configured) => void;
  /** Ends its workers; waiting tasks are rejected. */
  close: () => Promise<void>;
};

/** The options of a configuration that passwords are kept by. */
type Configured = {
  /** By category, for every auth collection. */
  rules: ReadonlyMap<Category, LockRule>;
  bcryptCost: number;
  rateLimit: RateLimit | null;
};

type Options = Configured & {
  vault: VaultPort;
  /** Gives a secret of the vault, by its name. */
  secret: (name: string) => string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when a mail waits. */
  onMail: () => void;
  /** Called when expired drafts could not be deleted; the deletion is retried. */
  onDraftFailure: (error: Error) => void;
  /**
   * Called at a login for which the vault has another hash than the one that was stored: such a hash admits no login.
   */
  onSwapped: () => void;
  /** Whether the process runs other services too; idle workers then end. */
  isOneOfMany?: boolean;
};

const maxThreads = 4;
const restMilliseconds = 30_000;
/** A hash takes about a quarter of a second at the default cost: callers would not wait for longer queues. */
const maxWaiting = { key: 40, all: 200 };
const busySeconds = 5;
/** How many drafts and preferences may wait to be kept: a large one takes the main thread some 10 ms. */
const maxWaitingToKeep = 64;
/** Stands in for the credential of an account that does not exist, so that the check does the same work. */
const noAccount = `${commitmentPrefix}nobody`;

/** Creates the password service, one per service. */
export function createPasswordService(options: Options): MainPasswordService {
  const { vault, secret, now, onMail, onDraftFailure, onSwapped, isOneOfMany = false } = options;
  let { rules, bcryptCost, rateLimit }: Configured = options;
  let limit = createLimit(rateLimit);
  const width = Math.min(availableParallelism(), maxThreads);
  const threads = hashThreads({ count: width, ...(isOneOfMany && { restMilliseconds }) });
  const turns = createTurns({ width, maxWaiting });
  const lockout = createLockout({ counters: vault.counters, now });
  const { token, openToken } = createTokens(secret('one-time-tokens'));
  const counterKey = secret('login-counters');
  // While hashes of a higher, former cost exist, every comparison takes that cost.
  let work = bcryptCost;
  let dummy = dummyHash(work);
  const mayMail = createMailLimit();
  const line = oneByOne(maxWaitingToKeep, tooMany);
  const preferences = keepPreferences(vault.preferences);
  const ownDrafts = keepOwnDrafts({ drafts: vault.ownDrafts, now, onFailure: onDraftFailure });
  const drafts = keepDrafts({ drafts: vault.drafts, now, onFailure: onDraftFailure });
  /** The accounts whose password is just being compared: what is counted for them may be taken back. */
  const compared = new Set<string>();
  const ready = prepare();
  ready.catch(() => {});

  async function prepare(): Promise<void> {
    // Expired counters can go later: the vault of nodes may not answer for a moment.
    await lockout.tidy().catch((error: unknown) => {
      if (!(error instanceof DomainError && error.code === 'unavailable')) throw error;
    });
    workFor(Math.max(...(await vault.passwords.beginnings()).map(costOf)));
  }

  function workFor(cost: number): void {
    if (cost <= work) return;
    work = cost;
    dummy = dummyHash(work);
  }

  async function check(attempt: LoginAttempt): Promise<Checked> {
    const key = keyOf(attempt.category, attempt.email);
    const rule = ruleOf(attempt.category);
    await ready;
    // A flood at a locked account takes no places in the queue.
    const locked = compared.has(key) ? null : await lockedOf(key, rule);
    const checked =
      locked ?? (await turns.take({ line: networkOf(attempt.address), key }, () => look(attempt, key, rule)));
    return checked ?? { kind: 'busy', seconds: busySeconds };
  }

  /** Checks a login at its turn. Other logins to the account wait, so that each failure is counted. */
  async function look(attempt: LoginAttempt, key: string, rule: LockRule): Promise<Checked> {
    compared.add(key);
    try {
      const counted = await lockout.count(key, attempt.credential !== null, rule);
      if (counted.kind === 'locked') return counted;
      if (!(await isRight(attempt))) return { kind: 'wrong', lockedUntil: counted.lockedUntil };
      await lockout.reset(key);
      return { kind: 'right' };
    } finally {
      compared.delete(key);
    }
  }

  async function isRight({ credential, password }: LoginAttempt): Promise<boolean> {
    // Lookup, comparison and count are the same with and without an account.
    const kept = await vault.passwords.get(credential ?? noAccount);
    const isSame = await vault.passwords.isSame(credential ?? noAccount, kept ?? dummy);
    if (kept !== null && !isSame) onSwapped();
    const hash = isSame ? kept : null;
    const isEqual =
      passwordProblem(password) === undefined
        ? await threads.compare(password, hash ?? dummy, work)
        : await threads.compare('', dummy, work);
    return isEqual && hash !== null;
  }

  async function lockedOf(key: string, rule: LockRule): Promise<Checked | null> {
    const seconds = await lockout.secondsLocked(key, rule);
    return seconds > 0 ? { kind: 'locked', seconds } : null;
  }

  function ruleOf(category: Category): LockRule {
    const rule = rules.get(category);
    if (!rule) throw new Error(`${category} is not an auth collection`);
    return rule;
  }

  /** A hash, so that the vault does not reveal the addresses of failed logins. */
  function keyOf(category: Category, email: string): string {
    return createHmac('sha256', counterKey)
      .update(`${category}\0${normalEmail(email)}`)
      .digest('base64url');
  }

  async function keep(password: string, address: string): Promise<string | null> {
    const problem = passwordProblem(password);
    if (problem !== undefined) throw invalidField('password', `must ${problem}`);
    // It belongs to no account yet, so it needs no key in the queue.
    const hash = await turns.take({ line: networkOf(address), key: null }, () => threads.hash(password, bcryptCost));
    return hash === null ? null : vault.passwords.put(hash);
  }

  /** On a full disk, or where the vault does not answer, the password stays until the next start. */
  async function forget(credential: string): Promise<void> {
    try {
      await vault.passwords.delete(credential);
    } catch (error) {
      if (!canWait(error)) throw error;
    }
  }

  return {
    passwords: {
      limit: (address, email) => limit(address, email),
      mayMail: (category, id) => mayMail(documentStream(category, id)),
      checkPassword: (attempt) => withRoom(check(attempt)),
      storePassword: (password, address) => withRoom(keep(password, address)),
      forgetPassword: forget,
      lockOf: async (category, email) => lockout.state(keyOf(category, email), ruleOf(category)),
      unlock: (category, email) => withRoom(lockout.reset(keyOf(category, email))),
      openToken: async (kind, category, text) => openToken(kind, category, text),
      mailWaits: async () => onMail(),
      preferences: preferences.read,
      changePreferences: (user, patch) => withRoom(line.run(() => preferences.change(user, patch))),
      forgetPreferences: preferences.forget,
      keepOwnDraft: (draft) => withRoom(line.run(() => ownDrafts.keep(draft))),
      ownDraft: ownDrafts.read,
      ownDrafts: ownDrafts.list,
      removeOwnDraft: (owner, target, expected) => withRoom(line.run(() => ownDrafts.remove(owner, target, expected))),
      forgetOwnDrafts: ownDrafts.forget,
      storeDraft: drafts.keep,
      draft: drafts.read,
      dropDraft: drafts.drop,
    },
    token,
    ready,
    async sweep(referenced) {
      await vault.passwords.retain(referenced);
      const counts = { missing: 0, swapped: 0 };
      for (const credential of referenced) {
        const hash = await vault.passwords.get(credential);
        if (hash === null) counts.missing += 1;
        else if (!(await vault.passwords.isSame(credential, hash))) counts.swapped += 1;
      }
      return counts;
    },
    async forgetKept(category, id) {
      await drafts.forget(category, id);
      await ownDrafts.forget(documentStream(category, id));
      await preferences.forget(documentStream(category, id));
    },
    follow(next) {
      if (JSON.stringify(next.rateLimit) !== JSON.stringify(rateLimit)) limit = createLimit(next.rateLimit);
      ({ rules, bcryptCost, rateLimit } = next);
      workFor(bcryptCost);
    },
    async close() {
      await Promise.all([line.ended(), drafts.close(), ownDrafts.close()]);
      turns.close();
      await threads.close();
    },
  };
}

/** @throws DomainError `unavailable` where the vault has no room. */
async function withRoom<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isDiskFull(error) ? diskFull() : error;
  }
}

function tooMany(): DomainError {
  const message = 'too many drafts and preferences wait to be kept: try again later';
  return new DomainError('unavailable', message, [], busySeconds);
}

function costOf(hash: string): number {
  return Number(/^\$2[ab]\$(\d\d)\$/.exec(hash)?.[1] ?? 0);
}

/** A hash without a password: a comparison takes as long as with any hash of its cost. */
function dummyHash(cost: number): string {
  const text = randomBytes(40).toString('base64').replaceAll('+', '.').replaceAll('=', '').slice(0, 53);
  return `$2b$${String(cost).padStart(2, '0')}$${text}`;
}
