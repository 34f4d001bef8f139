import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Append, Change, Command } from '../../events/log.ts';
import type { RouteCall } from '../app.ts';
import { appendOf } from '../callers/append.ts';
import { actorOf, contextOf, requestId } from '../http/requests.ts';

/** Appends what happened to an account; resolves when every thread can read it. */
export async function record({ app, request }: RouteCall, change: Change): Promise<void> {
  await append(appendOf(app, request), commandOf(request, change));
}

/**
 * Appends what the caller is not to wait for, since whether there is anything to append must not show in the time of the
 * answer. A service that ends waits for it; only a process that is killed loses it.
 */
export function recordLater({ app, request }: RouteCall, change: Change, { mayRecord, afterwards }: Around = {}): void {
  const command = commandOf(request, change);
  app.inBackground(async () => {
    if (mayRecord && !(await mayRecord())) return;
    // Nobody would send it again, and how many there are is bounded by what they cost.
    await append(app.appendAnyway, command);
    await afterwards?.();
  }, `an event of ${change.stream} could not be recorded`);
}

/** What is asked before, and done after. */
type Around = { mayRecord?: () => Promise<boolean>; afterwards?: () => Promise<void> };

function commandOf(request: Request, change: Change): Command {
  return { ...change, actor: actorOf(request), correlationId: requestId(request), context: contextOf(request) };
}

async function append(append: Append, command: Command): Promise<void> {
  const outcome = await append(command);
  if (!outcome.ok) throw new DomainError('conflict', 'others keep changing this account; try again');
}
