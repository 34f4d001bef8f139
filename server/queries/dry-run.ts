import { invalidField } from '../../config/errors.ts';
import { isObject, memberOf } from '../../config/schema.ts';

/** Refuses a body that asks for a dry run, as only the query does. @throws DomainError `invalid`. */
export function refuseDryRunIn(body: unknown): void {
  if (!isObject(body) || memberOf(body, 'dryRun') === undefined) return;
  throw invalidField('dryRun', 'belongs in the query, not in the body: ?dryRun=true');
}
