import type { Field } from '../../config/model.ts';
import { withParts } from '../../config/nesting.ts';
import type { JsonObject } from '../../config/schema.ts';
import { readsAreHooked } from '../../config/traits.ts';
import type { Today, Where } from '../../projections/query/where.ts';
import type { Call } from '../app.ts';
import { actorOf, asOfFor, isTrusted } from '../http/requests.ts';
import type { Reach } from '../queries/paths.ts';
import { allows, refuse } from './access.ts';
import { answerInAdvance, mayInAdvance, ruleName, ruleOf, unlessRefused } from './asking.ts';
import { filterableFields } from './field-access.ts';
import { isOutsideScopes, requireScope } from './key-scopes.ts';

/** Which documents a caller may see: those that meet `where` and pass `row`; null means no condition. */
export type ListScope = { where: Where | null; row: ((doc: JsonObject) => Promise<boolean>) | null };

const everything: ListScope = { where: null, row: null };

/**
 * Decides on a list: which documents of it the caller may see.
 *
 * @throws DomainError as {@link authorize} does when it may see none whatever they are.
 */
export async function authorizeList(call: Call): Promise<ListScope> {
  requireScope(call.request, call.target.model, 'read');
  return (await scopeOf(call)) ?? refuse(call, 'read');
}

/**
 * As {@link authorizeList}, where another target is what was asked for: null when nothing of this one is shown, also by
 * a rule that throws.
 */
export function scopeElsewhere(call: Call): Promise<ListScope | null> {
  return unlessRefused(scopeOf(call), null);
}

/**
 * The documents that the caller may see of a target; null when there are none. A rule that does not look at the
 * document answers for all of them; one that does is asked for every document, so that `total` and the pages are right
 * for this caller.
 */
async function scopeOf(call: Call): Promise<ListScope | null> {
  const scope = await scopeToday(call);
  return scope && asOfFor(call.request) ? scopeThen(call, scope) : scope;
}

async function scopeToday(call: Call): Promise<ListScope | null> {
  const { request, target } = call;
  if (isOutsideScopes(request, target.model, 'read')) return null;
  if (isTrusted(request, target.model)) return everything;
  const rule = ruleOf(call, 'read');
  if (!rule) return actorOf(request).type === 'anonymous' ? null : everything;

  const answer = await answerInAdvance(rule);
  if (answer === null) return { where: null, row: (document) => allowsRow(call, document) };
  if (typeof answer === 'boolean') return answer ? everything : null;
  return { where: answer, row: null };
}

/**
 * The documents that the caller may see as of then: those that meet the rules as they were, and as they are where they
 * live. A caller who looks back by reading alone sees only what lives.
 */
function scopeThen(call: Call, { where, row }: ListScope): ListScope | null {
  const { request, target } = call;
  const sight = asOfFor(request)?.scopeFor(target);
  if (!sight) return null;
  const orGone = sight === 'every';
  const today: Today = { today: where, tables: target.tables, orGone };
  const isAsked = where !== null || !orGone;
  return {
    where: isAsked ? { and: [...(where ? [where] : []), today] } : null,
    row: row && ((document) => allowsRowThen(call, document, orGone)),
  };
}

async function allowsRowThen(call: Call, document: JsonObject, orGone: boolean): Promise<boolean> {
  const text = call.target.documents.text(String(document.id));
  if (text === null ? !orGone : !(await allowsRow(call, JSON.parse(text)))) return false;
  return allowsRow(call, document, true);
}

/** A document that a rule fails over is not shown; the list goes on. */
function allowsRow(call: Call, document: JsonObject, isPast = false): Promise<boolean> {
  return unlessRefused(allows(call, 'read', { doc: () => document, data: null, isPast }), false);
}

/**
 * The fields that the caller may filter and sort by in a target, and in what is related to it. Each rule is asked once.
 */
export function reachOf(call: Call): Promise<Reach> {
  return reachBy(call, filterableFields, new Map());
}

/**
 * As {@link reachOf}, without any field whose values are seen only as a hook makes them when they are read: figures
 * show what is stored.
 */
export function plainReachOf(call: Call): Promise<Reach> {
  return reachBy(call, plainFields, new Map());
}

async function plainFields(call: Call): Promise<readonly Field[]> {
  return readsAreHooked(call.target.model) ? [] : withoutHooks(await filterableFields(call));
}

function withoutHooks(fields: readonly Field[]): Field[] {
  return fields
    .filter(({ hooks }) => !hooks?.afterRead)
    .map((field) => ({ ...field, ...withParts(field, withoutHooks) }));
}

type FieldsOf = (call: Call) => Promise<readonly Field[]>;

async function reachBy(
  call: Call,
  fieldsOf: FieldsOf,
  known: Map<string, ReturnType<Reach['related']>>,
): Promise<Reach> {
  const { app, request, target } = call;

  function related(slug: string): ReturnType<Reach['related']> {
    const found = known.get(slug) ?? look(slug);
    known.set(slug, found);
    return found;
  }

  async function look(slug: string): ReturnType<Reach['related']> {
    const other = app.collections.get(slug);
    const elsewhere = other && { app, request, target: other };
    const scope = elsewhere && (await scopeElsewhere(elsewhere));
    // A rule that looks at each document cannot be part of a query.
    if (!scope || scope.row) return null;
    return { reach: await reachBy(elsewhere, fieldsOf, known), filter: scope.where };
  }

  return { tables: target.tables, fields: await fieldsOf(call), related };
}

/** Receives the name of a rule that gave no answer, for example `the read rule of posts`, and why. */
export type TellFault = (rule: string, error: unknown) => void;

/**
 * The rights of the user who calls to a target, each by its name. A right to some documents only is true too: where a
 * rule answers with a condition, or looks at a document or a body, which are not there yet. It is false of a rule that
 * throws, or whose answer is not valid: one wrong rule must not hide what all others say.
 */
export async function rightsOf(call: Call, tell: TellFault): Promise<{ [right: string]: boolean }> {
  const { target } = call;
  const rights = rightsTo[target.model.kind].map(async (operation) => {
    const may = await mayInAdvance(call, operation).catch((error) => {
      tell(ruleName(target, operation), error);
      return false;
    });
    return [operation, may] as const;
  });
  return Object.fromEntries(await Promise.all(rights));
}

const rightsTo = { collection: ['read', 'create', 'update', 'delete'], global: ['read', 'update'] } as const;
