import type { Request } from '@hapi/hapi';
import { DomainError, type FieldError, inBody } from '../../config/errors.ts';
import type { Field, FieldAccess, KeyAudit, KeyOperation, KeyScope, PublishArgs } from '../../config/model.ts';
import { fieldsInside } from '../../config/nesting.ts';
import type { KeyGrant } from '../../events/facts/api-keys.ts';
import type { App, Call, RouteCall, Target } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { actorOf } from '../http/requests.ts';
import { problemOfErasing } from './erasing.ts';
import { auditRightsOf } from './rights.ts';
import { argsWithoutDocument, type Right, ruleName, ruleOf, verbOf } from './rules.ts';

/** How many problems an error names at most. */
const mostTold = 20;

/**
 * Refuses to give a key rights that its maker does not have. No rule is asked about a key, so each rule must admit the
 * maker to every document, and look at the user alone. The operator and keys of the environment may give every right.
 *
 * @throws DomainError `forbidden` naming the scopes and the rules.
 */
export async function requireGrantable(call: RouteCall, { scopes, audit }: KeyGrant): Promise<void> {
  if (actorOf(call.request).type !== 'user') return;
  const errors: FieldError[] = [];
  const problemOf = problemsOf(call);
  for (const [index, scope] of scopes.entries()) {
    for (const problem of await problemsIn(scope, problemOf))
      errors.push({ ...inBody(`scopes.${index}`, 'forbidden_field'), message: problem });
  }
  for (const [index, part] of audit.entries()) {
    const message = await auditProblem(call, part);
    if (message !== null) errors.push({ ...inBody(`audit.${index}`, 'forbidden_field'), message });
  }
  if (errors.length === 0) return;
  const told = errors.slice(0, mostTold);
  const more = errors.length > told.length ? `; and ${errors.length - told.length} more` : '';
  const message = told.map((one) => `${one.field}: ${one.message}`).join('; ') + more;
  throw new DomainError('forbidden', `a key never has rights that you have not: ${message}`, told);
}

type Kind = 'collections' | 'globals';
type ProblemOf = (kind: Kind, slug: string, operation: KeyOperation) => Promise<string | null>;

async function problemsIn(scope: KeyScope, problemOf: ProblemOf): Promise<string[]> {
  const problems: string[] = [];
  for (const kind of ['collections', 'globals'] as const) {
    const slugs = scope[kind];
    if (slugs === '*')
      problems.push(`"*" holds ${kind} that are added later too, whose rules are not known: name them`);
    else {
      for (const slug of slugs) {
        for (const operation of scope.operations) {
          const problem = await problemOf(kind, slug, operation);
          if (problem !== null) problems.push(problem);
        }
      }
    }
  }
  return problems;
}

/** Asks each rule once, however many scopes name it. */
function problemsOf({ app, request }: RouteCall): ProblemOf {
  const known = new Map<string, Promise<string | null>>();

  return (kind, slug, operation) => {
    const name = `${kind} ${slug} ${operation}`;
    const problem = known.get(name) ?? look(kind, slug, operation);
    known.set(name, problem);
    return problem;
  };

  async function look(kind: Kind, slug: string, operation: KeyOperation): Promise<string | null> {
    const target = targetOf(app, kind, slug);
    if (!target) return `${slug} is not configured, so its rules are not known`;
    for (const right of rightsIn(target, operation)) {
      const problem = await problemWith({ app, request, target }, right);
      if (problem !== null) return problem;
    }
    return null;
  }
}

/** The rights that an operation of a scope gives: what an update, a create or a delete writes is public at once. */
function rightsIn({ model }: Target, operation: KeyOperation): Right[] {
  const { kind, drafts } = model;
  if (operation === 'draft') return drafts ? [...draftRights[kind]] : [];
  // A global has only rules to read and to update.
  if (kind === 'global' && operation !== 'read' && operation !== 'update') return [];
  return drafts && operation !== 'read' ? [operation, 'publish'] : [operation];
}

const draftRights = { collection: ['readDrafts', 'create', 'update'], global: ['readDrafts', 'update'] } as const;

/** The rights whose use shows or changes fields, and the rule of a field that decides about each. */
const rightToFields: { [right in Right]?: keyof FieldAccess } = {
  read: 'read',
  readDrafts: 'read',
  create: 'create',
  update: 'update',
};

function targetOf({ collections, globals }: App, kind: Kind, slug: string): Target | undefined {
  return kind === 'globals' ? globals.get(slug) : collections.get(slug);
}

async function problemWith(call: Call, right: Right): Promise<string | null> {
  const { request, target } = call;
  const rule = ruleOf(call, right);
  const refusal = `you may not ${verbOf(right)} ${target.slug}`;
  const problem = rule && (await problemOfRule(request, rule.decide, { name: ruleName(target, right), refusal }));
  const operation = rightToFields[right];
  if (problem || !operation) return problem;
  return problemOfFields(request, target.model.fields, { operation, before: `${target.slug}.` });
}

async function problemOfFields(
  request: Request,
  fields: readonly Field[],
  { operation, before }: { operation: keyof FieldAccess; before: string },
): Promise<string | null> {
  for (const field of fields) {
    const what = before + field.name;
    const rule = field.access?.[operation];
    const words = { name: `the ${operation} rule of ${what}`, refusal: `you may not ${operation} ${what}` };
    const own = rule && (await problemOfRule(request, rule, words));
    const problem = own || (await problemOfFields(request, fieldsInside(field), { operation, before: `${what}.` }));
    if (problem) return problem;
  }
  return null;
}

async function problemOfRule(
  request: Request,
  rule: (args: PublishArgs) => unknown,
  { name, refusal }: { name: string; refusal: string },
): Promise<string | null> {
  const { hasLooked, answer } = await askOfUser(request, rule);
  if (answer === true && !hasLooked) return null;
  if (hasLooked || (typeof answer === 'object' && answer !== null))
    return `a key has no user, so ${name}, which decides by more than the user, cannot be asked about it`;
  return refusal;
}

/**
 * The answer of a rule (undefined if it throws), and whether the rule looked at anything but the user: that would
 * differ in a call of the key.
 */
async function askOfUser(request: Request, rule: (args: PublishArgs) => unknown) {
  const { args, hasLooked } = argsWithoutDocument(request, false);
  noteRequest(request);
  const answer = await Promise.resolve(args)
    .then(rule)
    .catch(() => undefined);
  return { hasLooked: hasLooked(), answer };
}

async function auditProblem(call: RouteCall, part: KeyAudit): Promise<string | null> {
  if (part === 'erase') return problemOfErasing(call);
  let hasLooked = false;
  const { has, toPayloadsOf } = await auditRightsOf(call.app, call.request, () => {
    hasLooked = true;
  });
  if (hasLooked)
    return 'a key has no user, so the audit rule, which decides by more than the user, cannot be asked about it';
  if (!has(part)) return `you may not look into the history: you do not have the scope ${part}`;
  if (part !== 'payloads' || toPayloadsOf('') === 'all') return null;
  return 'you see what the rules for reading show you, and no rule is asked about a key: an audit rule is needed';
}
