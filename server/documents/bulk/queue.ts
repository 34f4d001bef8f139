import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { App } from '../../app.ts';
import { endedEarly } from '../../http/body.ts';
import { callerOf } from '../../http/caller.ts';

const retrySeconds = 1;

/**
 * Runs a call about many documents when the queue of bulk calls comes to its caller. Of all threads one call runs at a
 * time, since each has its documents in memory.
 *
 * @param run gets a function to call once the body is read, which waits in the queue. So a client that sends its body
 * slowly holds up only itself.
 * @throws DomainError `unavailable` if too many wait; `malformed` if the client has gone before the call began.
 */
export async function inBulkQueue<T>(
  { app, request }: { app: App; request: Request },
  run: (begin: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const ticket = await app.bulkQueue.take(`${app.site ?? ''} ${callerOf(request)}`);
  if (ticket === null) throw tooMany();
  try {
    refuseGone(request);
    return await run(async () => {
      if (!(await app.bulkQueue.begin(ticket))) throw tooMany();
      refuseGone(request);
    });
  } finally {
    // If the service ends, the queue ends with it.
    app.bulkQueue.end(ticket).catch(() => {});
  }
}

/** The refusal of a call whose client has gone; it reaches no one. */
function refuseGone(request: Request): void {
  if (!request.active()) throw endedEarly();
}

function tooMany(): DomainError {
  const message = 'too many calls about many documents wait already: nothing of this one was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}
