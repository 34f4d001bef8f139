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

/** Keeps a password, only once if it is called again, and gives the credential to record. */
type Keep = () => Promise<string>;

/**
 * Runs a write that records a new password. If the write is refused, the password is forgotten. If it is not known
 * whether the write was recorded, the password stays: a start removes secrets that no event names, and nothing could
 * bring back one that an event names.
 *
 * @throws DomainError `unavailable` if too many passwords wait to be hashed.
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

/** A password of a write: `refused` forgets it again, if the error says that nothing was recorded. */
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
 * Counts a call without a credential: if everybody may sign up, each call costs a hash. @throws DomainError
 * `rate_limited`.
 */
export async function countSignUp({ app, request }: RouteCall, operation: Write['operation']): Promise<void> {
  if (operation === 'create' && actorOf(request).type === 'anonymous') await countCall(app, request, null);
}

/** Records changes of the account with those of the user: a step of writes in auth collections. */
export function accounts(write: Write): WriteStep {
  const { operation, body } = write;
  if (operation === 'delete') return endOfAccount(write);
  const password = isObject(body) ? memberOf(body, 'password') : undefined;
  // A password that is not a text is refused with the rest of the body.
  return typeof password === 'string' ? newPassword(write, password) : {};
}

/** Replaces a password: the old one is forgotten once the new one is recorded, the new one if the write is refused. */
function newPassword(write: Write, password: string): WriteStep {
  const { app, request, target } = write;
  const { category } = target;
  const { keep, refused } = keeping(write, password);
  let before: string | null = null;
  let isRecorded = false;

  return {
    async beforeAppend({ id, change, version }) {
      const credential = await keep();
      // At this version: so it is known which password is replaced, and that no reset came in between.
      const account = app.accounts.account(category, id);
      before = account?.credential ?? null;
      // A restored user has a stream, but is an account only from now on.
      const expectedVersion = account?.version ?? app.events.versionOf(accountStream(category, id));
      const keeps = ownSession(request, { category, id });
      const changed = { ...decidePassword({ category, id }, credential, { keeps }), expectedVersion };
      // A user who does not change must still exist.
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
      // No password comes in between, which would stay when its account is deleted.
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

/** The refusal of a call of which there are too many. */
export function tooBusy(seconds: number): DomainError {
  return new DomainError('unavailable', 'too many passwords are being looked at; try again soon', [], seconds);
}
