import { type FieldError, inQuery, type Problem } from '../../config/errors.ts';
import { hasDrafts } from '../../config/traits.ts';
import type { ListRequest } from '../../projections/query/lists.ts';
import type { SearchTerm } from '../../projections/tables/words.ts';
import type { ListPoint } from './cursors.ts';
import { pageLimits } from './limits.ts';
import { moment, type Now } from './moments.ts';
import {
  addTo,
  askedOf,
  count,
  describedOnly,
  flag,
  isWhereParameter,
  oneOf,
  type Query,
  settle,
  tell,
  text,
} from './parameters.ts';
import { ownSortKeys, readSort, type SearchReach } from './paths.ts';
import { searchWords } from './search-words.ts';
import { readSelect, type Selectable, type Selection, type View } from './selection.ts';
import { readWhere } from './where.ts';

/** The words of `q`. `isRanked`: documents come in the order of how well they match. */
type AskedSearch = { terms: readonly SearchTerm[]; isRanked: boolean };

/**
 * A checked query of a list. `after` is the point after which the list begins, null for a list by pages. With `asOf` it
 * has the position that the first page was read at.
 */
export type ListQuery = Required<Pick<ListRequest, 'where' | 'sort' | 'limit' | 'page' | 'count'>> & {
  view: View;
  after: Start | null;
  search: AskedSearch | null;
};

/** A point in a list; both are null at the beginning. */
type Start = { [Part in keyof ListPoint]: ListPoint[Part] | null };

/**
 * The fields that the caller may filter and sort by, and those that it may select: asked for only if a query needs
 * them.
 */
type Sight = {
  reach: () => Promise<SearchReach>;
  selectable: () => Promise<Selectable>;
  /** Reads a cursor. @throws DomainError `validation_failed`. */
  placeOf: (cursor: string) => ListPoint;
  views: Views;
};

const newestFirst = '-createdAt';
const newestFirstKeys = ownSortKeys(newestFirst, []);

const depth = count({ least: 0, most: 10, otherwise: 0 }, 'The levels of related documents that replace their ids');
const asOf = moment(
  'Reads the state at a moment of the past: a position of the log, a date and time with a zone, or a date, which is the ' +
    'end of its day in UTC.',
);

/** The view of a query without `depth` and `select`, as most are. */
const unasked: View = { depth: 0, select: null };

const select = describedOnly(
  'Paths of fields, separated by commas: documents have only their `id` and these members, so the schemas of documents ' +
    'promise no other. A path through a relationship or join replaces the ids by the related documents, with their ' +
    'selected fields.',
  { minLength: 1 },
);

/** The parameter of reads where there are drafts. */
export const draftViewParameter = {
  draft: flag(
    false,
    'True: reads the newest state of each document, the draft where there is one. Needs the right to read drafts. ' +
      'Documents then have `__status` (`published`, `changed` or `draft`), `__publishedAt` and `__review`.',
  ),
};

/** The parameter `draft`, if one of these targets has drafts. */
export function draftViewOf(...targets: readonly { drafts: object | null }[]): Partial<typeof draftViewParameter> {
  return targets.some(({ drafts }) => drafts !== null) ? draftViewParameter : {};
}

/** The parameters of reads of the site as it would be. */
const previewParameters = {
  release: text(
    'The id of a release: reads the site as it would be if the release were published now. Needs the right to read ' +
      'releases; drafts that the caller may not read are left out. Cannot be combined with `asOf`, `draft` and `q`.',
  ),
  preview: text(
    'A preview token, which may also come in the header `annals-preview`: reads what the token shows; no credential ' +
      'counts. A token that is wrong, has expired or was taken away is a 401.',
  ),
};

/** The parameters of a read that say which state it sees, beside `asOf`; none if nothing in the model has drafts. */
type Views = Partial<typeof draftViewParameter & typeof previewParameters>;

/** The parameters of reads of some targets of a model. */
export function viewsOf(
  model: Parameters<typeof hasDrafts>[0],
  ...targets: readonly { drafts: object | null }[]
): Views {
  return hasDrafts(model) ? { ...draftViewOf(...targets), ...previewParameters } : {};
}

