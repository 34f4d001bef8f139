import type { Missed } from '../log/shipped.ts';
import { type Seen, type SharedLog, SharedLogUnavailableError } from './shared-log.ts';

/** A page that came within so many milliseconds may be larger the next time. */
const quickMilliseconds = 1000;

/**
 * Reads a shared log page by page. A page that does not come in time is asked for again with half of its events, so
 * that a node gets on through a slow network, and with large events.
 *
 * @param most the events of a page at most.
 */
export function openPages(shared: Pick<SharedLog, 'tail'>, most: number) {
  let limit = most;

  /** Gives what follows on where a replica ends. @throws as `tail` does. */
  async function next(after: Seen): Promise<Missed> {
    const since = performance.now();
    try {
      const missed = await shared.tail(after, limit);
      if (performance.now() - since < quickMilliseconds) limit = Math.min(limit * 2, most);
      return missed;
    } catch (error) {
      if (error instanceof SharedLogUnavailableError) limit = Math.max(Math.floor(limit / 2), 1);
      throw error;
    }
  }

  return { next };
}
