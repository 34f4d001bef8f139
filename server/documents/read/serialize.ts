import type { Request } from '@hapi/hapi';
import type { Field } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { mediaRoot } from '../../../config/uploads.ts';
import type { JoinSources } from '../../../projections/query/joins.ts';
import type { Members, Page } from '../../../projections/query/lists.ts';
import { someOf } from '../../access/document-access.ts';
import { collectionInView, openedInView } from '../../access/draft-view.ts';
import { filterableFields, queryableBy, readableFields, selectableFields } from '../../access/field-access.ts';
import { type ListScope, scopeOfRelated } from '../../access/list-scope.ts';
import type { App, Call, Join, RouteCall, Target } from '../../app.ts';
import { asOfFor } from '../../http/requests.ts';
import type { PageRequest } from '../../queries/pages.ts';
import type { ListQuery } from '../../queries/query.ts';
import type { View } from '../../queries/selection.ts';
import { draftTag, plainTag, type Tag, textTag } from '../concurrency/etags.ts';
import { onRead } from '../hooks.ts';
import { withLineMembers } from './line-members.ts';
import { populate } from './populate.ts';
import { membersOf, plainView } from './view.ts';

/** Documents of a page as they were read. */
type StoredPage = { texts: readonly string[]; only: Members };

/** Turns stored documents into the texts that a caller is shown. */
export type Serializer = {
  /** A document as it is stored. */
  text: (request: Request, text: string, view?: View) => string | Promise<string>;
  /** The documents of a page as they are stored; with `only`, just these members of them. */
  texts: (request: Request, page: StoredPage, view?: View) => readonly string[] | Promise<readonly string[]>;
  /** A document in memory, as it has just been written. */
  document: (request: Request, document: JsonObject, view?: View) => string | Promise<string>;
  /**
   * The tag of a version as it is shown: made of the version if the text is as it is stored, else of the answer.
   * `isDraft`: the answer is to a request about drafts.
   */
  tag: (version: number, answer: string, shown?: { view?: View; isStored?: boolean; isDraft?: boolean }) => Tag;
};

/** Decides once what has to be done to the documents of a target: if nothing, text goes out as it is. */
export function serializerFor(app: App, target: Target): Serializer {
  const isPlain =
    !target.hasReadHooks && !target.hasReadRules && target.joins.length === 0 && !hasOtherUrl(app, target);
  // A global before its first write depends on the defaults, which are not part of `shape`.
  const isTaggedByVersion = isPlain && target.model.kind === 'collection';

  async function all(request: Request, stored: readonly JsonObject[], view: View): Promise<string[]> {
    const call = { app, request, target: openedInView(request, target) };
    const shown = await showAll(call, stored, membersOf(view));
    const answers = isAsStored(view) ? shown : await populate(call, shown, { view, show: showAll });
    return answers.map((document) => JSON.stringify(document));
  }

  function text(request: Request, stored: string, view = plainView): string | Promise<string> {
    return isPlain && isAsStored(view) && !hasOldFile(request, target) && !openedInView(request, target).view
      ? stored
      : document(request, JSON.parse(stored), view);
  }

  function texts(request: Request, { texts, only }: StoredPage, view = plainView) {
    const isInView = openedInView(request, target).view !== undefined;
    if (isPlain && isAsStored(view) && !hasOldFile(request, target) && !isInView) return texts;
    if (only && isSelectedOnly(target, view)) return texts;
    return all(
      request,
      texts.map((one) => JSON.parse(one)),
      view,
    );
  }

  async function document(request: Request, stored: JsonObject, view = plainView): Promise<string> {
    const [answer = ''] = await all(request, [stored], view);
    return answer;
  }

  function tag(version: number, answer: string, { view = plainView, isStored = true, isDraft = false } = {}): Tag {
    const tag =
      isTaggedByVersion && isStored && isAsStored(view) ? plainTag(version, app.etagSuffix) : textTag(version, answer);
    return isDraft ? draftTag(tag) : tag;
  }

  return { text, texts, document, tag };
}

