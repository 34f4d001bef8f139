import type { Request } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';
import type { Access, AccessArgs, Operation, RequestView } from '../config/model.ts';
import type { JsonObject } from '../config/schema.ts';
import type { App } from './app.ts';
import { actorOf, requestId, viewOf } from './requests.ts';

type Guarded = { slug: string; access: Access };
/** What a rule may look at. `doc` is only made when the rule asks for it: a read by id is parsed for nothing else. */
type Subject = { doc: () => JsonObject | null; data: unknown };

/**
 * Lets a request pass or throws: `unauthorized` without a credential, `forbidden` with one. An API key alone is trusted
 * code, and its rules are not asked. A missing rule admits any authenticated caller; one that throws admits nobody.
 */
export async function authorize(
  app: App,
  request: Request,
  target: Guarded,
  operation: Operation,
  subject: Subject,
): Promise<void> {
  if (actorOf(request).type === 'apiKey') return;
  if (!(await allows(app, request, target, operation, subject))) refuse(request, target, operation);
}

function refuse(request: Request, { slug }: Guarded, operation: Operation): never {
  if (actorOf(request).type === 'anonymous') throw credentialNeeded();
  throw new DomainError('forbidden', `you may not ${operation} ${slug}`);
}

/**
 * Refuses a caller without a credential where only a credential could help, before its body is read.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireCredential(request: Request, { access }: Guarded, operation: Operation): void {
  if (!access[operation] && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

function credentialNeeded(): DomainError {
  return new DomainError('unauthorized', 'an API key or a token is needed');
}

/**
 * Decides on a list. A rule that does not look at the document answers for the whole list; one that does is asked for
 * every document, so that `total` and the pages are right for this caller.
 *
 * @returns null when every document may be seen, else a filter for each.
 */
export async function authorizeList(
  app: App,
  request: Request,
  target: Guarded,
): Promise<((doc: JsonObject) => Promise<boolean>) | null> {
  const rule = target.access.read;
  if (!rule || actorOf(request).type === 'apiKey') {
    await authorize(app, request, target, 'read', { doc: () => null, data: null });
    return null;
  }
  let hasLooked = false;
  const doc = () => {
    hasLooked = true;
    return null;
  };
  let isAllowed = false;
  try {
    isAllowed = answer(await rule(argsOf(request, { doc, data: null })), target, 'read');
  } catch {
    // A rule may well fail over a document that is not there.
    if (!hasLooked) await authorize(app, request, target, 'read', { doc, data: null });
  }
  if (hasLooked) return (document) => allowsRow(app, request, target, document);
  if (!isAllowed) refuse(request, target, 'read');
  return null;
}

/** One document that a rule fails over is one that is not shown, not the end of the list. */
async function allowsRow(app: App, request: Request, target: Guarded, document: JsonObject): Promise<boolean> {
  try {
    return await allows(app, request, target, 'read', { doc: () => document, data: null });
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
}

async function allows(
  app: App,
  request: Request,
  target: Guarded,
  operation: Operation,
  subject: Subject,
): Promise<boolean> {
  const rule = target.access[operation];
  if (!rule) return actorOf(request).type !== 'anonymous';
  let result: unknown;
  try {
    result = await rule(argsOf(request, subject));
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, `the ${operation} rule of ${target.slug} threw`);
    throw new DomainError('forbidden', `you may not ${operation} ${target.slug}`);
  }
  return answer(result, target, operation);
}

function argsOf(request: Request, subject: Subject): AccessArgs {
  return new Asked(request, subject);
}

/** Its getters stand on a prototype: in an object literal they cost 20 µs per request, which was measured. */
class Asked implements AccessArgs {
  readonly user = null;
  readonly data: JsonObject | null;
  readonly #request: Request;
  readonly #subject: Subject;

  constructor(request: Request, subject: Subject) {
    this.data = subject.data as JsonObject | null;
    this.#request = request;
    this.#subject = subject;
  }

  get doc(): JsonObject | null {
    return this.#subject.doc();
  }

  get req(): RequestView {
    return viewOf(this.#request);
  }
}

function answer(result: unknown, { slug }: Guarded, operation: Operation): boolean {
  if (typeof result === 'boolean') return result;
  // What a rule reads from a document may have no value: that is no permission.
  if (result === undefined || result === null) return false;
  throw new Error(`the ${operation} rule of ${slug} returned ${typeof result}: only true and false are available yet`);
}
