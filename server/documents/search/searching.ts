import { DomainError } from '../../../config/errors.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { fieldsOn, type TextField } from '../../../config/text-fields.ts';
import type { ListRequest, Page } from '../../../projections/query/lists.ts';
import type { Search } from '../../../projections/query/search.ts';
import type { Where } from '../../../projections/query/where.ts';
import { filterableFields } from '../../access/field-access.ts';
import type { Call } from '../../app.ts';
import { paceOf } from '../read/reading.ts';

/** The fields that a search of a collection looks into: those that the caller may filter by. */
export async function searchedBy(call: Call): Promise<readonly TextField[]> {
  const { searched } = call.target;
  const readable = await filterableFields(call);
  return searched.filter(({ path }) => fieldsOn(readable, path).length > 0);
}

/**
 * The condition of a search, beside another one.
 *
 * @throws DomainError `unavailable` if the index does not catch up with the documents in time.
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

/** A rule that is asked about each document, for a call. */
type RowCall = { row: (document: JsonObject) => Promise<boolean>; call: Call };

/** The documents that pass a rule. @throws DomainError `unavailable` if that takes too long. */
export async function passed(texts: readonly string[], { row, call }: RowCall): Promise<string[]> {
  const pace = paceOf(call);
  const found: string[] = [];
  for (const text of texts) {
    if (await row(JSON.parse(text))) found.push(text);
    await pace();
  }
  return found;
}

/** Reads pages of documents. */
export type ListReader = (request: ListRequest) => Promise<Page>;

/** Makes a list of the documents that pass a rule, which is asked about each. */
export function passing(list: ListReader, asked: RowCall): ListReader {
  return async (request) => {
    const texts = await passed((await list({ ...request, limit: -1, page: 1 })).texts, asked);
    const { limit, page } = request;
    return {
      texts: texts.slice((page - 1) * limit, page * limit),
      total: texts.length,
      hasNext: texts.length > page * limit,
    };
  };
}