/** Whether the selected members can be shown as they are stored. */
function isSelectedOnly(target: Target, { depth, select }: View): boolean {
  if (depth > 0 || !select || isOfFiles(target)) return false;
  if ([...select.members.keys()].some((name) => name.startsWith('__'))) return false;
  if ([...select.members.values()].some((inside) => !inside.isWhole || inside.members.size > 0)) return false;
  return !target.joins.some(({ name }) => select.members.has(name));
}

function isAsStored({ depth, select }: View): boolean {
  return depth === 0 && select === null;
}

/** Documents as the caller may see them: joins are added, then hooks run, then hidden fields are left out. */
async function showAll(call: Call, stored: readonly JsonObject[], wanted: Members = null): Promise<JsonObject[]> {
  const { target } = call;
  // Hooks get whole documents. The events of a document do not hold the links to it, so an answer that is proven has no
  // joins.
  const isWanted = (name: string) => !wanted || target.hasReadHooks || wanted.has(name);
  const joins = asOfFor(call.request)?.fold ? [] : target.joins.filter(({ name }) => isWanted(name));
  const joined = (await withJoins(call, stored, joins)).map((one) => withFoundUrl(call, one));
  if (!target.hasReadHooks && !target.hasReadRules) return withLineMembers(call, joined, { stored, wanted });
  const shown = await Promise.all(
    stored.map(async (doc, index) => {
      let result = joined[index] ?? doc;
      if (target.hasReadHooks) result = await onRead({ ...call, operation: 'read', doc }, result);
      return target.hasReadRules ? readableFields(call, result, String(doc.id ?? target.slug)) : result;
    }),
  );
  return withLineMembers(call, shown, { stored, wanted });
}

function hasOldFile(request: Request, target: Target): boolean {
  return asOfFor(request) !== null && isOfFiles(target);
}

/**
 * Whether clients need another URL of a file than the stored one: the service is below a path, or has several sites.
 */
function hasOtherUrl({ site, basePath }: App, target: Target): boolean {
  return (site !== null || basePath !== '/') && isOfFiles(target);
}

function isOfFiles({ model }: Target): boolean {
  return model.kind === 'collection' && Boolean(model.upload);
}

/**
 * Sets the URL of a file to the path that clients call, below the path of the service. With `asOf` the URL carries the
 * position, with several sites the site.
 */
function withFoundUrl({ app, request, target }: Call, document: JsonObject): JsonObject {
  const { url } = document;
  // A value that was written before the collection had files may be anything.
  if (!isOfFiles(target) || typeof url !== 'string' || !url.startsWith(mediaRoot)) return document;
  const before = app.basePath === '/' ? '' : app.basePath;
  const query = [
    ...(asOfFor(request) ? [`asOf=${asOfFor(request)?.position}`] : []),
    ...(app.site === null ? [] : [`site=${app.site}`]),
  ];
  if (before === '' && query.length === 0) return document;
  return { ...document, url: `${before}${url}${query.length === 0 ? '' : `?${query.join('&')}`}` };
}

/** Adds the joins: they name only documents that the caller may read. */
async function withJoins(call: Call, stored: readonly JsonObject[], joins: readonly Join[]): Promise<JsonObject[]> {
  const ids = stored.map(({ id }) => String(id));
  const found = await Promise.all(
    joins.map(async (join) => ({ name: join.name, of: await sourcesOf(call, join, ids) })),
  );
  return stored.map((document) => {
    const result = { ...document };
    for (const { name, of } of found) result[name] = of.get(String(document.id)) ?? [];
    return result;
  });
}

/**
 * The ids of the documents that refer to documents by a field, today or with `asOf`; only those that the caller may
 * read count for the limit.
 */
