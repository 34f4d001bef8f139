import type { Request, Server } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import { type TextField, textIn } from '../../../config/text-fields.ts';
import type { SearchTerm } from '../../../projections/tables/words.ts';
import { credentialNeeded } from '../../access/access.ts';
import { inView, readDraftsOfAny } from '../../access/draft-view.ts';
import { authorizeList, type ListScope, scopeOfRelated } from '../../access/list-scope.ts';
import type { App, Call, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { actorOf } from '../../http/requests.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { readQuery } from '../../queries/parameters.ts';
import { draftViewOf } from '../../queries/query.ts';
import type { RankedDocument } from '../../reads/ranking.ts';
import { type Best, perform, type Read } from '../../reads/reads.ts';
import { readMany } from '../read/reading.ts';
import { excerptOf } from './excerpts.ts';
import { searchOperation } from './operations.ts';
import { searchParameters, unknownCollections } from './parameters.ts';
import { type ListReader, passing, searchedBy, withSearch } from './searching.ts';
import { showableIn, titleOf } from './titles.ts';

/** A document as the answer names it. */
type Hit = AnswerOf<'Found'>['docs'][number];

/** The results in one collection. */
type SearchResult = Best & { call: Call; fields: readonly TextField[] };

type Hitting = Pick<SearchResult, 'call' | 'fields'> & Pick<RankedDocument, 'document' | 'score'>;

type SearchQuery = { terms: readonly SearchTerm[]; limit: number };

/** The route of the search in all collections. */
export function search(server: Server, app: App): void {
  const parameters = { ...searchParameters, ...draftViewOf(...app.model.collections.values()) };
  server.route({
    method: 'GET',
    path: '/api/search',
    options: { auth: strategy, plugins: { openApi: () => searchOperation(app.model) } },
    handler: async (request): Promise<AnswerOf<'Found'>> => {
      await readDraftsOfAny(app, request);
      const { q, limit, collections } = readQuery(parameters, request.query, app);
      const scopes = await scopesOf(app, request, collections);
      const found: SearchResult[] = [];
      for (const { call, scope } of scopes) found.push(await findIn(call, scope, { terms: q, limit }));
      const best = found
        .flatMap(({ best, call, fields }) =>
          best.map(({ text, score }): Hitting => ({ call, fields, score, document: JSON.parse(text) })),
        )
        .sort((one, other) => other.score - one.score || newer(one, other))
        .slice(0, limit);
      const docs = await Promise.all(best.map((one) => hitOf(one, q)));
      return { docs, total: found.reduce((sum, { total }) => sum + total, 0) };
    },
  });
}

type ScopedCall = { call: Call; scope: ListScope };

/**
 * The collections to search: the named ones, else all that the caller may read.
 *
 * @throws DomainError as a list of a named collection does; `unauthorized` if a caller without a credential may read
 * none; `validation_failed` for slugs of no collection, which names only collections that the caller may read.
 */
async function scopesOf(app: App, request: Request, slugs: readonly string[] | null): Promise<ScopedCall[]> {
  const unknown = slugs?.filter((slug) => !app.collections.has(slug)) ?? [];
  if (unknown.length > 0) {
    const readable = await scopesOf(app, request, null);
    throw unknownCollections(
      unknown,
      readable.map(({ call }) => call.target.slug),
    );
  }
  const scoped: ScopedCall[] = [];
  for (const target of targetsOf(app, slugs)) {
    const call = { app, request, target: await inView({ app, request }, target) };
    const scope = slugs ? await authorizeList(call) : await scopeOfRelated(call);
    if (scope) scoped.push({ call, scope });
  }
  if (scoped.length === 0 && actorOf(request).type === 'anonymous') throw credentialNeeded();
  return scoped;
}

function targetsOf({ collections }: App, slugs: readonly string[] | null): Target<Collection>[] {
  return [...collections.values()].filter(({ slug }) => slugs === null || slugs.includes(slug));
}

async function findIn(call: Call, { where, row }: ListScope, { terms, limit }: SearchQuery): Promise<SearchResult> {
  const fields = await searchedBy(call);
  const searched = await withSearch(call, where, { terms, fields });
  const read: Read<'best'> = { kind: 'best', request: { where: searched, limit, words: { terms, fields } } };
  const written = { hasWords: true };
  if (!row) return { call, fields, ...(await readMany(call, read, written)) };
  const every: ListReader = (request) => readMany(call, { kind: 'list', request }, written);
  // The rule is asked about each document that a list gives.
  const { count, groups } = call.target.documents;
  return { call, fields, ...(await perform(read, { count, groups, list: passing(every, { row, call }) })) };
}

/** The time at which a document was created: its id begins with it. */
function newer({ document: one }: Hitting, { document: other }: Hitting): number {
  return String(one.id) < String(other.id) ? 1 : -1;
}

async function hitOf({ call, fields, document }: Hitting, terms: readonly SearchTerm[]): Promise<Hit> {
  const { target } = call;
  const isShowable = await showableIn(call);
  const texts = fields.filter(({ path }) => isShowable(path)).map((field) => textIn(document, field));
  return {
    collection: target.slug,
    id: String(document.id),
    title: titleOf(target, document, isShowable),
    excerpt: excerptOf(texts, terms),
  };
}
