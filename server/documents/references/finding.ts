import type { Collection, Global } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import type { Where } from '../../../projections/query/where.ts';
import { mayRead } from '../../access/access.ts';
import { readableDraft } from '../../access/document-access.ts';
import { inView } from '../../access/draft-view.ts';
import { queryableBy, readableFields } from '../../access/field-access.ts';
import { scopeOfRelated } from '../../access/list-scope.ts';
import type { Call, RouteCall, Target } from '../../app.ts';
import { asOfFor } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { newestFirst } from '../../reads/ranking.ts';
import { allPassing, countOf, list, type RowFilter } from '../read/listing.ts';
import { showableIn, titleOf } from '../search/titles.ts';
import { currentOf, currentThen } from '../write/current.ts';
import { relationsIn } from '../write/relations.ts';
import { type Pointer, pointersOf, pointsAt } from './pointers.ts';

/** A document or global that refers to a document, and the path of the field. A global has no id. */
type Reference = AnswerOf<'References'>['docs'][number];

/** The document that is referred to. */
type ReferredDocument = { slug: string; id: string };

/** A source of references: how many it has, and how some of them are read. */
type Source = { total: number; some: (start: number, count: number) => Promise<Reference[]> };

/**
 * A page of the references to a document that the caller may read: collections in the order of the configuration, in
 * each the newest document first, then globals. A document comes once for each path.
 */
export async function referencesTo(
  { app, request }: RouteCall,
  to: ReferredDocument,
  { limit, page }: { limit: number; page: number },
): Promise<{ references: Reference[]; total: number }> {
  const references: Reference[] = [];
  let start = (page - 1) * limit;
  let total = 0;
  for await (const source of sourcesOf({ app, request }, to)) {
    total += source.total;
    const count = Math.min(limit - references.length, source.total - start);
    if (count > 0) references.push(...(await source.some(start, count)));
    start = Math.max(0, start - source.total);
  }
  return { references, total };
}

/** Whether a document of a target, or one that refers to it, may have a draft. */
export function mayHaveDrafts({ collections, globals }: RouteCall['app'], { model, slug }: Target): boolean {
  const sources = [...collections.values(), ...globals.values()].filter((source) => pointsAt(source, slug));
  return model.drafts !== null || sources.some((source) => source.model.drafts !== null);
}

async function* sourcesOf({ app, request }: RouteCall, to: ReferredDocument): AsyncGenerator<Source> {
  for (const target of app.collections.values()) {
    if (!pointsAt(target, to.slug)) continue;
    const call: Call<Collection> = { app, request, target: await inView({ app, request }, target) };
    const scope = await scopeOfRelated(call);
    if (!scope) continue;
    for (const pointer of await pointersOf(call, to)) {
      const where = scope.where ? { and: [pointer.where, scope.where] } : pointer.where;
      const found: ReferencePath = { where, field: pointer.path };
      const checks = [
        ...(scope.row ? [scope.row] : []),
        ...(pointer.isOpen ? [] : [(document: JsonObject) => shows(call, document, { pointer, to })]),
      ];
      yield checks.length === 0 ? await sourceOf(call, found) : await checkedSourceOf(call, found, checks);
    }
  }
  for (const target of app.globals.values()) {
    if (!pointsAt(target, to.slug)) continue;
    const found = await referencesOfGlobal({ app, request, target }, to);
    yield { total: found.length, some: async (start, count) => found.slice(start, start + count) };
  }
}

type ReferencePath = { where: Where; field: string };

async function sourceOf(call: Call<Collection>, { where, field }: ReferencePath): Promise<Source> {
  async function some(start: number, count: number): Promise<Reference[]> {
    // Any part of a list that is as long as a page is within two pages.
    const page = Math.floor(start / count);
    const pageOf = (page: number) => list(call, { where, sort: newestFirst, limit: count, page });
    const { texts } = await pageOf(page + 1);
    const more = start % count === 0 ? [] : (await pageOf(page + 2)).texts;
    const from = start - page * count;
    return referencesIn(call, [...texts, ...more].slice(from, from + count), field);
  }

  return { total: await countOf(call, { where, terms: null }, { where: null, row: null }), some };
}

/** As {@link sourceOf}, if a rule looks at the document and so cannot be part of a query. */
async function checkedSourceOf(
  call: Call<Collection>,
  { where, field }: ReferencePath,
  checks: readonly RowFilter[],
): Promise<Source> {
  const row: RowFilter = (document) => passes(document, checks);
  const shown = await allPassing(call, { where, sort: newestFirst }, { row });
  return { total: shown.length, some: (start, count) => referencesIn(call, shown.slice(start, start + count), field) };
}

async function passes(document: JsonObject, checks: readonly RowFilter[]): Promise<boolean> {
  for (const check of checks) if (!(await check(document))) return false;
  return true;
}

async function referencesIn(call: Call<Collection>, texts: readonly string[], field: string): Promise<Reference[]> {
  const { target } = call;
  const isShowable = await showableIn(call);
  return texts.map((text) => {
    const document: JsonObject = JSON.parse(text);
    return { collection: target.slug, id: String(document.id), field, title: titleOf(target, document, isShowable) };
  });
}

/** Whether the caller may read the reference in this document. */
async function shows(
  call: Call,
  document: JsonObject,
  { pointer, to }: { pointer: Pick<Pointer, 'path'>; to: ReferredDocument },
): Promise<boolean> {
  const readable = await readableFields(call, document, String(document.id));
  return pathsTo(call, readable, to).has(pointer.path);
}

async function referencesOfGlobal(call: Call<Global>, to: ReferredDocument): Promise<Reference[]> {
  const { target } = call;
  const draft = call.request.app.view ? await readableDraft(call, target.slug) : null;
  const document: JsonObject | null = draft ? JSON.parse(draft.text) : await readableGlobal(call);
  if (!document) return [];
  const paths = pathsTo(call, await readableFields(call, document, target.slug), to);
  const title = titleOf(target, document, await showableIn(call));
  return [...paths].map((field) => ({ global: target.slug, id: null, field, title }));
}

/** A global as it is read; null if the caller may not read it. */
async function readableGlobal(call: Call<Global>): Promise<JsonObject | null> {
  const { request, target } = call;
  const { document } = currentOf(target, target.slug);
  if (!(await mayRead(call, document))) return null;
  const moment = asOfFor(request);
  if (!moment) return document;
  const then = currentThen(target, target.slug, moment.position)?.document;
  if (!then || moment.scopeFor(target) === null) return null;
  return (await mayRead(call, then, moment.position)) ? then : null;
}

/** The paths, without list indexes, by which a document refers to another. */
function pathsTo(call: Call, document: JsonObject, { slug, id }: ReferredDocument): Set<string> {
  const paths = new Set<string>();
  for (const relation of relationsIn(queryableBy(call), document)) {
    if (relation.slug === slug && relation.id === id) paths.add(relation.path.replaceAll(/\.\d+(?=\.|$)/g, ''));
  }
  return paths;
}
