import type { LogEvent } from '../../../client/index.ts';
import { client } from './client.ts';

/** The types of events that change content, each with the kind of change. */
export const kindsOfChanges = {
  'document.created': 'created',
  'document.updated': 'updated',
  'document.deleted': 'deleted',
  'document.restored': 'restored',
  'document.erased': 'erased',
  'document.draft.created': 'savedDraft',
  'document.draft.updated': 'savedDraft',
  'document.draft.restored': 'savedDraft',
  'document.draft.discarded': 'discarded',
  'document.published': 'published',
  'document.unpublished': 'unpublished',
  'global.updated': 'updated',
  'global.restored': 'restored',
  'global.draft.updated': 'savedDraft',
  'global.draft.restored': 'savedDraft',
  'global.draft.discarded': 'discarded',
  'global.published': 'published',
} as const;

const type = Object.keys(kindsOfChanges).join(',');

/** The number of newest events that are searched for changes of content. */
const scanned = 200;

/** The newest changes of content that the user may see, up to a position of the log, the oldest first. */
export async function readNewestChanges(upTo: number, signal: AbortSignal): Promise<LogEvent[]> {
  const changes: LogEvent[] = [];
  // A page may end early, because the total size of its events is bounded.
  for (let next = Math.max(0, upTo - scanned); next < upTo; ) {
    const page = await client.audit.events({
      signal,
      next,
      to: upTo,
      limit: scanned,
      type,
      actors: 'names',
    });
    changes.push(...page.docs);
    next = page.next ?? upTo;
  }
  return changes;
}
