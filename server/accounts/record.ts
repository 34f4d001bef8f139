import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Append, Change, Command } from '../../events/facts/log.ts';
import type { RouteCall } from '../app.ts';
import { appendOf } from '../callers/append.ts';
import { actorOf, contextOf, requestId } from '../http/requests.ts';

/** Appends an event of an account; resolves when every thread can read it. */
export async function record({ app, request }: RouteCall, change: Change): Promise<void> {
  await append(appendOf(app, request), commandOf(request, change));
}

/** As {@link record}; false if another event came first. */
export async function tryToRecord({ app, request }: RouteCall, change: Change): Promise<boolean> {
  return (await appendOf(app, request)(commandOf(request, change))).ok;
}

/**
 * Appends in the background, because the time of the answer must not reveal whether there is an event. A service that
 * stops waits for the append; only a process that is killed loses the event.
 */
export function recordLater({ app, request }: RouteCall, change: Change, { mayRecord, afterwards }: Around = {}): void {
  const command = commandOf(request, change);
  app.inBackground(async () => {
    if (mayRecord && !(await mayRecord())) return;
    // The caller does not retry; the work of such a call bounds how many there are.
    await append(app.appendAnyway, command);
    await afterwards?.();
  }, `an event of ${change.stream} could not be recorded`);
}

/** Functions that run before and after an append: `mayRecord` decides whether it takes place. */
type Around = { mayRecord?: () => Promise<boolean>; afterwards?: () => Promise<void> };

function commandOf(request: Request, change: Change): Command {
  return { ...change, actor: actorOf(request), correlationId: requestId(request), context: contextOf(request) };
}

async function append(append: Append, command: Command): Promise<void> {
  const outcome = await append(command);
  if (!outcome.ok) throw new DomainError('write_conflict', 'others keep changing this account; try again');
}
