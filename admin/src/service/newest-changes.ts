import type { LogEvent } from '../../../client/index.ts';
import { client } from './client.ts';

/** The types of events that change content, each with what it does. */
export const kindsOfChanges = {
  'document.created': 'created',
  'document.updated': 'updated',
  'document.deleted': 'deleted',
  'document.restored': 'restored',
  'document.erased': 'erased',
  'global.updated': 'updated',
  'global.restored': 'restored',
} as const;

const type = Object.keys(kindsOfChanges).join(',');

/** How many of the newest events are looked through for changes of content. */
const scanned = 200;

/** The newest changes of content that the user may see, up to a position of the log, the oldest first. */
export async function readNewestChanges(upTo: number, signal: AbortSignal): Promise<LogEvent[]> {
  const changes: LogEvent[] = [];
  // A page may end early: its events together are bounded.
  for (let after = Math.max(0, upTo - scanned); after < upTo; ) {
    const { events, next } = await client.audit.events({
      signal,
      after,
      to: upTo,
      limit: scanned,
      type,
      actors: 'names',
    });
    changes.push(...events);
    after = next ?? upTo;
  }
  return changes;
}
