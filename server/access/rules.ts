import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Access, AccessRule, PublishArgs, RequestView, User } from '../../config/model.ts';
import { withHiddenPassword } from '../../config/passwords.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Where } from '../../projections/query/where.ts';
import { messageOf } from '../../storage/errors.ts';
import type { Call, Target } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { requestId, userOf, viewOf } from '../http/requests.ts';
import { RuleFaultError } from './rule-faults.ts';

/** A right that a rule of a collection or global decides about: an operation, or a right to drafts. */
export type Right = keyof Access;

/** The states of a document that a rule about publishing is asked about, beside its draft. */
type Publishing = Pick<PublishArgs, 'published' | 'editors'>;

/**
 * The document and the values that a rule is asked about. `doc` parses the document, if the rule looks at it: a read by
 * id needs it for nothing else. `position`: the document is as it was there. `isDraft`: the document is a draft.
 * `publishing` is needed to ask about publishing.
 */
export type RuleSubject = {
  doc: () => JsonObject | null;
  data: unknown;
  position?: number;
  isDraft?: boolean;
  publishing?: () => Publishing;
};

/** The rule that decides about a right of a call. */
export type Rule = { call: Call; operation: Right; decide: (args: PublishArgs) => ReturnType<AccessRule> };

/** The answer of the rules about an operation. */
export type Verdict =
  | 'allowed'
  | 'refused'
  /** A rule that was asked in advance looked at a document or a body: it has to be asked about each. */
  | 'askEach'
  /** The documents that meet this condition are allowed. A create never meets one: its verdict is `refused`. */
  | Where;

/** The right whose rule decides about a right: the rules of drafts default to the rule `update`. */
export function decidingRight({ access }: Target['model'], right: Right): Right {
  return (right === 'readDrafts' || right === 'publish') && !access[right] ? 'update' : right;
}

/**
 * The rule of a right; null if none is set. The default rule of an auth collection lets its users read and update
 * themselves, and those of the admin collection do everything.
 */
export function ruleOf(call: Call, operation: Right): Rule | null {
  const { app, target } = call;
  const { slug, model } = target;
  const decide = model.access[decidingRight(model, operation)];
  if (decide) return { call, operation, decide };
  if (model.kind === 'global' || !model.auth) return null;
  const { adminCollection } = app.model;
  const isOwn = operation === 'read' || operation === 'update';
  const ownOrAdmin: AccessRule = ({ user }) => {
    if (user?.collection === adminCollection) return true;
    return isOwn && user?.collection === slug ? { id: { equals: user.id } } : false;
  };
  return { call, operation, decide: ownOrAdmin };
}

/**
 * Asks a rule about a subject.
 *
 * @throws DomainError `forbidden` if the rule throws, RuleFaultError if it gives no answer.
 */
export async function answerOf(rule: Rule, subject: RuleSubject): Promise<Verdict> {
  const { request, target } = rule.call;
  let result: unknown;
  try {
    result = await rule.decide(argsOf(request, { ...subject, data: withHiddenPassword(target, subject.data) }));
  } catch (error) {
    throw ruleThrew(rule, error);
  }
  return readAnswer(rule, result);
}

/**
 * Asks a rule before there is a body, and perhaps a document. The answer, or the error, of a rule that looked for what
 * is not there does not count: the verdict is `askEach`.
 *
 * @throws DomainError `forbidden` if the rule throws, RuleFaultError if it gives no answer.
 */
export async function answerInAdvance(rule: Rule, subject: InAdvance): Promise<Verdict> {
  const answer = await askInAdvance(rule, subject);
  if (!answer) return 'askEach';
  if (answer.hasThrown) throw ruleThrew(rule, answer.error);
  return readAnswer(rule, answer.result);
}

/**
 * Whether the rule of a right may admit the user to some document: also if it answers with a condition, or looks at a
 * document or a body, which are not there yet. Neither scopes nor trust are asked about.
 *
 * @throws what the rule throws.
 */
export async function mayInAdvance(call: Call, operation: Right): Promise<boolean> {
  const rule = ruleOf(call, operation);
  if (!rule) return true;
  const answer = await askInAdvance(rule, new InAdvance(operation, null));
  if (!answer) return true;
  if (answer.hasThrown) throw answer.error;
  return (await readAnswer(rule, answer.result)) !== 'refused';
}

type RuleResult = { hasThrown: false; result: unknown } | { hasThrown: true; error: unknown };

/** Asks a rule; null if it looked for what is not there. */
async function askInAdvance({ call, decide }: Rule, subject: InAdvance): Promise<RuleResult | null> {
  let answer: RuleResult;
  try {
    answer = { hasThrown: false, result: await decide(argsOf(call.request, subject)) };
  } catch (error) {
    answer = { hasThrown: true, error };
  }
  return subject.hasLooked ? null : answer;
}

