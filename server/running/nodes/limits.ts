import { DomainError } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import type { KeyService, PasswordService } from '../../ports.ts';
import type { Loaded } from '../../settings/configuration.ts';
import { type Settings, UsageError } from '../../settings/settings.ts';
import { safeLength } from '../warnings.ts';

// The functions that nodes do not have in common yet: each is refused here, and nowhere else.

type Served = { settings: Settings; loaded: Pick<Loaded, 'model'> & Partial<Pick<Loaded, 'seed'>> };

/** @throws UsageError naming all that a service with a log in PostgreSQL cannot serve; nothing for one without. */
export function refuseForNodes({ settings, loaded }: Served): void {
  if (settings.log === undefined) {
    if (settings.applySchema) throw new UsageError('--apply-schema is for a node: ANNALS_LOG is not set');
    return;
  }
  const problems = [...problemsOfSettings(settings), ...problemsOfModel(loaded.model)];
  if (loaded.seed)
    problems.push('the configuration has a seed, which is not run with ANNALS_LOG: each node would run it');
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}

function problemsOfSettings({ apiKeys, secrets, bucket, site, sites }: Settings): string[] {
  const problems: string[] = [];
  if (apiKeys.length === 0)
    problems.push('ANNALS_API_KEY is missing: with ANNALS_LOG all nodes must have the same keys');
  if (secrets.length === 0) problems.push('ANNALS_SECRET is missing: with ANNALS_LOG all nodes must have the same');
  if (secrets.some(({ length }) => length < safeLength))
    problems.push(`ANNALS_SECRET is shorter than ${safeLength} characters, which ANNALS_LOG needs`);
  if (bucket !== undefined)
    problems.push('ANNALS_S3_ENDPOINT and ANNALS_LOG are both set: files are not served with a log in PostgreSQL yet');
  if (site !== null || sites !== null)
    problems.push(
      'ANNALS_SITES and ANNALS_LOG are both set: several sites are not served with a log in PostgreSQL yet',
    );
  return problems;
}

function problemsOfModel({ collections, webhooks }: Model): string[] {
  const all = [...collections.values()];
  const named = (slugs: string[], what: string) =>
    slugs.length === 0 ? [] : [`${what} (${slugs.join(', ')}) are not served with ANNALS_LOG yet`];
  return [
    ...named(
      all.filter(({ auth }) => auth).map(({ slug }) => slug),
      'collections with auth',
    ),
    ...named(
      all.filter(({ upload }) => upload).map(({ slug }) => slug),
      'collections with upload',
    ),
    ...named(
      webhooks.map(({ name }) => name),
      'webhooks',
    ),
  ];
}

/** The same services, without what would be kept by one node alone; as they are without a shared log. */
export function limitedForNodes<P extends PasswordService>(
  { log }: Settings,
  { passwords, keyService }: { passwords: P; keyService: KeyService },
): { passwords: P; keyService: KeyService } {
  if (log === undefined) return { passwords, keyService };
  return {
    passwords: {
      ...passwords,
      storeDraft: refusing('previews of drafts'),
      keepOwnDraft: refusing('drafts'),
      changePreferences: refusing('preferences'),
    },
    keyService: { ...keyService, store: refusing('API keys that are made at run time') },
  };
}

function refusing(what: string) {
  return async (): Promise<never> => {
    throw new DomainError('conflict', `${what} are not served with a log in PostgreSQL yet`);
  };
}

/** The answer to a request to read the configuration again. */
export async function cannotReloadNode(): Promise<never> {
  throw new DomainError(
    'conflict',
    'a node with a log in PostgreSQL cannot read its configuration again: it must be started again',
  );
}
