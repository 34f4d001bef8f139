import { readNewPassword, readRevocation, readUnlock, readUsersAsked } from '../../config/credentials.ts';
import { DomainError, inBody, invalidField } from '../../config/errors.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { type AccountRef, decideRevoke, decideUnlock } from '../../events/facts/accounts.ts';
import { listedUsers } from '../accounts/listed-users.ts';
import { record } from '../accounts/record.ts';
import { accountCalled, setPassword } from '../accounts/set-password.ts';
import type { App } from '../app.ts';
import { type AuthTarget, authTargets } from '../callers/sessions.ts';
import type { AddCommand } from './operator.ts';

/** Adds the operator's commands on accounts. */
export function accountCommands(add: AddCommand, app: App): void {
  const targets = new Map(authTargets(app).map((target) => [target.slug, target]));

  function targetCalled(slug: string): AuthTarget {
    const target = targets.get(slug);
    if (target) return target;
    throw invalidField(
      inBody('collection', 'not_allowed'),
      `must be one with auth, got ${show(slug)}${didYouMean(slug, targets.keys())}`,
    );
  }

  function find(slug: string, email: string): AccountRef {
    const target = targetCalled(slug);
    return { category: target.category, id: accountCalled(target, email) };
  }

  add('/api/operator/unlock', async (request, body) => {
    const { collection, email } = readUnlock(await body());
    const user = find(collection, email);
    if (!(await app.passwords.unlock(user.category, email))) {
      throw new DomainError('conflict', `${show(email)} is not locked, and no failed login is counted`);
    }
    await record({ app, request }, decideUnlock(user));
    return { id: user.id };
  });

  add('/api/operator/set-password', async (request, body) => {
    const { collection, email, password } = readNewPassword(await body());
    return setPassword({ app, request, target: targetCalled(collection) }, { email, password });
  });

  add('/api/operator/users', async (_request, body) => {
    const { collection, after = null } = readUsersAsked(await body());
    return listedUsers(app, targetCalled(collection), after);
  });

  add('/api/operator/sessions/revoke', async (request, body) => {
    const { collection, email, sid = null } = readRevocation(await body());
    const user = find(collection, email);
    const ended = app.accounts
      .sessions(user.category, user.id)
      .filter((session) => session.expiresAt > app.clock.believed() && (sid === null || session.sid === sid));
    if (sid !== null && ended.length === 0) {
      throw new DomainError('not_found', `${show(email)} has no session ${show(sid)}`);
    }
    if (ended.length > 0) await record({ app, request }, decideRevoke(user, sid));
    return { id: user.id, ended: ended.length };
  });
}