/** The query of a read of a global. */
export const readParameters = { depth: tell(depth, { example: 1 }), select, asOf };

/** The query of a read of a document. */
export const documentParameters = {
  ...readParameters,
  proven: flag(
    false,
    'With `asOf`: the document is computed from its events, each proven as it is read, and not taken from the read tables. ' +
      'Cannot be combined with `depth` and `select`; fields of the type `join` are left out.',
  ),
};

/** A query that has only the moment. */
export const momentParameter = { asOf };

const searchText =
  'Only documents whose texts contain each of these words. Case and accents do not matter, the last word may be the ' +
  'beginning of a longer one, and words in quotation marks must follow one another. Without `sort`, the best matches ' +
  'come first. Cannot be combined with `asOf`.';

/** The query of a list (contract, sections 4.8 and 4.9). */
export const listParameters = {
  limit: tell(count(pageLimits, 'Documents per page'), { example: 20 }),
  page: count({ least: 1, otherwise: 1 }, 'The page, from 1.'),
  next: describedOnly(
    'In place of `page`: empty to begin, then the `next` of each answer. All other parameters but `limit` and ' +
      '`count` must stay the same.',
  ),
  count: oneOf(
    ['exact', 'none'],
    'exact',
    '`none`: the documents are not counted, and `total` and `totalPages` are null.',
  ),
  sort: describedOnly(`Paths of fields, as in \`where\`, separated by commas, with \`-\` in front for descending.`, {
    minLength: 1,
    default: newestFirst,
  }),
  depth: readParameters.depth,
  select,
  where: describedOnly(
    'A filter: `where[<field>][<operator>]=<value>`, `where[or][0][<field>][<operator>]=<value>`; or as JSON in `where`.',
  ),
  // Without an example: the documentation page would send it with each call.
  q: searchWords(searchText),
  asOf,
};

/** The query of a write where there are drafts. */
export const draftParameter = {
  draft: flag(false, 'True: the request is about the draft, and changes nothing that is public.'),
};

/** The query of a call that may be a dry run. */
export const dryRunParameter = {
  dryRun: flag(false, 'True: nothing is done, and the answer shows what would be done.'),
};

const noPastSearch: FieldError = {
  ...inQuery('q', 'contradiction'),
  message: 'q cannot be used with asOf: only the documents of today are searched',
};

/**
 * Reads the query of a list.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export async function readListQuery(query: Query, now: Now, sight: Sight): Promise<ListQuery> {
  const asked = askedOf<Now, typeof listParameters>({ ...listParameters, ...sight.views }, query, now);
  const { errors } = asked;
  const isPlain = query.sort === undefined && !Object.keys(query).some(isWhereParameter);
  const found = isPlain ? null : await sight.reach();
  const sort = found && query.sort !== undefined ? await sortOf(query.sort, found, errors) : newestFirstKeys;
  const where = found && (await readWhere(query, found).catch((error: unknown) => addTo(errors, error)));
  const select = query.select === undefined ? null : await selectOf(query.select, sight.selectable, errors);
  const after = startOf(query, sight.placeOf, errors);
  if (query.q !== undefined && query.asOf !== undefined) errors.push(noPastSearch);
  const { limit, page, depth, count, q } = settle(asked);
  const search = q && { terms: q, isRanked: query.sort === undefined };
  return { where: where ?? null, sort, limit, page, count, after, view: { depth, select }, search };
}

/** The query of a count. */
export const countParameters = { where: listParameters.where, q: listParameters.q, asOf };

/** The documents to count; null for all. */
export type CountQuery = { where: ListRequest['where']; terms: readonly SearchTerm[] | null };

