import type { Field } from '../../config/model.ts';
import { withParts } from '../../config/nesting.ts';
import type { JsonObject } from '../../config/schema.ts';
import { readsAreHooked } from '../../config/traits.ts';
import type { Today, Where } from '../../projections/query/where.ts';
import type { Call } from '../app.ts';
import { type AsOf, asOfFor } from '../http/requests.ts';
import type { SearchReach } from '../queries/paths.ts';
import { mayRead, refuse, unlessFaulty, unlessRefused, verdictOf } from './access.ts';
import { collectionInView, lineFieldsOf } from './draft-view.ts';
import { filterableFields } from './field-access.ts';
import { mayInAdvance, ruleName, type Verdict } from './rules.ts';

/**
 * The documents of a list that a caller may see: those that meet `where` and pass `row`. Null: there is no such
 * condition.
 */
export type ListScope = { where: Where | null; row: ((doc: JsonObject) => Promise<boolean>) | null };

const everything: ListScope = { where: null, row: null };

/**
 * Decides which documents of a list the caller may see.
 *
 * @throws DomainError as {@link authorize} does if the caller may see none, whatever they are.
 */
export async function authorizeList(call: Call): Promise<ListScope> {
  return (await scopeOf(call)) ?? refuse(call, 'read');
}

/**
 * As {@link authorizeList}, of a target that the request does not name, but leads to. Null if the caller may see none
 * of its documents; a rule that throws, or gives no answer, admits to none.
 */
export async function scopeOfRelated(call: Call): Promise<ListScope | null> {
  const scope = await unlessFaulty(call, unlessRefused(scopeOf(call), null), null);
  const row = scope?.row;
  return row ? { ...scope, row: (document) => unlessFaulty(call, row(document), false) } : scope;
}

/**
 * The documents of a target that the caller may see; null if there are none. The view of drafts shows no others.
 */
export async function scopeOf(call: Call): Promise<ListScope | null> {
  const { view } = call.target;
  if (view) return { where: null, row: view.passes };
  const scope = scopeToday(call, await verdictOf(call, 'read', null));
  return scope && asOfFor(call.request) ? scopeAsOf(call, scope) : scope;
}

/**
 * A rule that does not look at the document answers once for all documents. A rule that does is asked about every
 * document, so that `total` and the pages are right for this caller.
 */
function scopeToday(call: Call, verdict: Verdict): ListScope | null {
  if (verdict === 'allowed') return everything;
  if (verdict === 'refused') return null;
  if (verdict === 'askEach') return { where: null, row: (document) => mayRead(call, document) };
  return { where: verdict, row: null };
}

/**
 * The documents that the caller may see as of a position: the rule must allow both the document as it was there and as
 * it is today. Without the audit right, deleted documents are left out.
 */
function scopeAsOf(call: Call, { where, row }: ListScope): ListScope | null {
  const { request, target } = call;
  const moment = asOfFor(request);
  const sight = moment?.scopeFor(target);
  if (!moment || !sight) return null;
  const includesDeleted = sight === 'every';
  const today: Today = { today: where, tables: target.tables, orGone: includesDeleted };
  const isAsked = where !== null || !includesDeleted;
  return {
    where: isAsked ? { and: [...(where ? [where] : []), today] } : null,
    row: row && ((document) => mayReadRowAsOf(call, document, { moment, includesDeleted })),
  };
}

async function mayReadRowAsOf(
  call: Call,
  document: JsonObject,
  { moment, includesDeleted }: { moment: AsOf; includesDeleted: boolean },
): Promise<boolean> {
  const text = call.target.documents.text(String(document.id));
  if (text === null ? !includesDeleted : !(await mayRead(call, JSON.parse(text)))) return false;
  // Read here: a cursor moves the moment back to the position of its first page.
  return mayRead(call, document, moment.position);
}

/**
 * The fields that the caller may filter and sort by, in a target and in related collections. Each rule is asked once.
 */
export function reachOf(call: Call): Promise<SearchReach> {
  return reachBy(call, filterableFields, new Map());
}

/**
 * As {@link reachOf}, without the fields whose values a read hook makes: figures show what is stored.
 */
export function plainReachOf(call: Call): Promise<SearchReach> {
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
  known: Map<string, ReturnType<SearchReach['related']>>,
): Promise<SearchReach> {
  const { app, request, target } = call;

  function related(slug: string): ReturnType<SearchReach['related']> {
    const found = known.get(slug) ?? look(slug);
    known.set(slug, found);
    return found;
  }

  async function look(slug: string): ReturnType<SearchReach['related']> {
    const other = await collectionInView(call, slug);
    const asked = other && { app, request, target: other };
    const scope = asked && (await scopeOfRelated(asked));
    // A rule that looks at the document cannot be part of a query.
    if (!scope || scope.row) return null;
    return { reach: await reachBy(asked, fieldsOf, known), filter: scope.where };
  }

  const fields = [...(await lineFieldsOf(call)).toFilter, ...(await fieldsOf(call))];
  return { tables: target.tables, fields, related };
}

/**
 * The rights of the calling user to a target, by name. A right to only some documents is true too: if the rule returns
 * a condition, or looks at a document or a body, which are not there yet. The right of a rule that throws, or whose
 * answer is not valid, is false: one wrong rule must not hide the answers of all others.
 */
export async function rightsOf(call: Call): Promise<{ [right: string]: boolean }> {
  const { app, target } = call;
  const { kind, drafts } = target.model;
  const rights = [...rightsTo[kind], ...(drafts ? rightsToDrafts : [])].map(async (right) => {
    const may = await mayInAdvance(call, right).catch((error) => {
      app.tellRuleFault(ruleName(target, right), error);
      return false;
    });
    return [right, may] as const;
  });
  return Object.fromEntries(await Promise.all(rights));
}

const rightsTo = { collection: ['read', 'create', 'update', 'delete'], global: ['read', 'update'] } as const;
const rightsToDrafts = ['readDrafts', 'publish'] as const;
