import { counted } from '../../config/counted.ts';
import type { Collection } from '../../config/model.ts';
import type { ListedUser } from '../../server/accounts/listed-users.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import type { LoadedConfiguration } from '../../server/settings/configuration.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { onService } from '../content/service.ts';
import { configured } from '../data-directory.ts';
import { type OperatorAnswer, reportRefusal } from '../operator-connection.ts';
import { printLine, tableOf } from '../terminal.ts';
import { accountsIn } from './accounts.ts';

/** `annals users`: exit 0 shown, 1 refused, 2 could not run. */
export async function listUsers(
  { settings, flags, words }: CommandLine<{ json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const own = await configured(settings);
  const asked = collectionsOf(own.loaded, words[0]);
  const users: ListedUser[] = [];
  const refusal = await onService(own, async ({ ask }) => {
    for (const { slug } of asked) {
      let after: string | null = null;
      do {
        const body = { collection: slug, ...(after === null ? {} : { after }) };
        const answered: OperatorAnswer = await ask({ method: 'POST', path: '/api/operator/users', body });
        if (answered.status >= 300) return answered;
        const page = answered.body as OperatorAnswer['body'] & { users: ListedUser[]; after: string | null };
        users.push(...page.users);
        after = page.after;
      } while (after !== null);
    }
    return null;
  });
  if (refusal) return reportRefusal(refusal);
  if (flags.json) return printLine(JSON.stringify({ users }));
  for (const line of table(users, environment)) printLine(line);
  return 0;
}

function collectionsOf(loaded: LoadedConfiguration, slug: string | undefined): Pick<Collection, 'slug'>[] {
  if (slug !== undefined) return [accountsIn(loaded, slug)];
  const all = [...loaded.model.collections.values()].filter(({ auth }) => auth !== null);
  if (all.length === 0) throw new UsageError(`no collection has accounts in ${loaded.path}`);
  return all;
}

const titles = ['ID', 'E-MAIL', 'COLLECTION', 'LAST LOGIN', 'STATE'];

function table(users: readonly ListedUser[], environment: NodeJS.ProcessEnv): string[] {
  if (users.length === 0) return ['there are no users'];
  const rows = users.map((user) => [
    user.id,
    user.email ?? 'none',
    user.collection,
    user.lastLoginAt ?? 'never',
    stateOf(user),
  ]);
  return [...tableOf([titles, ...rows], environment), counted(users.length, 'user')];
}

function stateOf({ lockedUntil, hasPassword, sessions }: ListedUser): string {
  return [
    ...(lockedUntil === null ? [] : [`locked until ${lockedUntil}`]),
    ...(hasPassword ? [] : ['no password']),
    sessions === 0 ? 'no session' : counted(sessions, 'session'),
  ].join(', ');
}
