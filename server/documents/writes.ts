import type { Request } from '@hapi/hapi';
import { InvalidBody } from '../../config/documents.ts';
import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import { hasChangeHooks } from '../../config/traits.ts';
import type { FileValues } from '../../config/uploads.ts';
import type { Actor } from '../../events/envelope.ts';
import type { Change } from '../../events/log.ts';
import { checkFieldsWritable, withOwnHints } from '../access/field-access.ts';
import type { App, Target } from '../app.ts';
import { appendOf } from '../callers/overload.ts';
import { requireLiving } from '../callers/sessions.ts';
import { noteRequest } from '../http/pulse.ts';
import { actorOf, contextOf, requestId } from '../http/requests.ts';
import { resolvePath } from '../queries/paths.ts';
import { mostWaiting, tooMany } from '../writer/waiting.ts';
import { RepeatedError } from './concurrency/attempts.ts';
import { beforeChange, type Occasion } from './hooks.ts';
import { checkRelations } from './relations.ts';

/**
 * What a request makes of the current state: what to append, if anything, and how to answer once it is durable. `also`: what is
 * to be recorded with the decision, or without one, in other streams.
 */
export type Decided<T> = { decision: Change | null; also?: Change[]; answer: T };

/** Of many threads that change one document over and over, one is the first each time: the others try again. */
const maxTries = 100;

/** One write at a time per stream in this thread: rivals wait for each other instead of deciding in vain. */
const lines = new Map<string, { last: Promise<unknown>; length: number }>();

/**
 * Decides and appends until no rival got in between. Every try decides anew on the current state, so the access rules
 * see what is really there, and concurrent changes of different fields all survive.
 *
 * @param actor who events name as their cause, where that is not who the request came from.
 * @throws DomainError `conflict` naming the unique field that is taken; `unavailable` where too many wait.
 */
export function write<T>(
  app: App,
  request: Request,
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
      const outcome = await append({ ...first, also: others, ...(attempt ? { attempt } : {}), ...who });
      if (outcome.ok) return answer;
      if (outcome.conflict === 'attempt') throw new RepeatedError(outcome.first);
      if (outcome.conflict === 'claim') throw taken(outcome.claim.scope);
    }
    throw new DomainError('conflict', 'others keep changing this document; read it and try again');
  }
}

/**
 * What a body comes to, in the decided order: field access (403), validation (400), field hooks, the collection's hooks.
 *
 * @param file what is said of the file that came with it: hooks see that, and cannot change it.
 */
export async function checkedValues(
  app: App,
  target: Target,
  occasion: Occasion & { operation: 'create' | 'update' },
  body: unknown,
  file: FileValues | null = null,
): Promise<JsonObject> {
  const { request, operation, doc } = occasion;
  await checkFieldsWritable(request, target, operation, body, doc);
  noteRequest(request);
  let values: JsonObject;
  try {
    values = operation === 'create' ? target.validator.create(body) : target.validator.update(body);
  } catch (error) {
    throw error instanceof InvalidBody ? await withOwnHints(request, target, error) : error;
  }
  checkRelations(app, target.model.fields, values, doc);
  if (hasChangeHooks(target.model))
    values = await beforeChange(target, occasion, file ? { ...file, ...values } : values);
  return file ? { ...file, ...values } : values;
}

/** A unique value that another document is known to have. */
export type Rival = { field: string; id: string };

/**
 * Refuses unique values that others are known to have, before anything is kept for a document that the log would refuse.
 * The log decides all the same.
 *
 * @throws DomainError `conflict` naming the field.
 */
export async function refuseTaken(target: Target, change: Change): Promise<void> {
  const [rival] = await rivalsOf(target, change);
  if (rival) throw taken(`${target.slug}.${rival.field}`);
}

/** Who has the unique values that a change claims, as far as the read tables know. */
export async function rivalsOf({ model, tables, documents }: Target, { claims }: Change): Promise<Rival[]> {
  const reach = { tables, fields: model.fields, related: async () => null };
  const rivals: Rival[] = [];
  for (const { scope, value } of claims) {
    const found = await resolvePath(fieldOf(scope), reach);
    const known: unknown = JSON.parse(value);
    if (typeof found === 'string' || (typeof known !== 'string' && typeof known !== 'number')) continue;
    const { steps, leaf } = found;
    const id = documents.find({ steps, leaf, operator: 'equals', values: [known] });
    if (id !== null) rivals.push({ field: fieldOf(scope), id });
  }
  return rivals;
}

function taken(scope: string): DomainError {
  const field = fieldOf(scope);
  const message = `${field} is taken by another document`;
  return new DomainError('conflict', message, [{ field, message }]);
}

function fieldOf(scope: string): string {
  return scope.slice(scope.indexOf('.') + 1);
}
