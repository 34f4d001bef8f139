import { createHmac } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { DomainError, invalidField } from '../../../config/errors.ts';
import { isObject, memberOf } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import type { FileValues } from '../../../config/uploads.ts';
import { type Attempt, type FirstAnswer, UnknownOutcomeError } from '../../../events/log.ts';
import type { App, Target } from '../../app.ts';
import { actorOf } from '../../http/requests.ts';

const header = 'idempotency-key';
const maxLength = 255;
/** Deeper than any field takes; what goes deeper would be refused anyway. */
const maxDepth = 500;

/** Thrown where the log has found that an attempt was recorded already. */
export class RepeatedError extends Error {
  override name = 'RepeatedError';
  readonly first: FirstAnswer;

  constructor(first: FirstAnswer) {
    super('the attempt was recorded already');
    this.first = first;
  }
}

/** What is sent with a request: `file` is what is said of the bytes beside the body. */
type Sent = { body?: unknown; file?: FileValues | null };

/**
 * Runs a write at most once for each `Idempotency-Key`: whoever sends it again gets the first answer again. Where two come at
 * once the log decides which is first; what the other one stumbles over on its way is then of no matter.
 *
 * @param replay gives the first answer again.
 * @throws DomainError `invalid` for a key that cannot be, `unprocessable` for one that came with something else.
 */
export async function atMostOnce<T>(
  app: App,
  request: Request,
  target: Target,
  sent: Sent,
  replay: (first: FirstAnswer) => Promise<T>,
  run: () => Promise<T>,
): Promise<T> {
  const attempt = attemptOf(app, request, target, sent);
  request.app.attempt = attempt;
  if (!attempt) return run();
  const find = () => app.attempts.find(attempt.key, app.clock.believed());
  const known = find();
  if (known) return replay(same(attempt, known));
  try {
    return await run();
  } catch (error) {
    if (error instanceof UnknownOutcomeError) throw error;
    const first = error instanceof RepeatedError ? error.first : find();
    if (!first) throw error;
    return replay(same(attempt, first));
  }
}

/** True when a request names its attempt, whatever is wrong with the name. */
export function isNamed({ headers }: Request): boolean {
  return headers[header] !== undefined;
}

/** True when something was done under the name that a request has, before it is known whether it is the same. */
export function isRecorded(app: App, request: Request): boolean {
  return isNamed(request) && app.attempts.find(keyOf(app, request), app.clock.believed()) !== null;
}

function same({ fingerprint }: Attempt, first: FirstAnswer): FirstAnswer {
  if (first.fingerprint === fingerprint) return first;
  const message = `${header} was used before, for another request`;
  throw new DomainError('unprocessable', message, [{ field: header, message }]);
}

function attemptOf(app: App, request: Request, target: Target, { body, file }: Sent): Attempt | null {
  const given: unknown = request.headers[header];
  if (given === undefined) return null;
  const name = String(given);
  if (name.length > maxLength || !/^[\x21-\x7e]+$/.test(name)) {
    throw invalid(`must be 1 to ${maxLength} visible ASCII characters, got ${show(name)}`);
  }
  if (actorOf(request).type === 'anonymous')
    throw invalid('needs a credential: callers without one cannot be told apart');
  const isAccount = target.model.kind === 'collection' && target.model.auth !== null;
  if (isAccount && isObject(body) && memberOf(body, 'password') !== undefined) {
    throw invalid('does not go with a password, of which nothing is kept to know it by');
  }
  const { query, headers } = request;
  const about = [headers['if-match'], headers['x-change-reason']].map((value) => value ?? null);
  const sent = [canonical(body ?? null), canonical(query), about, file ? canonical(file) : null];
  return { key: keyOf(app, request), fingerprint: keyed(app, 'fingerprint', sent) };
}

/** By caller and route: what one calls so is nothing to another. */
function keyOf(app: App, request: Request): string {
  const { type, id = null } = actorOf(request);
  const { method, path, headers } = request;
  return keyed(app, 'key', [type, id, method, path, String(headers[header])]);
}

/** A hash that tells nothing without the secret, not even whether a guess is right. */
function keyed({ attemptSecret }: App, kind: string, what: readonly unknown[]): string {
  return createHmac('sha256', attemptSecret)
    .update(JSON.stringify([kind, ...what]))
    .digest('base64url');
}

/** The same text for bodies that differ only in the order of their members. */
function canonical(value: unknown, depth = 0): string {
  if (depth > maxDepth) throw new DomainError('invalid', `the body must not nest more than ${maxDepth} levels`);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1))}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name], depth + 1)}`)}}`;
}

function invalid(problem: string): DomainError {
  return invalidField(header, problem);
}
