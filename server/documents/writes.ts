import { DomainError } from '../../config/errors.ts';
import type { Actor } from '../../events/envelope.ts';
import type { Change, FirstAnswer } from '../../events/log.ts';
import type { RouteCall } from '../app.ts';
import { appendOf } from '../callers/append.ts';
import { requireLiving } from '../callers/sessions.ts';
import { actorOf, contextOf, requestId } from '../http/requests.ts';
import { mostWaiting, tooMany } from '../writer/waiting.ts';

/**
 * The decision of a request on the current state: the change to append, if any, and the answer once it is durable. `also`: changes
 * of other streams, recorded with the decision, or without one.
 */
export type Decided<T> = { decision: Change | null; also?: Change[]; answer: T };

/** Thrown where the log has found that an idempotency key was recorded already. */
export class RepeatedError extends Error {
  override name = 'RepeatedError';
  readonly first: FirstAnswer;

  constructor(first: FirstAnswer) {
    super('the attempt was recorded already');
    this.first = first;
  }
}

/** Of many threads that change one document over and over, one is the first each time: the others try again. */
const maxTries = 100;

/** One write at a time per stream in this thread: rivals wait for each other instead of deciding in vain. */
const lines = new Map<string, { last: Promise<unknown>; length: number }>();

/**
 * Decides and appends until no rival got in between. Every try decides anew on the current state, so the access rules
 * see what is really there, and concurrent changes of different fields all survive.
 *
 * @param actor the cause that events name, where it is not the caller.
 * @throws DomainError `conflict` naming the unique field that is taken; `unavailable` where too many wait.
 */
export function write<T>(
  { app, request }: RouteCall,
  stream: string,
  decide: () => Promise<Decided<T>>,
  actor: Actor = actorOf(request),
): Promise<T> {
  const line = lines.get(stream) ?? { last: Promise.resolve(), length: 0 };
  if (line.length >= mostWaiting.ofOneStream) return Promise.reject(tooMany());
  const result = line.length > 0 ? line.last.then(run, run) : run();
  line.last = result;
  line.length += 1;
  lines.set(stream, line);
  const leave = () => {
    line.length -= 1;
    if (line.length === 0) lines.delete(stream);
  };
  result.then(leave, leave);
  return result;

  async function run(): Promise<T> {
    const append = appendOf(app, request);
    for (let count = 1; count <= maxTries; count += 1) {
      // Another try is another decision: on the user as they are now too.
      request.app.user = null;
      const { decision, also = [], answer } = await decide();
      requireLiving(app, request);
      const [first, ...others] = decision ? [decision, ...also] : also;
      if (!first) return answer;
      const who = { actor, correlationId: requestId(request), context: contextOf(request) };
      const { attempt } = request.app;
      const outcome = await append({ ...first, otherStreams: others, ...(attempt ? { attempt } : {}), ...who });
      if (outcome.ok) return answer;
      if (outcome.conflict === 'attempt') throw new RepeatedError(outcome.first);
      if (outcome.conflict === 'claim') throw taken(outcome.claim.scope);
    }
    throw new DomainError('conflict', 'others keep changing this document; read it and try again');
  }
}

/** The refusal of a change whose unique value another document has. */
export function taken(scope: string): DomainError {
  const field = fieldOf(scope);
  const message = `${field} is taken by another document`;
  return new DomainError('conflict', message, [{ field, message }]);
}

/** The path of the field of a unique value. */
export function fieldOf(scope: string): string {
  return scope.slice(scope.indexOf('.') + 1);
}