async function sourcesOf({ app, request }: RouteCall, join: Join, ids: readonly string[]): Promise<JoinSources> {
  const target = await collectionInView({ app, request }, join.collection);
  const call = target && { app, request, target };
  const scope = call && (await scopeOfRelated(call));
  if (!scope) return new Map();
  const { where } = scope;
  const row = await rowOf(call, scope, join.field.field);
  if (row === 'none') return new Map();
  const limit = row ? null : join.limit;
  const moment = asOfFor(request);
  const { view, tables } = call.target;
  const now = () => (view ? view.sources(join.field, { ids, where }) : join.sources({ ids, where, limit }));
  const sources = moment ? await app.past.sources(moment.position, { ...join.field, tables }, { ids, where }) : now();
  const readable = row && (await readableIn(call, [...sources.values()].flat(), row));
  const shown = [...sources].map(([id, all]) => {
    const some = readable ? all.filter((one) => readable.has(one)) : all;
    return [id, join.limit === null ? some : some.slice(0, join.limit)] as const;
  });
  return new Map(shown);
}

/**
 * The rule to ask about each document that refers by a field, joined with the rule of the field if that looks at the
 * document; `none`: a rule or a hook hides the field.
 */
async function rowOf(call: Call, { row }: ListScope, name: string): Promise<ListScope['row'] | 'none'> {
  const isIn = (fields: readonly Field[]) => fields.some((field) => field.name === name);
  if (isIn(await filterableFields(call))) return row;
  if (!isIn(queryableBy(call)) || !isIn(await selectableFields(call))) return 'none';
  return async (document) => {
    if (row && !(await row(document))) return false;
    return Object.hasOwn(await readableFields(call, document, String(document.id)), name);
  };
}

async function readableIn(
  call: Call,
  ids: readonly string[],
  passes: (document: JsonObject) => Promise<boolean>,
): Promise<Set<string>> {
  const readable = new Set<string>();
  for (const [id, text] of await someOf(call, { ids, where: null, only: null })) {
    if (await passes(JSON.parse(text))) readable.add(id);
  }
  return readable;
}

/**
 * The envelope of a list (contract, section 2.5) around documents that are text already, in pieces to send one after
 * the other: to join them would copy everything once more. A list with `after` has the next cursor and no page numbers.
 */
export function listTexts(docs: readonly string[], page: FoundCount, query: ListPosition): string[] {
  const texts = [start];
  for (const [index, doc] of docs.entries()) {
    if (index > 0) texts.push(',');
    texts.push(doc);
  }
  texts.push(endOf(page, query));
  return texts;
}

const start = '{"docs":[';

function endOf({ total, hasNext }: FoundCount, query: ListPosition): string {
  const { limit, page, after, count, next } = query;
  const totalPages = Math.ceil(total / limit);
  const isCounted = count === 'exact';
  const prevPage = page > 1 && totalPages > 0 ? Math.min(page - 1, totalPages) : null;
  // Written out: spreading objects would cost every list more than the rest of its envelope.
  const rest = after
    ? {
        total: isCounted ? total : null,
        limit,
        page: null,
        totalPages: null,
        hasNextPage: next !== null,
        hasPrevPage: after.mark !== null,
        nextPage: null,
        prevPage: null,
        next,
      }
    : {
        total: isCounted ? total : null,
        limit,
        page,
        totalPages: isCounted ? totalPages : null,
        hasNextPage: hasNext,
        hasPrevPage: prevPage !== null,
        nextPage: hasNext ? page + 1 : null,
        prevPage,
      };
  return `],${JSON.stringify(rest).slice(1)}`;
}

/** As {@link listTexts}, for pages of other things than documents. */
export function pageText(items: readonly object[], total: number, { limit, page }: PageRequest): string {
  const found = { texts: items.map((item) => JSON.stringify(item)), total, hasNext: page * limit < total };
  return listTexts(found.texts, found, { limit, page, after: null, count: 'exact', next: null }).join('');
}

type FoundCount = Pick<Page, 'total' | 'hasNext'>;

/** A query of a list, and the cursor of the next documents; null at the end. */
type ListPosition = Pick<ListQuery, 'limit' | 'page' | 'after' | 'count'> & { next: string | null };
