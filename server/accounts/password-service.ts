import { availableParallelism } from 'node:os';
import { inBody, invalidField } from '../../config/errors.ts';
import type { RateLimit } from '../../config/model.ts';
import { passwordProblem } from '../../config/passwords.ts';
import type { Category } from '../../config/schema.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { VaultPort } from '../../events/vault/vault-port.ts';
import { createLimit, createMailLimit, networkOf } from '../http/limits.ts';
import { createFairQueue } from '../platform/fair-queue.ts';
import type { PasswordService, TokenKind } from '../ports.ts';
import { canWait } from '../writer/disk-full.ts';
import { refusedOnFullDisk } from './full-disk.ts';
import { hashThreads } from './hash.ts';
import type { LockRule } from './lockout.ts';
import { createLoginChecks } from './login-checks.ts';
import { createTokens } from './one-time-tokens.ts';

/** The password service, and the functions that only the main thread calls. */
export type MainPasswordService = {
  passwords: PasswordService;
  /** Resolves when it may be asked. */
  ready: Promise<void>;
  /** The one-time token for an id, in base64url. */
  token: (kind: TokenKind, category: Category, id: string) => string;
  /**
   * Deletes all other passwords, and counts those of these that are missing, or have another hash than the one that was
   * stored. Only at the start: no event names yet a password that was just stored.
   */
  sweep: (referenced: ReadonlySet<string>) => Promise<{ missing: number; swapped: number }>;
  /** Takes another configuration. A changed rate limit begins to count anew. */
  follow: (next: PasswordRules) => void;
  /** Ends its workers; waiting tasks are rejected. */
  close: () => Promise<void>;
};

/** The options of a configuration that passwords are kept by. */
type PasswordRules = {
  /** By category, for every auth collection. */
  rules: ReadonlyMap<Category, LockRule>;
  bcryptCost: number;
  rateLimit: RateLimit | null;
};

type Options = PasswordRules & {
  vault: Pick<VaultPort, 'passwords' | 'counters'>;
  /** Gives a secret of the vault, by its name. */
  secret: (name: string) => string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called when a mail waits. */
  onMail: () => void;
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

/** Creates the password service, one per service. */
export function createPasswordService(options: Options): MainPasswordService {
  const { vault, secret, now, onMail, onSwapped, isOneOfMany = false } = options;
  let { rules, bcryptCost, rateLimit }: PasswordRules = options;
  let limit = createLimit(rateLimit);
  const width = Math.min(availableParallelism(), maxThreads);
  const threads = hashThreads({ count: width, ...(isOneOfMany && { restMilliseconds }) });
  const queue = createFairQueue({ width, maxWaiting });
  const { token, openToken } = createTokens(secret('one-time-tokens'));
  const mayMail = createMailLimit();
  const logins = createLoginChecks({
    vault,
    counterSecret: secret('login-counters'),
    threads,
    queue,
    cost: bcryptCost,
    ruleFor: (category) => rules.get(category),
    now,
    onSwapped,
  });

  async function store(password: string, address: string): Promise<string | null> {
    const wrong = passwordProblem(password);
    if (wrong !== undefined) throw invalidField(inBody('password', wrong.code), `must ${wrong.problem}`);
    // It belongs to no account yet, so it needs no key in the queue.
    const hash = await queue.take({ caller: networkOf(address), key: null }, () => threads.hash(password, bcryptCost));
    return hash === null ? null : vault.passwords.put(hash);
  }

  return {
    passwords: {
      limit: (address, email) => limit(address, email),
      mayMail: (category, id) => mayMail(documentStream(category, id)),
      checkPassword: (attempt) => refusedOnFullDisk(logins.check(attempt)),
      storePassword: (password, address) => refusedOnFullDisk(store(password, address)),
      forgetPassword: (credential) => forget(vault.passwords, credential),
      lockOf: logins.state,
      unlock: (category, email) => refusedOnFullDisk(logins.unlock(category, email)),
      openToken: async (kind, category, text) => openToken(kind, category, text),
      mailWaits: async () => onMail(),
    },
    token,
    ready: logins.ready,
    sweep: (referenced) => sweep(vault.passwords, referenced),
    follow(next) {
      if (JSON.stringify(next.rateLimit) !== JSON.stringify(rateLimit)) limit = createLimit(next.rateLimit);
      ({ rules, bcryptCost, rateLimit } = next);
      logins.workFor(bcryptCost);
    },
    async close() {
      queue.close();
      await threads.close();
    },
  };
}

/** On a full disk, or if the vault does not answer, the password stays until the next start. */
async function forget(passwords: VaultPort['passwords'], credential: string): Promise<void> {
  try {
    await passwords.delete(credential);
  } catch (error) {
    if (!canWait(error)) throw error;
  }
}

async function sweep(passwords: VaultPort['passwords'], referenced: ReadonlySet<string>) {
  await passwords.retain(referenced);
  const counts = { missing: 0, swapped: 0 };
  for (const credential of referenced) {
    const hash = await passwords.get(credential);
    if (hash === null) counts.missing += 1;
    else if (!(await passwords.isSame(credential, hash))) counts.swapped += 1;
  }
  return counts;
}
