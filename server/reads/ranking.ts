import type { JsonObject } from '../../config/schema.ts';
import { type TextField, textIn } from '../../config/text-fields.ts';
import type { ListRequest, Page } from '../../projections/query/lists.ts';
import { requireUninterrupted } from '../../projections/tables/interruption.ts';
import { type SearchTerm, scorerOf } from '../../projections/tables/words.ts';
import { ownSortKeys } from '../queries/paths.ts';

/**
 * How many of the documents that a search finds are ranked, the newest: as many as can be read whole in some
 * milliseconds.
 */
export const mostRanked = 500;

/** The order in which documents are found. */
export const newestFirst = ownSortKeys('-createdAt', []);

/** A found document: as it is stored, and how well it fits. */
export type RankedDocument = { text: string; document: JsonObject; score: number };

/** Sorts documents by how well they fit; documents that fit equally well keep their order. */
export function rank(
  texts: readonly string[],
  terms: readonly SearchTerm[],
  fields: readonly TextField[],
): RankedDocument[] {
  const scoreOf = scorerOf(terms);
  return texts
    .map((text) => {
      requireUninterrupted();
      const document: JsonObject = JSON.parse(text);
      return { text, document, score: scoreOf(fields.map((field) => textIn(document, field))) };
    })
    .sort((one, other) => other.score - one.score);
}

/** Gives pages of documents, the newest first. */
export type Newest = (request: Pick<ListRequest, 'limit' | 'page'>) => Promise<Page>;

type RankedSearch = { terms: readonly SearchTerm[]; fields: readonly TextField[]; newest: Newest };

/**
 * A page of the documents that a search finds. The newest {@link mostRanked} come first, sorted by how well they fit;
 * the others follow, the newest first.
 */
export async function rankedPage(
  { limit, page }: Pick<ListRequest, 'limit' | 'page'>,
  { terms, fields, newest }: RankedSearch,
): Promise<Page> {
  const start = (page - 1) * limit;
  const plain = start + limit > mostRanked ? await newest({ limit, page }) : null;
  if (plain && start >= mostRanked) return plain;
  const found = await newest({ limit: mostRanked, page: 1 });
  const ranked = rank(found.texts, terms, fields).slice(start, start + limit);
  // If both meet on a page, the ranked documents fill its first places.
  const rest = plain ? plain.texts.slice(mostRanked - start) : [];
  const hasNext = plain?.hasNext ?? (found.hasNext || found.texts.length > start + limit);
  return { texts: [...ranked.map(({ text }) => text), ...rest], total: found.total, hasNext };
}
