import type { Request } from '@hapi/hapi';
import type { Collection, Global } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { Shown } from '../../projections/query/overlay.ts';
import type { Where } from '../../projections/query/where.ts';
import type { App, Call, RouteCall, Target } from '../app.ts';
import { asOfFor } from '../http/requests.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import { type LineFields, lineFields } from '../queries/line-fields.ts';
import { may, refuse, unlessFaulty, unlessRefused, verdictOf } from './access.ts';
import { type ListScope, scopeOf } from './list-scope.ts';
import { auditRightsOf } from './rights.ts';

/**
 * The target as the request reads it: with `draft=true` in the view of drafts, which all readers of the request have
 * from here on.
 *
 * @throws DomainError `unauthorized` or `forbidden` for a caller who may read no draft of the target.
 */
export async function readDrafts<M extends Collection | Global>(
  app: App,
  request: Request,
  target: Target<M>,
): Promise<Target<M>> {
  if (!target.model.drafts || !readsDrafts(request)) return target;
  request.app.view ??= new Map();
  const call = { app, request, target };
  const view = await viewOf(call, await draftScope(call), await unlessRefused(scopeOf(call), null));
  if (!view && request.app.draftsOf) return target;
  if (!view) refuse(call, 'readDrafts');
  request.app.view.set(target.tables.key, view);
  return view;
}

/**
 * As {@link readDrafts}, for all collections: the view has the drafts of those of which the caller may read some.
 *
 * @throws DomainError if there are none.
 */
export async function readDraftsOfAny(app: App, request: Request): Promise<void> {
  if (!readsDrafts(request)) return;
  const targets = [...app.collections.values()].filter(({ model }) => model.drafts);
  const [first] = targets;
  if (!first) return;
  request.app.view ??= new Map();
  let isAny = false;
  for (const target of targets) isAny = (await inView({ app, request }, target)).view !== undefined || isAny;
  if (!isAny && !request.app.draftsOf) refuse({ app, request, target: first }, 'readDrafts');
}

/** A target that the request does not name, but leads to, as the request reads it. */
export async function inView<M extends Collection | Global>(
  { app, request }: RouteCall,
  target: Target<M>,
): Promise<Target<M>> {
  const { view } = request.app;
  if (!view || !target.model.drafts) return target;
  const known = view.get(target.tables.key);
  if (known) return known as Target<M>;
  const call = { app, request, target };
  const related = (scope: Promise<ListScope | null>) => unlessFaulty(call, unlessRefused(scope, null), null);
  const made = (await viewOf(call, await related(draftScope(call)), await related(scopeOf(call)))) ?? target;
  view.set(target.tables.key, made);
  return made;
}

/** The collection with a slug, as {@link inView} gives it. */
export async function collectionInView(call: RouteCall, slug: string): Promise<Target<Collection> | undefined> {
  const target = call.app.collections.get(slug);
  return target && inView(call, target);
}

/** A target that the request has opened already, as it reads it. */
export function openedInView(request: Request, target: Target): Target {
  return request.app.view?.get(target.tables.key) ?? target;
}

/** The members by which the caller can filter, sort and select how documents of a target are published. */
export async function lineFieldsOf({ app, request, target }: Call): Promise<LineFields> {
  if (!target.model.drafts) return lineFields(null);
  if (!target.view) return lineFields('public');
  return lineFields((await seesEditors({ app, request })) ? 'editors' : 'drafts');
}

/** Whether the caller may see who changed what. */
async function seesEditors({ app, request }: RouteCall): Promise<boolean> {
  return (await auditRightsOf(app, request)).has('headers');
}

/** Whether the request reads drafts, by its query or by a preview token. */
function readsDrafts({ app, query }: Request): boolean {
  return query.draft === 'true' || app.draftsOf !== undefined;
}

/**
 * The drafts of a target that the caller may read; null if there are none, whatever they are. By a preview token: those
 * that its maker may read, and that anybody could read if they were public.
 */
