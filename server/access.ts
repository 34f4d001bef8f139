import type { Request } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';
import type { Access, Operation } from '../config/model.ts';
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
  const { type } = actorOf(request);
  if (type === 'apiKey') return;
  if (await allows(app, request, target, operation, subject)) return;
  if (type === 'anonymous') throw credentialNeeded();
  throw new DomainError('forbidden', `you may not ${operation} ${target.slug}`);
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

async function allows(
  app: App,
  request: Request,
  { slug, access }: Guarded,
  operation: Operation,
  subject: Subject,
): Promise<boolean> {
  const rule = access[operation];
  if (!rule) return actorOf(request).type !== 'anonymous';
  let result: unknown;
  try {
    result = await rule({
      user: null,
      data: subject.data as JsonObject | null,
      get doc() {
        return subject.doc();
      },
      get req() {
        return viewOf(request);
      },
    });
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, `the ${operation} rule of ${slug} threw`);
    throw new DomainError('forbidden', `you may not ${operation} ${slug}`);
  }
  if (typeof result === 'boolean') return result;
  // What a rule reads from a document may have no value: that is no permission.
  if (result === undefined || result === null) return false;
  throw new Error(`the ${operation} rule of ${slug} returned ${typeof result}: only true and false are available yet`);
}
