import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AccessArgs, AccessRule, Model, Operation, RequestView, User } from '../../config/model.ts';
import { withHiddenPassword } from '../../config/passwords.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Today, Where } from '../../projections/where.ts';
import { messageOf } from '../../storage/errors.ts';
import type { App, Target } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { actorOf, isTrusted, momentOf, requestId, userOf, viewOf } from '../http/requests.ts';
import type { Reach } from '../queries/paths.ts';
import { readWhereObject } from '../queries/where.ts';
import { noteAdmission } from './admission.ts';
import { filterableFields } from './field-access.ts';

/**
 * What a rule may look at. `doc` is only made when the rule asks for it: a read by id is parsed for nothing else. `isPast`: it
 * is as of the moment that the request looks back to.
 */
type Subject = { doc: () => JsonObject | null; data: unknown; isPast?: boolean };

/** Which documents a caller may see: those that meet `where` and pass `row`; null means no condition. */
export type Visible = { where: Where | null; row: ((doc: JsonObject) => Promise<boolean>) | null };

const everything: Visible = { where: null, row: null };

/**
 * Lets a request pass or throws: `unauthorized` without a credential, `forbidden` with one. An API key alone is trusted
 * code, and its rules are not asked. A missing rule admits any authenticated caller; one that throws admits nobody; one
 * that returns a condition admits to the documents that meet it.
 */
export async function authorize(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  subject: Subject,
): Promise<void> {
  const isAdmitted = isTrusted(request, target.model) || (await allows(app, request, target, operation, subject));
  if (!isAdmitted) refuse(request, target, operation);
  if (operation !== 'read') noteAdmission(request, target, operation);
}

/** What a document was, when the log had come to a position. */
type Then = { document: JsonObject; position: number };

/** As {@link authorize} for a document that is gone, as it was. */
export async function authorizeGone(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  { document, position, data }: Then & { data: unknown },
): Promise<void> {
  if (isTrusted(request, target.model)) return;
  const rule = ruleOf(app, target, operation);
  const subject = { doc: () => document, data };
  if (!rule) return authorize(app, request, target, operation, subject);
  const answer = await answerOf(app, request, target, operation, subject, rule);
  if (!(await admitsThen(app, target, answer, { document, position }))) refuse(request, target, operation);
}

/** Whether the rule for reading lets the caller see what a document was. */
export async function readsPast(app: App, request: Request, target: Target, then: Then): Promise<boolean> {
  if (isTrusted(request, target.model)) return true;
  const rule = ruleOf(app, target, 'read');
  if (!rule) return actorOf(request).type !== 'anonymous';
  const subject = { doc: () => then.document, data: null };
  const answer = await unlessRefused(answerOf(app, request, target, 'read', subject, rule), false);
  return admitsThen(app, target, answer, then);
}

async function admitsThen(
  app: App,
  { tables, slug }: Target,
  answer: boolean | Where,
  { document, position }: Then,
): Promise<boolean> {
  return typeof answer === 'boolean' ? answer : app.past.matches(position, tables, String(document.id ?? slug), answer);
}

/**
 * As {@link authorize} as far as it goes before there is a body. A rule that looks at the body passes, to be asked when it is
 * there.
 *
 * @param doc the document that is to change; null when one is to be created.
 */
export async function authorizeInAdvance(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  doc: JsonObject | null,
): Promise<void> {
  const rule = ruleOf(app, target, operation);
  if (!rule || isTrusted(request, target.model))
    return authorize(app, request, target, operation, { doc: () => doc, data: null });
  const answer = await answerInAdvance(app, request, target, operation, rule, doc);
  if (answer !== null && !(await admits(app, request, target, operation, doc, answer)))
    refuse(request, target, operation);
}

/**
 * Refuses a caller without a credential where only a credential could help, before its body is read.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireCredential(request: Request, { model }: Target, operation: Operation): void {
  if (!model.access[operation] && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

/**
 * Refuses a caller without a credential who asks what is configured, unless the configuration opens that to everybody.
 *
 * @throws DomainError `unauthorized`.
 */
