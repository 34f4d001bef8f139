import type { Request } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { App } from '../../app.ts';
import { endedEarly } from '../../http/body.ts';
import { callerOf } from '../../http/caller.ts';

const retrySeconds = 1;

/**
 * Runs a call about many documents at the turn of its caller, one after the other in all threads: each has its
 * documents in memory.
 *
 * @param run gets a function to call once the body is read: it waits for the calls of others. So a client that sends
 * its body slowly holds up only itself.
 * @throws DomainError `unavailable` if too many wait; `malformed` if the client has gone before the call began.
 */
export async function inBulkTurn<T>(
  { app, request }: { app: App; request: Request },
  run: (begin: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const turn = await app.bulkQueue.take(`${app.site ?? ''} ${callerOf(request)}`);
  if (turn === null) throw tooMany();
  try {
    refuseGone(request);
    return await run(async () => {
      if (!(await app.bulkQueue.begin(turn))) throw tooMany();
      refuseGone(request);
    });
  } finally {
    // Where the service ends, its turns end with it.
    app.bulkQueue.end(turn).catch(() => {});
  }
}

/** There is no one to answer. */
function refuseGone(request: Request): void {
  if (!request.active()) throw endedEarly();
}

function tooMany(): DomainError {
  const message = 'too many calls about many documents wait already: nothing of this one was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}
