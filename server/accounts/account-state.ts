import type { JsonObject } from '../../config/schema.ts';
import type { App } from '../app.ts';
import type { AuthTarget } from '../callers/sessions.ts';
import type { AnswerOf } from '../openapi/answers.ts';

/** The state of an account beside its document and its sessions. */
export type AccountState = Omit<AnswerOf<'Account'>, 'sessions'>;

/** The state of the account of a document. */
export async function accountStateOf(
  app: App,
  { category }: AuthTarget,
  { id, email }: JsonObject,
): Promise<AccountState> {
  const none = { failures: 0, lockedUntil: null };
  const { failures, lockedUntil } = typeof email === 'string' ? await app.passwords.lockOf(category, email) : none;
  const { credential = null, lastLoginAt = null } = app.accounts.account(category, String(id)) ?? {};
  return {
    locked: lockedUntil !== null,
    lockedUntil: lockedUntil === null ? null : new Date(lockedUntil).toISOString(),
    failures,
    lastLoginAt: lastLoginAt === null ? null : new Date(lastLoginAt).toISOString(),
    hasPassword: credential !== null,
  };
}