export function requireSchemaAccess({ publicSchema }: Model, request: Request): void {
  if (!publicSchema && actorOf(request).type === 'anonymous') throw credentialNeeded();
}

/**
 * Decides on a list: which documents of it the caller may see.
 *
 * @throws DomainError as {@link authorize} does when it may see none whatever they are.
 */
export async function authorizeList(app: App, request: Request, target: Target): Promise<Visible> {
  return (await visibleIn(app, request, target)) ?? refuse(request, target, 'read');
}

/**
 * What the caller may see of a target; null when nothing. A rule that does not look at the document answers for all of
 * them; one that does is asked for every document, so that `total` and the pages are right for this caller.
 */
async function visibleIn(app: App, request: Request, target: Target): Promise<Visible | null> {
  const visible = await visibleToday(app, request, target);
  return visible && momentOf(request) ? visibleThen(app, request, target, visible) : visible;
}

/**
 * What the caller may see as of then: what meets the rules as it was, and as it is where it lives. Who looks back by reading
 * alone sees only what lives.
 */
function visibleThen(app: App, request: Request, target: Target, { where, row }: Visible): Visible | null {
  const sight = momentOf(request)?.sightOf(target);
  if (!sight) return null;
  const orGone = sight === 'every';
  const today: Today = { today: where, tables: target.tables, orGone };
  const isAsked = where !== null || !orGone;
  return {
    where: isAsked ? { and: [...(where ? [where] : []), today] } : null,
    row: row && ((document) => allowsRowThen(app, request, target, document, orGone)),
  };
}

async function allowsRowThen(
  app: App,
  request: Request,
  target: Target,
  document: JsonObject,
  orGone: boolean,
): Promise<boolean> {
  const text = target.documents.text(String(document.id));
  if (text === null ? !orGone : !(await allowsRow(app, request, target, JSON.parse(text)))) return false;
  return allowsRow(app, request, target, document, true);
}

async function visibleToday(app: App, request: Request, target: Target): Promise<Visible | null> {
  if (isTrusted(request, target.model)) return everything;
  const rule = ruleOf(app, target, 'read');
  if (!rule) return actorOf(request).type === 'anonymous' ? null : everything;

  const answer = await answerInAdvance(app, request, target, 'read', rule);
  if (answer === null) return { where: null, row: (document) => allowsRow(app, request, target, document) };
  if (typeof answer === 'boolean') return answer ? everything : null;
  return { where: answer, row: null };
}

/** As {@link visibleIn}, where another target is what was asked for: a rule that throws shows nothing of this one. */
export function visibleElsewhere(app: App, request: Request, target: Target): Promise<Visible | null> {
  return unlessRefused(visibleIn(app, request, target), null);
}

/** Is told of a rule that gave no answer: which one, for example `the read rule of posts`, and why. */
export type TellFault = (rule: string, error: unknown) => void;

/**
 * What the user who calls may do with a target, each right by its name. True is also what they may do to some documents
 * only: where a rule answers with a condition, or looks at a document or a body, which are not there yet. Of a rule that throws,
 * or answers what is no answer, it is false: one wrong rule must not hide what all others say.
 */
export async function rightsOf(
  app: App,
  request: Request,
  target: Target,
  tell: TellFault,
): Promise<{ [right: string]: boolean }> {
  const rights = rightsTo[target.model.kind].map(async (operation) => {
    const may = await mayInAdvance(app, request, target, operation).catch((error) => {
      tell(ruleName(target, operation), error);
      return false;
    });
    return [operation, may] as const;
  });
  return Object.fromEntries(await Promise.all(rights));
}

const rightsTo = { collection: ['read', 'create', 'update', 'delete'], global: ['read', 'update'] } as const;

