import type { LinesNow } from '../../events/facts/line-decisions.ts';
import type { Call } from '../app.ts';
import { may } from './access.ts';

/**
 * Whether the caller may see the drafts of a document: the rule `readDrafts` is asked about its draft, or the public
 * state that has none. Never of a document that does not exist, and where there are no drafts.
 */
export async function mayReadDrafts(call: Call, { draft }: LinesNow): Promise<boolean> {
  if (!call.target.model.drafts || draft === null) return false;
  return may(call, 'readDrafts', { doc: () => draft, data: null, isDraft: true });
}
