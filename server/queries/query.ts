import type { FieldError } from '../../config/errors.ts';
import type { ListRequest } from '../../projections/lists.ts';
import type { Term } from '../../projections/words.ts';
import { moment, type Now } from './moments.ts';
import {
  addTo,
  askedOf,
  count,
  flag,
  isWhereParameter,
  type Query,
  readElsewhere,
  settle,
  tell,
} from './parameters.ts';
import { ownSortKeys, type Reach, readSort } from './paths.ts';
import { searchWords } from './search-words.ts';
import { readWhere } from './where.ts';

/** A checked query of a list. */
export type ListQuery = ListRequest & {
  depth: number;
  /** The words of `q`; null without it. `isRanked`: in the order of how well documents fit. */
  search: { terms: readonly Term[]; isRanked: boolean } | null;
};

const newestFirst = '-createdAt';
const newestFirstKeys = ownSortKeys(newestFirst, []);

const depth = count(
  { least: 0, most: 10, otherwise: 0 },
  'How many levels of related documents stand in the place of their ids',
);
const asOf = moment(
  'Reads as of then: a position of the log, a date and time with a zone, or a date, which is the end of its day in UTC.',
);

/** The query of a document or global that is read. */
export const readParameters = { depth: tell(depth, { example: 1 }), asOf };

/** A query that says nothing but the moment. */
export const momentParameter = { asOf };

const searchText =
  'Only documents whose texts hold each of these words. Case and accents count for nothing, the last word may be the beginning of ' +
  'one, and words in quotation marks stand one after the other. Without `sort` those that fit best come first. Not with `asOf`.';

/** The query of a list (contract, sections 4.8 and 4.9). */
export const listParameters = {
  limit: tell(count({ least: 1, most: 100, otherwise: 10 }, 'Documents per page'), { example: 20 }),
  page: count({ least: 1, otherwise: 1 }, 'The page, from 1.'),
  sort: readElsewhere('Paths of fields, separated by commas, with `-` in front for descending.', {
    minLength: 1,
    default: newestFirst,
  }),
  depth: readParameters.depth,
  where: readElsewhere(
    'A filter: `where[<field>][<operator>]=<value>`, `where[or][0][<field>][<operator>]=<value>`; or as JSON in `where`.',
  ),
  q: tell(searchWords(searchText), { example: 'annual report' }),
  asOf,
};

/** The query of a call that has a dry run. */
export const dryRunParameter = { dryRun: flag(false, 'True: nothing is done, and the answer tells what would be.') };

const noPastSearch: FieldError = {
  field: 'q',
  message: 'q cannot be used with asOf: only the documents of today are searched',
};

/**
 * Reads the query of a list.
 *
 * @param reach what the caller may filter and sort by.
 * @throws DomainError `invalid` naming every wrong parameter.
 */
export async function readListQuery(query: Query, now: Now, reach: () => Promise<Reach>): Promise<ListQuery> {
  const asked = askedOf(listParameters, query, now);
  const { errors } = asked;
  const isPlain = query.sort === undefined && !Object.keys(query).some(isWhereParameter);
  const found = isPlain ? null : await reach();
  const sort = found && query.sort !== undefined ? await sortOf(query.sort, found, errors) : newestFirstKeys;
  const where = found && (await readWhere(query, found).catch((error: unknown) => addTo(errors, error)));
  if (query.q !== undefined && query.asOf !== undefined) errors.push(noPastSearch);
  const { limit, page, depth, q } = settle(asked);
  const search = q && { terms: q, isRanked: query.sort === undefined };
  return { where: where ?? null, sort, limit, page, depth, search };
}

async function sortOf(text: unknown, reach: Reach, errors: FieldError[]): Promise<ListRequest['sort']> {
  if (typeof text !== 'string') {
    errors.push({ field: 'sort', message: 'sort must be given once; several fields are separated by commas' });
    return newestFirstKeys;
  }
  const { keys, problems } = await readSort(text, reach);
  for (const message of problems) errors.push({ field: 'sort', message });
  return keys;
}