/**
 * The subject of a rule that is asked before there is a body; without `doc` also before there is a document. It notes
 * whether the rule looks at what is not there yet.
 */
export class InAdvance implements RuleSubject {
  hasLooked = false;
  readonly #operation: Right;
  readonly #doc: JsonObject | null;

  constructor(operation: Right, doc: JsonObject | null) {
    this.#operation = operation;
    this.#doc = doc;
  }

  /** A create never has a document. */
  doc(): JsonObject | null {
    if (this.#doc === null && this.#operation !== 'create') this.hasLooked = true;
    return this.#doc;
  }

  /** Only a create, an update and a publish have a body. */
  get data(): null {
    if (['create', 'update', 'publish'].includes(this.#operation)) this.hasLooked = true;
    return null;
  }

  publishing(): Publishing {
    this.hasLooked = true;
    return { published: null, editors: [] };
  }
}

/**
 * The arguments of a rule that is asked without a document and values, and whether the rule has looked at them.
 *
 * @param isRequestKnown false if the request counts as something to look at too: that of a later call will be another.
 */
export function argsWithoutDocument(
  request: Request,
  isRequestKnown: boolean,
): { args: PublishArgs; hasLooked: () => boolean } {
  let hasLooked = false;
  const look = () => {
    hasLooked = true;
    return null;
  };
  const args: PublishArgs = {
    user: userOf(request),
    locale: null,
    get doc() {
      return look();
    },
    get data() {
      return look();
    },
    get published() {
      return look();
    },
    get editors() {
      look();
      return [];
    },
    get req() {
      if (!isRequestKnown) look();
      return viewOf(request);
    },
  };
  return { args, hasLooked: () => hasLooked };
}

function argsOf(request: Request, subject: RuleSubject): PublishArgs {
  noteRequest(request);
  return new Args(request, subject);
}

/**
 * The arguments of a rule. The getters are on a prototype: in an object literal they cost 20 µs per request, measured.
 */
class Args implements PublishArgs {
  readonly #request: Request;
  readonly #subject: RuleSubject;

  constructor(request: Request, subject: RuleSubject) {
    this.#request = request;
    this.#subject = subject;
  }

  get user(): User | null {
    return userOf(this.#request);
  }

  get doc(): JsonObject | null {
    return this.#subject.doc();
  }

  get data(): JsonObject | null {
    return this.#subject.data as JsonObject | null;
  }

  get req(): RequestView {
    return viewOf(this.#request);
  }

  get published(): JsonObject | null {
    return this.#publishing().published;
  }

  get editors(): readonly string[] {
    return this.#publishing().editors;
  }

  get locale(): null {
    return null;
  }

  /** An empty list of editors would admit every caller to a rule of four eyes. */
  #publishing(): Publishing {
    const publishing = this.#subject.publishing?.();
    if (!publishing) throw new Error('only a rule about publishing knows the public document and the editors');
    return publishing;
  }
}

function readAnswer(rule: Rule, result: unknown): Verdict | Promise<Verdict> {
  if (typeof result === 'boolean') return result ? 'allowed' : 'refused';
  // A member that a rule reads from a document may have no value: that is no permission.
  if (result === undefined || result === null) return 'refused';
  return readConditionOf(rule, result);
}

async function readConditionOf({ call, operation }: Rule, result: NonNullable<unknown>): Promise<Verdict> {
  const rule = ruleName(call.target, operation);
  if (typeof result !== 'object') throw new RuleFaultError(rule, `${typeof result}: true, false or a where is wanted`);
  try {
    const condition = await call.app.readCondition(call.target, result);
    // A condition is about documents: nothing that is yet to be created meets it.
    return operation === 'create' ? 'refused' : condition;
  } catch (cause) {
    throw new RuleFaultError(rule, `a where that is wrong: ${messageOf(cause)}`, { cause });
  }
}

function ruleThrew({ call: { app, request, target }, operation }: Rule, err: unknown): DomainError {
  app.log.error({ err, requestId: requestId(request) }, `${ruleName(target, operation)} threw`);
  return new DomainError('forbidden', `you may not ${verbOf(operation)} ${target.slug}`);
}

/** A right as a verb: "you may not … posts". */
export function verbOf(right: Right): string {
  return right === 'readDrafts' ? 'read drafts of' : right;
}

/** The name of the rule that decides about a right, in messages. */
export function ruleName({ model, slug }: Target, right: Right): string {
  return `the ${decidingRight(model, right)} rule of ${slug}`;
}
