import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { isObject, memberOf } from '../../../config/schema.ts';
import { type AccountRef, decideNothing, decidePassword } from '../../../events/facts/accounts.ts';
import { accountStream, documentStream } from '../../../events/facts/catalogue.ts';
import { UnreadError } from '../../../events/facts/log.ts';
import type { RouteCall } from '../../app.ts';
import { countCall } from '../../callers/counting.ts';
import { actorOf, addressOf } from '../../http/requests.ts';
import type { Write, WriteStep } from './write-steps.ts';

const busySeconds = 5;

/** Keeps a password, once however often it is called, and gives the credential to record. */
export type Keep = () => Promise<string>;

/**
 * Runs a write that records a new password. When the write is refused, nothing of the password is left. When it is not
 * known whether it was recorded, it stays: a start removes what no event names, and nothing brings back what one does.
 *
 * @throws DomainError `unavailable` when too many wait for theirs to be hashed.
 */
export async function withPassword<T>(
  call: RouteCall,
  password: string,
  write: (keep: Keep) => Promise<T>,
): Promise<T> {
  const { keep, refused } = keeping(call, password);
  try {
    return await write(keep);
  } catch (error) {
    await refused(error);
    throw error;
  }
}

/** A password on its way: `refused` forgets it again, where the error says that nothing was recorded. */
function keeping({ app: { passwords }, request }: RouteCall, password: string) {
  let kept: string | null = null;

  async function keep(): Promise<string> {
    kept ??= await passwords.storePassword(password, addressOf(request));
    if (kept === null) throw tooBusy(busySeconds);
    return kept;
  }

  async function refused(error: unknown): Promise<void> {
    const isRefusal = error instanceof DomainError && !(error instanceof UnreadError);
    if (kept !== null && isRefusal) await passwords.forgetPassword(kept);
  }

  return { keep, refused };
}

/**
 * Counts a call without a credential: where everybody may sign up, each costs a hash. @throws DomainError `too-many`.
 */
export async function countSignUp({ app, request }: RouteCall, operation: Write['operation']): Promise<void> {
  if (operation === 'create' && actorOf(request).type === 'anonymous') await countCall(app, request, null);
}

/** Records with a user what becomes of the account: a step of writes in auth collections. */
export function accounts(write: Write): WriteStep {
  const { operation, body } = write;
  if (operation === 'delete') return endOfAccount(write);
  const password = isObject(body) ? memberOf(body, 'password') : undefined;
  // A password that is not a text is refused with the rest of the body.
  return typeof password === 'string' ? newPassword(write, password) : {};
}

/** The password that was before is forgotten once the new one is recorded, and the new one where that is refused. */
function newPassword(write: Write, password: string): WriteStep {
  const { app, request, target } = write;
  const { category } = target;
  const { keep, refused } = keeping(write, password);
  let before: string | null = null;
  let isRecorded = false;

  return {
    async beforeAppend({ id, change, version }) {
      const credential = await keep();
      // At this version: so it is known which password it replaces, and that no reset has come in between.
      const account = app.accounts.account(category, id);
      before = account?.credential ?? null;
      // One that was restored has a stream, but is an account only from here on.
      const expectedVersion = account?.version ?? app.events.versionOf(accountStream(category, id));
      const keeps = ownSession(request, { category, id });
      const changed = { ...decidePassword({ category, id }, credential, { keeps }), expectedVersion };
      // A user who stays as they are must be there still.
      return change ? [changed] : [changed, decideNothing(documentStream(category, id), version)];
    },
    async recorded() {
      isRecorded = true;
      if (before !== null) await app.passwords.forgetPassword(before);
    },
    async ended(error) {
      if (!isRecorded) await refused(error);
    },
  };
}

function endOfAccount({ app, target: { category } }: Write): WriteStep {
  let credential: string | null = null;

  return {
    async beforeAppend({ id }) {
      // No password comes in between, which would be left when its account is gone.
      const account = app.accounts.account(category, id);
      credential = account?.credential ?? null;
      return account ? [decideNothing(accountStream(category, id), account.version)] : [];
    },
    async recorded() {
      if (credential !== null) await app.passwords.forgetPassword(credential);
    },
  };
}

/** A user who changes their own password stays logged in here. */
function ownSession({ auth }: Request, { category, id }: AccountRef): string | undefined {
  const session = auth.credentials.user?.session;
  return session?.category === category && session.id === id ? session.sid : undefined;
}

/** The refusal of one of too many. */
export function tooBusy(seconds: number): DomainError {
  return new DomainError('unavailable', 'too many passwords are being looked at; try again soon', [], seconds);
}
