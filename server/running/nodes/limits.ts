import { DomainError } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import { type Settings, UsageError } from '../../settings/settings.ts';

// Functions that a service with several nodes does not have yet: each is refused here, and nowhere else.

type ServiceParts = { settings: Settings; loaded: Pick<LoadedConfiguration, 'model'> };

/** @throws UsageError naming all settings that a service with a log in PostgreSQL cannot serve. */
export function refuseForNodes({ settings, loaded }: ServiceParts): void {
  if (settings.log === undefined) return;
  const problems = [...problemsOfSettings(settings), ...problemsOfModel(loaded.model, settings)];
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
}

function problemsOfSettings({ bucket, site, sites }: Settings): string[] {
  const problems: string[] = [];
  if (bucket?.localRetentionBytes !== undefined)
    problems.push(
      'ANNALS_S3_LOCAL_RETENTION_BYTES and ANNALS_POSTGRES_URL are both set: the segments of a node stay on its disk',
    );
  if (site !== null || sites !== null)
    problems.push(
      'ANNALS_SITES and ANNALS_POSTGRES_URL are both set: several sites are not served with a log in PostgreSQL yet',
    );
  return problems;
}

function problemsOfModel({ collections }: Model, { bucket }: Settings): string[] {
  if (bucket !== undefined) return [];
  return [...collections.values()].flatMap(({ upload, slug }) => (upload ? [needsBucket(slug)] : []));
}

function needsBucket(slug: string): string {
  return (
    `the collection ${slug} has upload, and ANNALS_S3_ENDPOINT is missing: with ANNALS_POSTGRES_URL files are kept in a bucket, ` +
    'which all nodes reach'
  );
}

/** The answer to a request to read the configuration again. */
export async function cannotReloadNode(): Promise<never> {
  throw new DomainError(
    'conflict',
    'a node with a log in PostgreSQL cannot read its configuration again: it must be started again',
  );
}
