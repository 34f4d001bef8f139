import { createHmac, randomBytes } from 'node:crypto';
import { normalEmail } from '../../config/addresses.ts';
import { isForNow } from '../../config/errors.ts';
import { passwordProblem } from '../../config/passwords.ts';
import type { Category } from '../../config/schema.ts';
import { commitmentPrefix } from '../../events/vault/passwords.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import { networkOf } from '../http/limits.ts';
import type { FairQueue } from '../platform/fair-queue.ts';
import type { LockState, LoginAttempt, LoginCheck } from '../ports.ts';
import type { HashThreads } from './hash.ts';
import { createLockout, type LockRule } from './lockout.ts';

type Options = {
  vault: Pick<VaultPort, 'passwords' | 'counters'>;
  /** The secret by which the keys of counters are made. */
  counterSecret: string;
  threads: HashThreads;
  queue: FairQueue;
  /** The cost of the hashes that are made now. */
  cost: number;
  /** The rule of an auth collection; undefined for another category. */
  ruleFor: (category: Category) => LockRule | undefined;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called for a hash in the vault that is not the one that was stored. */
  onSwapped: () => void;
};

const busySeconds = 5;
/** Stands in for the credential of an account that does not exist, so that the check does the same work. */
const noAccount = `${commitmentPrefix}none`;

/**
 * Checks passwords and counts failures. A check does the same work with and without an account: the same queue,
 * look-up, comparison and count.
 */
export function createLoginChecks(options: Options) {
  const { vault, counterSecret, queue, ruleFor, now } = options;
  const lockout = createLockout({ counters: vault.counters, now });
  const { isRight, workFor } = createComparison(options);
  /** The accounts whose password is just being compared: what is counted for them may be taken back. */
  const compared = new Set<string>();
  const ready = prepare();
  ready.catch(() => {});

  async function prepare(): Promise<void> {
    // Expired counters can go later: the vault of nodes may not answer for a moment.
    await lockout.tidy().catch((error: unknown) => {
      if (!isForNow(error)) throw error;
    });
    workFor(Math.max(...(await vault.passwords.beginnings()).map(costOf)));
  }

  async function check(attempt: LoginAttempt): Promise<LoginCheck> {
    const key = counterKey(counterSecret, attempt);
    const rule = ruleOf(attempt.category);
    await ready;
    // A flood at a locked account takes no room in the queue.
    const locked = compared.has(key) ? 0 : await lockout.secondsLocked(key, rule);
    if (locked > 0) return { kind: 'locked', seconds: locked };
    const caller = networkOf(attempt.address);
    return (
      (await queue.take({ caller, key }, () => compare(attempt, key, rule))) ?? { kind: 'busy', seconds: busySeconds }
    );
  }

  /** Compares a password. Other logins to the account wait in the queue, so that each failure is counted. */
  async function compare(attempt: LoginAttempt, key: string, rule: LockRule): Promise<LoginCheck> {
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

  function ruleOf(category: Category): LockRule {
    const rule = ruleFor(category);
    if (!rule) throw new Error(`${category} is not an auth collection`);
    return rule;
  }

  return {
    /** Resolves when the costs of the hashes in the vault are known. */
    ready,
    check,
    state: async (category: Category, email: string): Promise<LockState> =>
      lockout.state(counterKey(counterSecret, { category, email }), ruleOf(category)),
    /** Ends a lock and the count of failures; false without either. */
    unlock: (category: Category, email: string): Promise<boolean> =>
      lockout.reset(counterKey(counterSecret, { category, email })),
    /** Has comparisons take at least the work of this cost. */
    workFor,
  };
}

/** Compares passwords in the time of the highest cost that there is, with and without an account. */
function createComparison({ vault, threads, cost, onSwapped }: Options) {
  // While hashes of a higher, former cost exist, every comparison takes that cost.
  let work = cost;
  let dummy = dummyHash(work);

  function workFor(other: number): void {
    if (other <= work) return;
    work = other;
    dummy = dummyHash(work);
  }

  async function isRight({ credential, password }: LoginAttempt): Promise<boolean> {
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

  return { isRight, workFor };
}

/** A hash, so that the vault does not reveal the addresses of failed logins. */
function counterKey(secret: string, { category, email }: Pick<LoginAttempt, 'category' | 'email'>): string {
  return createHmac('sha256', secret)
    .update(`${category}\0${normalEmail(email)}`)
    .digest('base64url');
}

function costOf(hash: string): number {
  return Number(/^\$2[ab]\$(\d\d)\$/.exec(hash)?.[1] ?? 0);
}

/** A hash without a password: a comparison takes as long as with any hash of its cost. */
function dummyHash(cost: number): string {
  const text = randomBytes(40).toString('base64').replaceAll('+', '.').replaceAll('=', '').slice(0, 53);
  return `$2b$${String(cost).padStart(2, '0')}$${text}`;
}
