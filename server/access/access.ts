import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Model } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Call, RouteCall, Target } from '../app.ts';
import { actorOf, isTrusted } from '../http/requests.ts';
import { noteAdmission } from './admission.ts';
import { isOutsideScopes, requireScope } from './key-scopes.ts';
import { RuleFaultError } from './rule-faults.ts';
import {
  answerInAdvance,
  answerOf,
  decidingRight,
  InAdvance,
  type Right,
  type RuleSubject,
  ruleOf,
  type Verdict,
  verbOf,
} from './rules.ts';

/**
 * Answers an operation by the scopes of an API key, trust and the rule, asked in this order. Each verb below asks this
 * one question.
 *
 * @param subject what the rule is asked about; null before anything is known, which may give `askEach`.
 * @throws DomainError `forbidden` if the rule throws.
 */
export function verdictOf(call: Call, operation: Right, subject: RuleSubject | null): Verdict | Promise<Verdict> {
  const { request, target } = call;
  if (isOutsideScopes(request, target.model, operation, subject?.isDraft)) return 'refused';
  if (isTrusted(request, target.model)) return 'allowed';
  const rule = ruleOf(call, operation);
  if (!rule) return actorOf(request).type === 'anonymous' ? 'refused' : 'allowed';
  if (subject && !(subject instanceof InAdvance)) return answerOf(rule, subject);
  return answerInAdvance(rule, subject ?? new InAdvance(operation, null));
}

/**
 * Lets a request pass or throws: `unauthorized` without a credential, `forbidden` with one. Trusted code passes, as do
 * all authenticated callers if no rule is set. A rule that throws admits no caller; one that returns a condition admits
 * to the documents that meet it.
 */
export async function authorize(call: Call, operation: Right, subject: RuleSubject): Promise<void> {
  const verdict = verdictOf(call, operation, subject);
  if (verdict !== 'allowed' && !(await admits(call, verdict, subject))) refuse(call, operation, subject.isDraft);
  if (operation !== 'read' && operation !== 'readDrafts') noteAdmission(call.request, call.target, operation);
}

/** Whether the caller may do something to a subject. A rule that throws says no. */
export async function may(call: Call, operation: Right, subject: RuleSubject): Promise<boolean> {
  const verdict = verdictOf(call, operation, subject);
  return verdict === 'allowed' || admits(call, unlessRefused(verdict, 'refused'), subject);
}

/** Whether the caller may read a document as it is today, or as it was at a position of the log. */
export function mayRead(call: Call, document: JsonObject, position?: number): Promise<boolean> {
  return may(call, 'read', { doc: () => document, data: null, ...(position !== undefined && { position }) });
}

/**
 * As {@link authorize}, before there is a body: a rule that looks at the body passes, to be asked again with it.
 *
 * @param doc the document that is to change; null if one is to be created.
 */
export async function authorizeInAdvance(call: Call, operation: Right, doc: JsonObject | null): Promise<void> {
  const verdict = await verdictOf(call, operation, new InAdvance(operation, doc));
  if (verdict !== 'askEach' && !(await admits(call, verdict, { doc: () => doc, data: null }))) refuse(call, operation);
}

/**
 * Refuses a caller who may do this to no document at all, before it is known which documents the request is about.
 *
 * @throws DomainError `unauthorized` or `forbidden`.
 */
export async function authorizeAny(call: Call, operation: Right): Promise<void> {
  requireCredential(call, operation);
  if ((await verdictOf(call, operation, null)) === 'refused') refuse(call, operation);
}

/** Refuses a caller who may do neither operation to any document, as {@link authorizeAny} refuses the first. */
export async function authorizeEither(call: Call, first: Right, second: Right): Promise<void> {
  try {
    await authorizeAny(call, first);
  } catch (refusal) {
    await authorizeAny(call, second).catch(() => {
      throw refusal;
    });
  }
}

/** Whether a verdict admits to a subject: nothing but `allowed`, and a condition that the document meets. */
async function admits(
  { app, target }: Call,
  asked: Verdict | Promise<Verdict>,
  subject: RuleSubject,
): Promise<boolean> {
  const verdict = await asked;
  if (typeof verdict !== 'object') return verdict === 'allowed';
  const id = String(subject.doc()?.id ?? target.slug);
  const { position, isDraft = false } = subject;
  const drafts = isDraft ? target.draftDocuments : null;
  if (position === undefined) return (drafts?.exists(id) ? drafts : target.documents).matches(id, verdict);
  const tables = drafts?.asOf(id, position) ? target.tables.drafts : null;
  return app.past.matches(position, tables ?? target.tables, { id, where: verdict });
}

/** Gives `otherwise` if a rule threw: the request goes on. */
export async function unlessRefused<T>(asked: T | Promise<T>, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DomainError) return otherwise;
    throw error;
  }
}

/**
 * Gives `otherwise` if a rule gave no answer, and logs the rule once: in an answer about several collections, one wrong
 * rule must not hide the others.
 */
export async function unlessFaulty<T>({ app }: RouteCall, asked: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof RuleFaultError)) throw error;
    app.tellRuleFault(error.rule, error);
    return otherwise;
  }
}

/**
 * Refuses a caller without a credential if no rule is set that could admit it, before its body is read.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireCredential({ request, target }: { request: Request; target: Target }, operation: Right): void {
  if (!target.model.access[decidingRight(target.model, operation)] && actorOf(request).type === 'anonymous')
    throw credentialNeeded();
}

/**
 * Refuses a caller without a credential who asks for the schema, unless `publicSchema` is set.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireSchemaAccess({ publicSchema }: Model, request: Request): void {
  if (!publicSchema && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

/**
 * Refuses a caller: an API key for its scopes, if they are the reason.
 *
 * @param isDraft whether the right is about a draft.
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export function refuse({ request, target: { model, slug } }: Call, operation: Right, isDraft = false): never {
  requireScope(request, model, operation, isDraft);
  const { type } = actorOf(request);
  if (type === 'anonymous') throw credentialNeeded();
  throw new DomainError('forbidden', `you may not ${verbOf(operation)} ${slug}${type === 'apiKey' ? keyIsNone : ''}`);
}

/** Only accounts refuse a key by a rule: everywhere else it is trusted code. */
const keyIsNone = ': an API key counts here only where auth.useAPIKey is true';

/** The refusal of a caller without a credential. */
export function credentialNeeded(): DomainError {
  return new DomainError('unauthorized', 'an API key or a token is needed');
}
