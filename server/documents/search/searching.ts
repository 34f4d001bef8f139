import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { fieldsOn, type TextField, textIn } from '../../../config/text-fields.ts';
import type { ListRequest, Page } from '../../../projections/lists.ts';
import type { Search } from '../../../projections/search.ts';
import type { Where } from '../../../projections/where.ts';
import { scoreOf, type Term } from '../../../projections/words.ts';
import { filterableFields } from '../../access/field-access.ts';
import type { Call } from '../../app.ts';
import { ownSortKeys } from '../../queries/paths.ts';

/** Of the documents that a search finds, the newest are put in order: as many as can be read whole in some milliseconds. */
export const mostRanked = 500;

/** The order in which documents are found. */
export const newestFirst = ownSortKeys('-createdAt', []);

/** The fields that a search of one collection looks into: those that the caller may read, whatever the document. */
export async function searchedBy(call: Call): Promise<readonly TextField[]> {
  const { searched } = call.target;
  const readable = await filterableFields(call);
  return searched.filter(({ path }) => fieldsOn(readable, path).length > 0);
}

/**
 * The condition of a search, beside another one.
 *
 * @throws DomainError `unavailable` when the index has not come in time to where the documents are.
 */
export async function withSearch(
  { app, target: { tables } }: Call,
  where: Where | null,
  { terms, fields }: Pick<Search, 'terms' | 'fields'>,
): Promise<Where> {
  if (app.search.servesWords(tables) && !(await app.search.ready())) {
    throw new DomainError('unavailable', 'the search index is behind the documents: try again later', [], 1);
  }
  const search: Where = { search: { terms, fields, index: app.search.wordsOf(tables, fields) } };
  return where ? { and: [search, where] } : search;
}

/** A document that was found: as it is stored, and how well it fits. */
export type Ranked = { text: string; document: JsonObject; score: number };

/** Puts documents into the order of how well they fit; of those that fit alike, the order stays. */
export function rank(texts: readonly string[], terms: readonly Term[], fields: readonly TextField[]): Ranked[] {
  return texts
    .map((text) => {
      const document: JsonObject = JSON.parse(text);
      return {
        text,
        document,
        score: scoreOf(
          fields.map((field) => textIn(document, field)),
          terms,
        ),
      };
    })
    .sort((one, other) => other.score - one.score);
}

/** Gives pages of documents. */
export type List = (request: ListRequest) => Promise<Page>;

/** The documents of lists that pass a rule which is asked about each of them. */
export function passing(list: List, passes: (document: JsonObject) => Promise<boolean>): List {
  return async (request) => {
    const texts: string[] = [];
    for (const text of (await list({ ...request, limit: -1, page: 1 })).texts) {
      if (await passes(JSON.parse(text))) texts.push(text);
    }
    const { limit, page } = request;
    return {
      texts: texts.slice((page - 1) * limit, page * limit),
      total: texts.length,
      hasNext: texts.length > page * limit,
    };
  };
}

type Ordered = { terms: readonly Term[]; fields: readonly TextField[]; list: List };

/**
 * A page of what a search finds, those that fit best first: of the newest {@link mostRanked}. The others follow, the newest first.
 *
 * @param request without its sort.
 */
export async function rankedPage(request: ListRequest, { terms, fields, list }: Ordered): Promise<Page> {
  const { limit, page } = request;
  const start = (page - 1) * limit;
  const newest = { ...request, sort: newestFirst };
  const plain = start + limit > mostRanked ? await list(newest) : null;
  if (plain && start >= mostRanked) return plain;
  const found = await list({ ...newest, limit: mostRanked, page: 1 });
  const ranked = rank(found.texts, terms, fields).slice(start, start + limit);
  // Where both meet on a page, the ranked ones are as many as its first places.
  const rest = plain ? plain.texts.slice(mostRanked - start) : [];
  const hasNext = plain?.hasNext ?? (found.hasNext || found.texts.length > start + limit);
  return { texts: [...ranked.map(({ text }) => text), ...rest], total: found.total, hasNext };
}
