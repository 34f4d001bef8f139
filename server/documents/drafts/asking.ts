import type { Call } from '../../app.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { draftParameter } from '../../queries/query.ts';

/** Whether a request is about drafts. {@link checkWriteQuery} refuses a wrong value, once the caller is admitted. */
export function isDraftAsked({ request, target }: Pick<Call, 'request' | 'target'>): boolean {
  return target.lines !== null && request.query.draft === 'true';
}

/** Checks the query of a write. @throws DomainError `validation_failed` naming every wrong parameter. */
export function checkWriteQuery({ app, request, target }: Call): void {
  if (target.lines) readQuery(draftParameter, request.query, app);
  else rejectQuery(request.query);
}
