import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Model, Operation } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Where } from '../../projections/query/where.ts';
import type { Call, Target } from '../app.ts';
import { actorOf, isTrusted } from '../http/requests.ts';
import { noteAdmission } from './admission.ts';
import { admits, answerInAdvance, answerOf, ruleOf, type Subject, unlessRefused } from './asking.ts';
import { isOutsideScopes, requireScope } from './key-scopes.ts';

/**
 * Lets a request pass or throws: `unauthorized` without a credential, `forbidden` with one. An API key alone is trusted
 * code, and its rules are not asked; one that was made at run time is refused outside of its scopes. A missing rule
 * admits any authenticated caller; one that throws admits no caller; one that returns a condition admits to the
 * documents that meet it.
 */
export async function authorize(call: Call, operation: Operation, subject: Subject): Promise<void> {
  const { request, target } = call;
  requireScope(request, target.model, operation);
  const isAdmitted = isTrusted(request, target.model) || (await allows(call, operation, subject));
  if (!isAdmitted) refuse(call, operation);
  if (operation !== 'read') noteAdmission(request, target, operation);
}

/** Whether the rule lets a caller pass that is not trusted code. */
export async function allows(call: Call, operation: Operation, subject: Subject): Promise<boolean> {
  const rule = ruleOf(call, operation);
  if (!rule) return actorOf(call.request).type !== 'anonymous';
  const answer = await answerOf(rule, subject);
  return typeof answer === 'boolean' ? answer : admits(rule, answer, subject);
}

/** Whether the rule for reading lets the caller see a document; one that throws does not. */
export async function mayRead(call: Call, document: JsonObject): Promise<boolean> {
  const { request, target } = call;
  if (isOutsideScopes(request, target.model, 'read')) return false;
  return (
    isTrusted(request, target.model) || unlessRefused(allows(call, 'read', { doc: () => document, data: null }), false)
  );
}

/** A document as it was at a position of the log. */
type Then = { document: JsonObject; position: number };

/** As {@link authorize} for a document that is deleted, as it was. */
export async function authorizeDeleted(
  call: Call,
  operation: Operation,
  { data, ...then }: Then & { data: unknown },
): Promise<void> {
  requireScope(call.request, call.target.model, operation);
  if (isTrusted(call.request, call.target.model)) return;
  const rule = ruleOf(call, operation);
  const subject = { doc: () => then.document, data };
  if (!rule) return authorize(call, operation, subject);
  if (!(await admitsThen(call, await answerOf(rule, subject), then))) refuse(call, operation);
}

/** Whether the rule for reading lets the caller see a document as it was. */
export function readsPast(call: Call, then: Then): Promise<boolean> {
  return mayThen(call, 'read', then);
}

/** Whether a rule lets the caller do something to a document as it was; one that throws does not. */
export async function mayThen(call: Call, operation: Operation, then: Then): Promise<boolean> {
  if (isOutsideScopes(call.request, call.target.model, operation)) return false;
  if (isTrusted(call.request, call.target.model)) return true;
  const rule = ruleOf(call, operation);
  if (!rule) return actorOf(call.request).type !== 'anonymous';
  const answer = await unlessRefused(answerOf(rule, { doc: () => then.document, data: null }), false);
  return admitsThen(call, answer, then);
}

/** As {@link mayThen} where that is so of all documents, or of none; null where each must be asked about. */
export async function mayWithAll(call: Call, operation: Operation): Promise<boolean | null> {
  if (isOutsideScopes(call.request, call.target.model, operation)) return false;
  if (isTrusted(call.request, call.target.model)) return true;
  const rule = ruleOf(call, operation);
  if (!rule) return actorOf(call.request).type !== 'anonymous';
  const answer = await unlessRefused(answerInAdvance(rule), false);
  return typeof answer === 'boolean' ? answer : null;
}

async function admitsThen({ app, target }: Call, answer: boolean | Where, then: Then): Promise<boolean> {
  if (typeof answer === 'boolean') return answer;
  return app.past.matches(then.position, target.tables, String(then.document.id ?? target.slug), answer);
}

/**
 * As {@link authorize} as far as it goes before there is a body. A rule that looks at the body passes, to be asked when
 * it is there.
 *
 * @param doc the document that is to change; null when one is to be created.
 */
export async function authorizeInAdvance(call: Call, operation: Operation, doc: JsonObject | null): Promise<void> {
  const subject = { doc: () => doc, data: null };
  requireScope(call.request, call.target.model, operation);
  const rule = ruleOf(call, operation);
  if (!rule || isTrusted(call.request, call.target.model)) return authorize(call, operation, subject);
  const answer = await answerInAdvance(rule, doc);
  if (answer !== null && !(await admits(rule, answer, subject))) refuse(call, operation);
}

/**
 * Refuses a caller who may do this to no document at all, before it is known which ones it is about.
 *
 * @throws DomainError `unauthorized` or `forbidden`.
 */
export async function authorizeSome(call: Call, operation: Operation): Promise<void> {
  requireCredential(call, operation);
  requireScope(call.request, call.target.model, operation);
  const rule = ruleOf(call, operation);
  if (!rule || isTrusted(call.request, call.target.model)) return;
  const answer = await answerInAdvance(rule);
  // A condition is about documents: nothing that is yet to be created meets it.
  const isNever = answer === false || (operation === 'create' && answer !== null && answer !== true);
  if (isNever) refuse(call, operation);
}

/** As {@link authorizeSome}, of a caller who may do neither: the refusal is that of the first. */
export async function authorizeEither(call: Call, first: Operation, second: Operation): Promise<void> {
  try {
    await authorizeSome(call, first);
  } catch (refusal) {
    await authorizeSome(call, second).catch(() => {
      throw refusal;
    });
  }
}

/**
 * Refuses a caller without a credential where only a credential could help, before its body is read.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireCredential(
  { request, target }: { request: Request; target: Target },
  operation: Operation,
): void {
  if (!target.model.access[operation] && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

/**
 * Refuses a caller without a credential who asks what is configured, unless the configuration opens that to everybody.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireSchemaAccess({ publicSchema }: Model, request: Request): void {
  if (!publicSchema && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

/** @throws DomainError `unauthorized` without a credential, `forbidden` with one. */
export function refuse({ request, target: { slug } }: Call, operation: Operation): never {
  const { type } = actorOf(request);
  if (type === 'anonymous') throw credentialNeeded();
  throw new DomainError('forbidden', `you may not ${operation} ${slug}${type === 'apiKey' ? keyIsNone : ''}`);
}

/** Everywhere else a key is trusted code, and no rule refuses it. */
const keyIsNone = ': an API key counts here only where auth.useAPIKey is true';

/** The refusal of a caller without a credential. */
export function credentialNeeded(): DomainError {
  return new DomainError('unauthorized', 'an API key or a token is needed');
}
