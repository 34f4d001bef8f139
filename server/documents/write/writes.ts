import { DomainError, inBody } from '../../../config/errors.ts';
import { batchStream } from '../../../events/facts/catalogue.ts';
import { freeAmong, partsOfScope } from '../../../events/facts/claims.ts';
import type { Actor } from '../../../events/facts/envelope.ts';
import { type Change, type Claim, type Command, changeOf, type FirstAnswer } from '../../../events/facts/log.ts';
import type { App, RouteCall } from '../../app.ts';
import { appendOf } from '../../callers/append.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { actorOf, contextOf, requestId } from '../../http/requests.ts';
import { mostWaiting, tooMany } from '../../writer/waiting.ts';

/**
 * The decision of a request on the current state: the change to append, if any, and the answer once it is durable.
 * `also`: changes of other streams, recorded with the decision, or without one.
 */
type WriteDecision<T> = { decision: Change | null; also?: Change[]; answer: T };

/** Thrown if the log finds that an idempotency key was recorded already. */
export class RepeatedError extends Error {
  override name = 'RepeatedError';
  readonly first: FirstAnswer;

  constructor(first: FirstAnswer) {
    super('the idempotency key was used already');
    this.first = first;
  }
}

/** Each time, one of the threads that change a document is the first, and the others try again. */
const maxTries = 100;

/** One write at a time per stream in this thread: rivals wait for each other instead of deciding in vain. */
const queues = new Map<string, { last: Promise<unknown>; length: number }>();

/**
 * Decides and appends, again until no rival came in between. Every try decides on the current state, so that the access
 * rules see it, and concurrent changes of different fields all survive.
 *
 * @throws DomainError `conflict` naming the unique fields that are taken; `unavailable` if too many wait.
 */
export function write<T>(call: RouteCall, stream: string, decide: () => Promise<WriteDecision<T>>): Promise<T> {
  return inQueue([stream], () => untilFirst(call, actorOf(call.request), trialOf(call, decide)));
}

/** As {@link write}, with another cause for the events to name than the caller. */
export function writeAs<T>(
  call: RouteCall,
  { stream, actor }: { stream: string; actor: Actor },
  decide: () => Promise<WriteDecision<T>>,
): Promise<T> {
  return inQueue([stream], () => untilFirst(call, actor, trialOf(call, decide)));
}

function trialOf<T>({ app }: RouteCall, decide: () => Promise<WriteDecision<T>>): () => Promise<Try<T>> {
  return async () => {
    const { decision, also = [], answer } = await decide();
    const [first, ...otherStreams] = decision ? [decision, ...also] : also;
    const changes = first ? [first, ...otherStreams] : [];
    const refuse = async (claim: Claim) => {
      const held = changes.flatMap(({ claims }) => claims).filter(keptByOthers(app, changes, claim));
      throw taken(held.length > 0 ? held : [claim]);
    };
    return { command: first ? { ...first, otherStreams } : null, answer, refuse };
  };
}

/**
 * The decision of a bulk call: the changes of all its documents, recorded together or not at all, and the answer.
 * `batch` is in each event. `refuse` throws over a unique value that another document has, unless the call has to
 * decide again.
 */
type BulkWriteDecision<T> = {
  changes: Change[];
  batch: string;
  answer: T;
  refuse: (claim: Claim) => Promise<void>;
};

/** As {@link write}, for several documents at once. @param streams the streams that are known to change. */
export function writeMany<T>(
  call: RouteCall,
  streams: readonly string[],
  decide: () => Promise<BulkWriteDecision<T>>,
): Promise<T> {
  return inQueue(streams, () => {
    return untilFirst(call, actorOf(call.request), async () => {
      const { changes, batch, answer, refuse } = await decide();
      const isNothing = changes.every(({ events }) => events.length === 0);
      // A change of nothing is recorded only for the key under which it may be repeated.
      if (isNothing && !call.request.app.idempotency) return { command: null, answer, refuse };
      const command = { ...changeOf(batchStream(batch), [], 0), otherStreams: changes, batch };
      return { command, answer, refuse };
    });
  });
}

/** Runs when all earlier writes of these streams are done. */
function inQueue<T>(streams: readonly string[], run: () => Promise<T>): Promise<T> {
  const before: Promise<unknown>[] = [];
  for (const stream of streams) {
    const queue = queues.get(stream);
    if (!queue) continue;
    if (queue.length >= mostWaiting.ofOneStream) return Promise.reject(tooMany());
    before.push(queue.last);
  }
  const result = before.length > 0 ? Promise.allSettled(before).then(run) : run();
  for (const stream of streams) {
    queues.set(stream, { last: result, length: (queues.get(stream)?.length ?? 0) + 1 });
  }
  const leave = () => {
    for (const stream of streams) {
      const queue = queues.get(stream);
      if (queue && queue.length > 1) queue.length -= 1;
      else queues.delete(stream);
    }
  };
  result.then(leave, leave);
  return result;
}

/** One try of a write: the command is null if there is nothing to record. */
type Try<T> = {
  command: Omit<Command, 'actor' | 'correlationId' | 'context'> | null;
  answer: T;
  refuse: (claim: Claim) => Promise<void>;
};

async function untilFirst<T>({ app, request }: RouteCall, actor: Actor, decide: () => Promise<Try<T>>): Promise<T> {
  const append = appendOf(app, request);
  for (let count = 1; count <= maxTries; count += 1) {
    // Another try is another decision, also on the user as they are now.
    request.app.user = null;
    const { command, answer, refuse } = await decide();
    requireLiving(app, request);
    if (!command) return answer;
    const who = { actor, correlationId: requestId(request), context: contextOf(request) };
    const { idempotency } = request.app;
    const outcome = await append({ ...command, ...(idempotency ? { idempotency } : {}), ...who });
    if (outcome.ok) return answer;
    if (outcome.conflict === 'idempotency') throw new RepeatedError(outcome.first);
    if (outcome.conflict === 'claim') await refuse(outcome.claim);
  }
  throw new DomainError('write_conflict', 'others keep changing this document; read it and try again');
}

/**
 * Makes the check whether the value of a claim is held by a document that does not give it up in these changes, which
 * are recorded together. @param known a claim that the log found, which this thread may not know yet.
 */
export function keptByOthers(
  { events }: App,
  changes: readonly Change[],
  known: Claim | null,
): (claim: Claim) => boolean {
  const isFree = freeAmong(changes, (scope, value) => events.holderOf(scope, value));
  return ({ scope, value, former }) => {
    if (scope === known?.scope && value === known.value) return true;
    return !isFree(scope, value) || (former !== undefined && !isFree(scope, former));
  };
}

/** The refusal of a change whose unique values other documents have. */
export function taken(claims: readonly Pick<Claim, 'scope'>[]): DomainError {
  const fields = new Set(claims.map(({ scope }) => fieldOf(scope)));
  const errors = [...fields].map((field) => {
    return { ...inBody(field, 'unique'), message: `${field} is taken by another document` };
  });
  return new DomainError('unique', errors.map(({ message }) => message).join('; '), errors);
}

/** The path of the field of a unique value. */
export function fieldOf(scope: string): string {
  return partsOfScope(scope).path;
}
