import type { MissingRows } from '../log/shipment.ts';
import { type KnownEnd, type SharedLog, SharedLogUnavailableError } from './shared-log.ts';

/** After a page that came within this time, in milliseconds, the next one may be larger. */
const quickMilliseconds = 1000;

export type Pages = ReturnType<typeof openPages>;

/**
 * Reads a shared log page by page. A page that does not come in time is asked for again with half of its events, so
 * that a node gets on with a slow network and with large events.
 *
 * @param most the largest number of events in a page.
 */
export function openPages(shared: Pick<SharedLog, 'tail'>, most: number) {
  let limit = most;

  /** Gives the rows that follow on the end of a replica. @throws as `tail` does. */
  async function next(after: KnownEnd): Promise<MissingRows> {
    const since = performance.now();
    try {
      const missing = await shared.tail(after, limit);
      if (performance.now() - since < quickMilliseconds) limit = Math.min(limit * 2, most);
      return missing;
    } catch (error) {
      if (error instanceof SharedLogUnavailableError) limit = Math.max(Math.floor(limit / 2), 1);
      throw error;
    }
  }

  return { next };
}
