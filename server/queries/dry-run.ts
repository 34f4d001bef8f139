import { inBody, invalidField } from '../../config/errors.ts';
import { isObject, memberOf } from '../../config/schema.ts';

/** Refuses a body that asks for a dry run, as only the query does. @throws DomainError `validation_failed`. */
export function refuseDryRunIn(body: unknown): void {
  if (!isObject(body) || memberOf(body, 'dryRun') === undefined) return;
  throw invalidField(inBody('dryRun', 'misplaced'), 'belongs in the query, not in the body: ?dryRun=true');
}
