import { normalEmail } from '../../config/addresses.ts';
import { DomainError } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { decideNothing, decidePassword, decideUnlock } from '../../events/facts/accounts.ts';
import { accountStream, documentStream } from '../../events/facts/catalogue.ts';
import type { Call } from '../app.ts';
import { type AuthTarget, userWith } from '../callers/sessions.ts';
import { withPassword } from '../documents/write/passwords.ts';
import { write } from '../documents/write/writes.ts';
import { record } from './record.ts';
import { sessionsOf } from './session-answers.ts';

/**
 * Gives an account a new password, for the operator. It ends the sessions of the account, its lock and a pending reset,
 * and sends no mail.
 *
 * @returns the id of the user, and the number of sessions that were ended.
 * @throws DomainError `not_found`.
 */
export async function setPassword(
  call: Call<AuthTarget['model']> & { target: AuthTarget },
  { email, password }: { email: string; password: string },
): Promise<{ id: string; ended: number }> {
  const { app, target } = call;
  const { slug, category } = target;
  const id = accountCalled(target, email);
  let before: string | null = null;
  let ended = 0;
  await withPassword(call, password, async (keep) => {
    const credential = await keep();
    await write(call, accountStream(category, id), async () => {
      // The user must still be there, with the same address.
      const user = accountCalled(target, email) === id ? target.documents.current(id) : null;
      if (!user) throw noAccount(slug, email);
      const account = app.accounts.account(category, id);
      before = account?.credential ?? null;
      ended = sessionsOf(app, { category, id }, null).length;
      // At this version, so that it is known which password is replaced.
      const expectedVersion = account?.version ?? app.events.versionOf(accountStream(category, id));
      const decision = { ...decidePassword({ category, id }, credential), expectedVersion };
      return { decision, also: [decideNothing(documentStream(category, id), user.version)], answer: null };
    });
  });
  if (before !== null) await app.passwords.forgetPassword(before);
  if (await app.passwords.unlock(category, normalEmail(email))) await record(call, decideUnlock({ category, id }));
  return { id, ended };
}

/** The id of the account of an e-mail address in any spelling. @throws DomainError `not_found`. */
export function accountCalled(target: AuthTarget, email: string): string {
  const id = userWith(target, normalEmail(email));
  if (id === null) throw noAccount(target.slug, email);
  return id;
}

function noAccount(slug: string, email: string): DomainError {
  return new DomainError('not_found', `there is no account ${show(email)} in ${slug}`);
}