async function draftScope(call: Call): Promise<ListScope | null> {
  const { draftsOf } = call.request.app;
  if (!draftsOf) return ownDraftScope(call);
  const own = await ownDraftScope({ ...call, request: draftsOf });
  const shown = await unlessRefused(scopeOf(call), null);
  if (!own || !shown) return null;
  const where = own.where && shown.where ? { and: [own.where, shown.where] } : (own.where ?? shown.where);
  return { where, row: own.row || shown.row ? (document) => mayReadDraft(call, document) : null };
}

async function ownDraftScope(call: Call): Promise<ListScope | null> {
  const verdict = await verdictOf(call, 'readDrafts', null);
  if (verdict === 'refused') return null;
  if (verdict === 'allowed') return { where: null, row: null };
  if (verdict !== 'askEach') return { where: verdict, row: null };
  return { where: null, row: (document) => mayReadDraft(call, document) };
}

/** Whether the caller may read a draft as it is today, or as it was at a position of the log. */
export async function mayReadDraft(call: Call, document: JsonObject, position?: number): Promise<boolean> {
  const then = position === undefined ? {} : { position };
  const subject = { doc: () => document, data: null, isDraft: true, ...then };
  const { draftsOf } = call.request.app;
  if (!draftsOf) return may(call, 'readDrafts', subject);
  return (await may({ ...call, request: draftsOf }, 'readDrafts', subject)) && may(call, 'read', subject);
}

async function viewOf<M extends Collection | Global>(
  call: Call<M>,
  drafts: ListScope | null,
  published: ListScope | null,
): Promise<Target<M> | null> {
  const { target } = call;
  if (!drafts || !target.overlay) return null;
  const shown: Shown = { under: published ? published.where : nothing, over: await shownDrafts(call, drafts) };
  const { documents, tables, interruptible, sources } = target.overlay(shown);
  const row = published?.row;
  const passes = row
    ? async (document: JsonObject) => (await isDraft(call, String(document.id), shown.over)) || row(document)
    : null;
  return { ...target, documents, tables, interruptible, view: { published: target, passes, sources } };
}

/** The condition that no document meets. */
const nothing: Where = { or: [] };

/**
 * The condition on the drafts that the caller may read. A rule that looks at drafts is asked about each: there are few.
 * As of a moment such a rule shows none, since the moment of a list is known only when its cursor was read.
 */
async function shownDrafts(call: Call, { where, row }: ListScope): Promise<Where | null> {
  const { request, target } = call;
  const moment = asOfFor(request);
  if (moment) return row ? nothing : asOfScope(call, where);
  if (!row) return where;
  const texts = target.draftDocuments?.list({ where: null, sort: [], limit: -1, page: 1, count: 'none' }).texts ?? [];
  const ids: string[] = [];
  for (const [index, text] of texts.entries()) {
    const document: JsonObject = JSON.parse(text);
    if (await row(document)) ids.push(String(document.id));
    if (index % 100 === 99) await yieldToEventLoop();
  }
  if (ids.length === 0) return nothing;
  return { steps: [], leaf: { name: 'id', kind: 'text' }, operator: 'in', values: ids };
}

/** The rule must allow a draft as it was, and the newest state of its document. */
function asOfScope({ request, target }: Call, where: Where | null): Where | null {
  const sight = asOfFor(request)?.scopeFor(target);
  const newest = target.overlay?.({ under: null, over: null }).tables;
  if (!sight || !newest) return nothing;
  if (sight === 'every' && where === null) return null;
  const today: Where = { today: where, tables: newest, orGone: sight === 'every' };
  return where ? { and: [where, today] } : today;
}

/** Whether a document of the view is a draft. */
async function isDraft({ app, request, target }: Call, id: string, shown: Where | null): Promise<boolean> {
  const moment = asOfFor(request);
  const drafts = target.tables.drafts;
  if (moment && drafts) {
    const only = new Set<string>();
    return (await app.past.some(moment.position, drafts, { ids: [id], where: shown, only })).size > 0;
  }
  const { draftDocuments } = target;
  return draftDocuments !== null && (shown ? draftDocuments.matches(id, shown) : draftDocuments.exists(id));
}
