import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AccessArgs, AccessRule, Operation, RequestView, User } from '../../config/model.ts';
import { withHiddenPassword } from '../../config/passwords.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Where } from '../../projections/query/where.ts';
import { messageOf } from '../../storage/errors.ts';
import type { Call, Target } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { asOfFor, requestId, userOf, viewOf } from '../http/requests.ts';

/**
 * The document and values that a rule is asked about. `doc` is only made when the rule asks for it: a read by id is
 * parsed for nothing else. `isPast`: it is as of the moment that the request looks back to.
 */
export type Subject = { doc: () => JsonObject | null; data: unknown; isPast?: boolean };

/** A rule that decides on what a request asks for. */
export type Rule = { call: Call; operation: Operation; decide: AccessRule };

/**
 * The rule of an operation; null where none is set. Where an auth collection has none, its users may read and change
 * themselves, and those of the admin collection everything.
 */
export function ruleOf(call: Call, operation: Operation): Rule | null {
  const { app, target } = call;
  const { slug, model } = target;
  const decide = model.access[operation];
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

/** Asks a rule about a subject. @throws DomainError `forbidden` when it throws. */
export async function answerOf(rule: Rule, subject: Subject): Promise<boolean | Where> {
  const { request, target } = rule.call;
  let result: unknown;
  try {
    result = await rule.decide(argsOf(request, { ...subject, data: withHiddenPassword(target, subject.data) }));
  } catch (error) {
    throw ruleThrew(rule, error);
  }
  return typeof result === 'boolean' ? result : readAnswer(rule, result);
}

/** Whether the answer of a rule admits to one document. */
export async function admits({ call, operation }: Rule, answer: boolean | Where, subject: Subject): Promise<boolean> {
  if (typeof answer === 'boolean') return answer;
  // A condition is about documents: nothing that is yet to be created meets it.
  if (operation === 'create') return false;
  const { app, request, target } = call;
  const id = String(subject.doc()?.id ?? target.slug);
  const moment = subject.isPast ? asOfFor(request) : null;
  return moment ? app.past.matches(moment.position, target.tables, id, answer) : target.documents.matches(id, answer);
}

/** Gives another answer where a rule threw, which is not the end of the request. */
export async function unlessRefused<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DomainError) return otherwise;
    throw error;
  }
}

/**
 * Asks a rule before there is a body, and a document unless one is given; null when it looked for what is not
 * there: then its answer, or its failure, was about that.
 *
 * @throws DomainError `forbidden` when it throws.
 */
export async function answerInAdvance(rule: Rule, doc: JsonObject | null = null): Promise<boolean | Where | null> {
  const asked = await askInAdvance(rule, doc);
  if (!asked) return null;
  if (asked.hasThrown) throw ruleThrew(rule, asked.error);
  return readAnswer(rule, asked.result);
}

/**
 * Whether the caller may do something, before it is known to which document: true also where a rule answers with a
 * condition, or looks at a document or a body.
 *
 * @throws what the rule throws.
 */
export async function mayInAdvance(call: Call, operation: Operation): Promise<boolean> {
  const rule = ruleOf(call, operation);
  if (!rule) return true;
  const asked = await askInAdvance(rule, null);
  if (!asked) return true;
  if (asked.hasThrown) throw asked.error;
  const answer = await readAnswer(rule, asked.result);
  // A condition is about documents: nothing that is yet to be created meets it.
  return typeof answer === 'boolean' ? answer : operation !== 'create';
}

type Asking = { hasThrown: false; result: unknown } | { hasThrown: true; error: unknown };

/** Asks a rule; null when it looked for what is not there. */
async function askInAdvance({ call, operation, decide }: Rule, doc: JsonObject | null): Promise<Asking | null> {
  const unseen = new Unseen(operation, doc);
  let asking: Asking;
  try {
    asking = { hasThrown: false, result: await decide(argsOf(call.request, unseen)) };
  } catch (error) {
    asking = { hasThrown: true, error };
  }
  return unseen.hasLooked ? null : asking;
}

/**
 * The subject of a rule that is asked in advance, perhaps with a document. It notes whether the rule looks at what is
 * not there yet.
 */
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

async function readAnswer({ call, operation }: Rule, result: unknown): Promise<boolean | Where> {
  if (typeof result === 'boolean') return result;
  // A member that a rule reads from a document may have no value: that is no permission.
  if (result === undefined || result === null) return false;
  const rule = ruleName(call.target, operation);
  if (typeof result !== 'object')
    throw new Error(`${rule} returned ${typeof result}: true, false or a where is wanted`);
  try {
    return await call.app.readCondition(call.target, result);
  } catch (cause) {
    throw new Error(`${rule} returned a where that is wrong: ${messageOf(cause)}`, { cause });
  }
}

function ruleThrew({ call: { app, request, target }, operation }: Rule, err: unknown): DomainError {
  app.log.error({ err, requestId: requestId(request) }, `${ruleName(target, operation)} threw`);
  return new DomainError('forbidden', `you may not ${operation} ${target.slug}`);
}

/** A rule by its name in messages. */
export function ruleName({ slug }: Target, operation: Operation): string {
  return `the ${operation} rule of ${slug}`;
}
