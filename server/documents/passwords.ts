import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { isObject, memberOf } from '../../config/schema.ts';
import { type AccountRef, decideNothing, decidePassword } from '../../events/accounts.ts';
import { accountStream, documentStream } from '../../events/catalogue.ts';
import { type Change, UnreadError } from '../../events/log.ts';
import type { App, Target } from '../app.ts';
import { addressOf } from '../http/requests.ts';

const busySeconds = 5;

/** Keeps a password, once however often it is called, and gives the credential to record. */
export type Keep = () => Promise<string>;

/**
 * Runs a write that records a new password. When the write is refused, nothing of the password is left. When nobody knows
 * whether it was recorded, it is: a start removes what no event names, and nothing brings back what one does.
 *
 * @throws DomainError `unavailable` when too many wait for theirs to be hashed.
 */
export async function withPassword<T>(
  { keeper }: App,
  request: Request,
  password: string,
  write: (keep: Keep) => Promise<T>,
): Promise<T> {
  let kept: string | null = null;
  async function keep(): Promise<string> {
    kept ??= await keeper.keep(password, addressOf(request));
    if (kept === null) throw tooBusy(busySeconds);
    return kept;
  }
  try {
    return await write(keep);
  } catch (error) {
    if (kept !== null && isRefusal(error)) await keeper.forget(kept);
    throw error;
  }
}

/** True where it is known that nothing was recorded. */
function isRefusal(error: unknown): boolean {
  return error instanceof DomainError && !(error instanceof UnreadError);
}

/**
 * Runs a write of a document whose body may carry a password. `also` gives what is to be
 * recorded beside the document, once the write is sure to be allowed: nothing where there is no password. It is told the
 * version of a document that stays as it is, which must be there still; null where the document changes too. The password
 * that was before is forgotten afterwards.
 */
export async function withPasswordOf<T>(
  app: App,
  request: Request,
  { slug, model }: Target,
  id: string,
  body: unknown,
  write: (also: (unchanged: number | null) => Promise<Change[]>) => Promise<T>,
): Promise<T> {
  const isAccount = model.kind === 'collection' && model.auth;
  const password = isAccount && isObject(body) ? memberOf(body, 'password') : undefined;
  // What is no text is refused with the rest of the body.
  if (typeof password !== 'string') return write(async () => []);
  const keeps = ownSession(request, { slug, id });
  let before: string | null = null;
  const result = await withPassword(app, request, password, (keep) =>
    write(async (unchanged) => {
      const credential = await keep();
      // At this version: so it is known which password it replaces, and that no reset has come in between.
      const account = app.accounts.account(slug, id);
      before = account?.credential ?? null;
      // One that was restored has a stream, but is an account only from here on.
      const expectedVersion = account?.version ?? app.events.versionOf(accountStream(slug, id));
      const change = { ...decidePassword({ slug, id }, credential, { keeps }), expectedVersion };
      return unchanged === null ? [change] : [change, decideNothing(documentStream(slug, id), unchanged)];
    }),
  );
  if (before !== null) await app.keeper.forget(before);
  return result;
}

/** Who changes their own password stays logged in here. */
function ownSession({ auth }: Request, { slug, id }: AccountRef): string | undefined {
  const session = auth.credentials.user?.session;
  return session?.slug === slug && session.id === id ? session.sid : undefined;
}

/** The refusal of one of too many. */
export function tooBusy(seconds: number): DomainError {
  return new DomainError('unavailable', 'too many passwords are being looked at; try again soon', [], seconds);
}