async function mayInAdvance(app: App, request: Request, target: Target, operation: Operation): Promise<boolean> {
  const rule = ruleOf(app, target, operation);
  if (!rule) return true;
  const asked = await askInAdvance(request, operation, rule);
  if (!asked) return true;
  if (asked.hasThrown) throw asked.error;
  const answer = await readAnswer(app, target, operation, asked.result);
  // A condition is about documents: nothing that is yet to be created meets it.
  return typeof answer === 'boolean' ? answer : operation !== 'create';
}

/** What the caller may filter and sort by in a target, and in what is related to it. Each rule is asked once. */
export async function reachOf(
  app: App,
  request: Request,
  target: Target,
  known = new Map<string, ReturnType<Reach['related']>>(),
): Promise<Reach> {
  function related(slug: string): ReturnType<Reach['related']> {
    const found = known.get(slug) ?? look(slug);
    known.set(slug, found);
    return found;
  }

  async function look(slug: string): ReturnType<Reach['related']> {
    const other = app.collections.get(slug);
    const visible = other && (await visibleElsewhere(app, request, other));
    // A rule that looks at each document cannot be part of a query.
    if (!visible || visible.row) return null;
    return { reach: await reachOf(app, request, other, known), filter: visible.where };
  }

  return { tables: target.tables, fields: await filterableFields(request, target), related };
}

/** The reach of the configuration's author, whose rules may look at everything. */
function authorsReach(app: App, { tables, model }: Target): Reach {
  return {
    tables,
    fields: model.fields,
    related: async (slug) => {
      const other = app.collections.get(slug);
      return other ? { reach: authorsReach(app, other), filter: null } : null;
    },
  };
}

/**
 * The rule of an operation. Where an auth collection has none, its users may read and change themselves, and those of the
 * admin collection everything; elsewhere none is needed.
 */
function ruleOf(app: App, { slug, model }: Target, operation: Operation): AccessRule | null {
  const rule = model.access[operation];
  if (rule || model.kind === 'global' || !model.auth) return rule ?? null;
  const { adminCollection } = app.model;
  const isOwn = operation === 'read' || operation === 'update';
  return ({ user }) => {
    if (user?.collection === adminCollection) return true;
    return isOwn && user?.collection === slug ? { id: { equals: user.id } } : false;
  };
}

async function allows(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  subject: Subject,
): Promise<boolean> {
  const rule = ruleOf(app, target, operation);
  if (!rule) return actorOf(request).type !== 'anonymous';
  const answer = await answerOf(app, request, target, operation, subject, rule);
  return typeof answer === 'boolean'
    ? answer
    : admits(app, request, target, operation, subject.doc(), answer, subject.isPast);
}

async function answerOf(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  subject: Subject,
  rule: AccessRule,
): Promise<boolean | Where> {
  let result: unknown;
  try {
    result = await rule(argsOf(request, { ...subject, data: withHiddenPassword(target, subject.data) }));
  } catch (error) {
    throw ruleThrew(app, request, target, operation, error);
  }
  return readAnswer(app, target, operation, result);
}

/** What a rule's answer means for one document. */
async function admits(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  doc: JsonObject | null,
  answer: boolean | Where,
  isPast = false,
): Promise<boolean> {
  if (typeof answer === 'boolean') return answer;
  // A condition is about documents: nothing that is yet to be created meets it.
  if (operation === 'create') return false;
  const id = String(doc?.id ?? target.slug);
  const moment = isPast ? momentOf(request) : null;
  return moment ? app.past.matches(moment.position, target.tables, id, answer) : target.documents.matches(id, answer);
}

/** One document that a rule fails over is one that is not shown, not the end of the list. */
function allowsRow(app: App, request: Request, target: Target, document: JsonObject, isPast = false): Promise<boolean> {
  return unlessRefused(allows(app, request, target, 'read', { doc: () => document, data: null, isPast }), false);
}

/** What was asked for, or something else where a rule threw, which is not the end of the request. */
async function unlessRefused<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DomainError) return otherwise;
    throw error;
  }
}

