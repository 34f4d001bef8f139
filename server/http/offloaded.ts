import type { Lifecycle, RequestRoute } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { fetchFrames, retryAfterFetch } from '../../events/segments/fetching.ts';
import { SegmentOffloadedError, SegmentUnreachableError } from '../../events/segments/offloaded.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** True for a GET that records an event, so that its handler is not called again. */
    recordsAnEvent?: true;
  }
}

/**
 * Has a route that only reads wait for segments of the log that are in the bucket, while the thread answers others. A
 * write that needs such a segment is refused before it has recorded anything; when it is repeated, the segment is here.
 */
export function awaitSegments({ method, settings }: RequestRoute): void {
  const { handler } = settings;
  if (typeof handler !== 'function') return;
  const run = handler as Lifecycle.Method;
  const onlyReads = method === 'get' && settings.plugins?.recordsAnEvent !== true;
  settings.handler = function (this: unknown, request, h, error) {
    const answer = async () => run.call(this as never, request, h, error);
    return onlyReads ? retryAfterFetch(answer) : refusing(answer);
  };
}

async function refusing<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof SegmentOffloadedError)) throw error;
    await fetchFrames(error.missing);
    throw new DomainError('unavailable', 'earlier events had to be fetched from the bucket: try again', [], 1);
  }
}

/** The refusal of a request that needs events in a bucket that does not answer; null for another error. */
export function segmentRefusal(error: unknown): DomainError | null {
  if (!(error instanceof SegmentUnreachableError)) return null;
  return new DomainError(
    'unavailable',
    'this needs earlier events, which are in the bucket, and it cannot be reached at the moment',
  );
}