/**
 * Reads the query of a count.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export async function readCountQuery(
  query: Query,
  now: Now,
  { reach, views }: Pick<Sight, 'reach' | 'views'>,
): Promise<CountQuery> {
  const asked = askedOf<Now, typeof countParameters>({ ...countParameters, ...views }, query, now);
  const isPlain = !Object.keys(query).some(isWhereParameter);
  const where = isPlain
    ? null
    : await readWhere(query, await reach()).catch((error: unknown) => addTo(asked.errors, error));
  if (query.q !== undefined && query.asOf !== undefined) asked.errors.push(noPastSearch);
  const { q } = settle(asked);
  return { where: where ?? null, terms: q };
}

/**
 * Reads the query of a global.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export async function readView(query: Query, now: Now, sight: ViewSight): Promise<View> {
  if (Object.keys(query).length === 0) return unasked;
  const parameters = { ...readParameters, ...sight.views };
  return viewOf(query, askedOf<Now, typeof readParameters>(parameters, query, now), sight.selectable);
}

type ViewSight = Pick<Sight, 'selectable' | 'views'>;

/** As {@link readView}, of a document. */
export async function readDocumentView(query: Query, now: Now, { selectable, views }: ViewSight): Promise<View> {
  if (Object.keys(query).length === 0) return unasked;
  const parameters = { ...documentParameters, ...views };
  const asked = askedOf<Now, typeof readParameters>(parameters, query, now);
  if (query.proven === 'true') asked.errors.push(...againstProven(query));
  return viewOf(query, asked, selectable);
}

async function viewOf(
  query: Query,
  asked: ReturnType<typeof askedOf<Now, typeof readParameters>>,
  selectable: Sight['selectable'],
): Promise<View> {
  const select = query.select === undefined ? null : await selectOf(query.select, selectable, asked.errors);
  const { depth } = settle(asked);
  return { depth, select };
}

/** The problems of `proven`: only the document itself follows from its events. */
function againstProven(query: Query): FieldError[] {
  if (query.asOf === undefined)
    return [
      {
        ...inQuery('proven', 'contradiction'),
        message: 'proven goes with asOf only: with asOf, the position of now is that of the last event',
      },
    ];
  return ['depth', 'select', 'draft']
    .filter((name) => query[name] !== undefined)
    .map((field) => ({
      ...inQuery(field, 'contradiction'),
      message: `${field} cannot be used with proven: only the document itself is made of its events`,
    }));
}

async function sortOf(text: unknown, reach: SearchReach, errors: FieldError[]): Promise<ListRequest['sort']> {
  if (!isOneText(text, 'sort', errors)) return newestFirstKeys;
  const { keys, problems } = await readSort(text, reach);
  errors.push(...entriesOf('sort', problems));
  return keys;
}

async function selectOf(
  text: unknown,
  selectable: Sight['selectable'],
  errors: FieldError[],
): Promise<Selection | null> {
  if (!isOneText(text, 'select', errors)) return null;
  const { selection, problems } = await readSelect(text, await selectable());
  errors.push(...entriesOf('select', problems));
  return selection;
}

function entriesOf(field: string, problems: readonly Problem[]): FieldError[] {
  return problems.map(({ problem, code, ...parameters }) => ({
    ...inQuery(field, code, parameters),
    message: problem,
  }));
}

function startOf({ next, page, q, sort }: Query, readCursor: Sight['placeOf'], errors: FieldError[]): Start | null {
  if (next === undefined) return null;
  if (typeof next !== 'string') errors.push({ ...inQuery('next', 'duplicate'), message: 'next must be given once' });
  else if (page !== undefined)
    errors.push({
      ...inQuery('next', 'contradiction'),
      message: 'next must not stand beside page: it takes its place',
    });
  else if (q !== undefined && sort === undefined)
    errors.push({
      ...inQuery('next', 'contradiction'),
      message: 'next must not stand beside q without sort: the order by fit has no cursor',
    });
  else if (next !== '') {
    try {
      return readCursor(next);
    } catch (error) {
      addTo(errors, error);
    }
  }
  return { mark: null, position: null };
}

function isOneText(text: unknown, field: string, errors: FieldError[]): text is string {
  if (typeof text === 'string') return true;
  errors.push({
    ...inQuery(field, 'duplicate'),
    message: `${field} must be given once; several fields are separated by commas`,
  });
  return false;
}