/**
 * What a rule answers before there is a body, and a document unless one is given; null when it looked for what is not
 * there: then its answer, or its failure, was about that.
 *
 * @throws DomainError `forbidden` when it throws.
 */
async function answerInAdvance(
  app: App,
  request: Request,
  target: Target,
  operation: Operation,
  rule: AccessRule,
  doc: JsonObject | null = null,
): Promise<boolean | Where | null> {
  const asked = await askInAdvance(request, operation, rule, doc);
  if (!asked) return null;
  if (asked.hasThrown) throw ruleThrew(app, request, target, operation, asked.error);
  return readAnswer(app, target, operation, asked.result);
}

type Asking = { hasThrown: false; result: unknown } | { hasThrown: true; error: unknown };

/** What comes of asking a rule; null when it looked for what is not there. */
async function askInAdvance(
  request: Request,
  operation: Operation,
  rule: AccessRule,
  doc: JsonObject | null = null,
): Promise<Asking | null> {
  const unseen = new Unseen(operation, doc);
  let asking: Asking;
  try {
    asking = { hasThrown: false, result: await rule(argsOf(request, unseen)) };
  } catch (error) {
    asking = { hasThrown: true, error };
  }
  return unseen.hasLooked ? null : asking;
}

/** What a rule is asked about in advance, perhaps with a document. It notes whether the rule looks at what is not there yet. */
class Unseen implements Subject {
  hasLooked = false;
  readonly #operation: Operation;
  readonly #doc: JsonObject | null;

  constructor(operation: Operation, doc: JsonObject | null) {
    this.#operation = operation;
    this.#doc = doc;
  }

  /** A create never has one. */
  doc(): JsonObject | null {
    if (this.#doc === null && this.#operation !== 'create') this.hasLooked = true;
    return this.#doc;
  }

  /** Only a create and an update have any. */
  get data(): null {
    if (this.#operation === 'create' || this.#operation === 'update') this.hasLooked = true;
    return null;
  }
}

function argsOf(request: Request, subject: Subject): AccessArgs {
  noteRequest(request);
  return new Asked(request, subject);
}

/** Its getters stand on a prototype: in an object literal they cost 20 µs per request, which was measured. */
class Asked implements AccessArgs {
  readonly #request: Request;
  readonly #subject: Subject;

  constructor(request: Request, subject: Subject) {
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
}

async function readAnswer(app: App, target: Target, operation: Operation, result: unknown): Promise<boolean | Where> {
  if (typeof result === 'boolean') return result;
  // What a rule reads from a document may have no value: that is no permission.
  if (result === undefined || result === null) return false;
  const rule = ruleName(target, operation);
  if (typeof result !== 'object')
    throw new Error(`${rule} returned ${typeof result}: true, false or a where is wanted`);
  try {
    return await readWhereObject(result, authorsReach(app, target));
  } catch (cause) {
    throw new Error(`${rule} returned a where that is wrong: ${messageOf(cause)}`, { cause });
  }
}

function ruleThrew(app: App, request: Request, target: Target, operation: Operation, err: unknown): DomainError {
  app.log.error({ err, requestId: requestId(request) }, `${ruleName(target, operation)} threw`);
  return new DomainError('forbidden', `you may not ${operation} ${target.slug}`);
}

function ruleName({ slug }: Target, operation: Operation): string {
  return `the ${operation} rule of ${slug}`;
}

function refuse(request: Request, { slug }: Target, operation: Operation): never {
  const { type } = actorOf(request);
  if (type === 'anonymous') throw credentialNeeded();
  throw new DomainError('forbidden', `you may not ${operation} ${slug}${type === 'apiKey' ? keyIsNone : ''}`);
}

/** Everywhere else a key is trusted code, and no rule refuses it. */
const keyIsNone = ': an API key counts here only where auth.useAPIKey is true';

function credentialNeeded(): DomainError {
  return new DomainError('unauthorized', 'an API key or a token is needed');
}
