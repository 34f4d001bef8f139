import type { Request } from '@hapi/hapi';
import { ruleNameOf } from '../../config/rules.ts';
import type { Target } from '../app.ts';
import { actorOf, isTrusted, madeKeyOf } from '../http/requests.ts';
import { decidingRight, type Right } from './rules.ts';

/** The text that an event has in place of a rule if no rule was asked; docs/events.md lists the meanings. */
export type NoRule = 'apiKey' | 'operator' | 'invitation' | 'setup';

/** The text behind the name of a rule that is not set: the default of the service decided. */
const byDefault = ' (default)';

/** Notes the rule that admits the writes of a request: their events name it. */
export function noteAdmission(request: Request, { model, tables }: Target, right: Right): void {
  const decides = decidingRight(model, right);
  const name = ruleNameOf(tables.name, decides);
  request.app.rule = isTrusted(request, model) ? trustedAs(request) : named(name, model.access[decides]);
}

/** Notes that the `erase` rule admits an erasure. */
export function noteErasure(request: Request, rule: unknown): void {
  const { type } = actorOf(request);
  const isTrustedCaller = type === 'system' || madeKeyOf(request) !== null || (type === 'apiKey' && !rule);
  request.app.rule = isTrustedCaller ? trustedAs(request) : named('erase', rule);
}

/** Notes that the `audit` rule admits an export. It is also asked about API keys of the environment. */
export function noteAudit(request: Request, rule: unknown): void {
  const isAsked = actorOf(request).type !== 'system' && madeKeyOf(request) === null;
  request.app.rule = isAsked ? named('audit', rule) : trustedAs(request);
}

/** Notes that the `keys` rule admits a change of API keys. */
export function noteKeyRule(request: Request, rule: unknown): void {
  const { type } = actorOf(request);
  const isTrustedCaller = type === 'system' || (type === 'apiKey' && !rule);
  request.app.rule = isTrustedCaller ? trustedAs(request) : named('keys', rule);
}

/** Notes that the `releases` rule admits a change of releases. */
export function noteReleaseRule(request: Request, rule: unknown): void {
  const { type } = actorOf(request);
  const isTrustedCaller = type === 'system' || (type === 'apiKey' && !rule);
  request.app.rule = isTrustedCaller ? trustedAs(request) : named('releases', rule);
}

function named(name: string, rule: unknown): string {
  return rule ? name : name + byDefault;
}

function trustedAs(request: Request): NoRule {
  return actorOf(request).type === 'apiKey' ? 'apiKey' : 'operator';
}
