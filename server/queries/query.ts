import { cutField, DomainError, type FieldError, invalidField } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { ListRequest } from '../../projections/lists.ts';
import type { Where } from '../../projections/where.ts';
import { type Reach, readSort } from './paths.ts';
import { isWhereParameter, maxQueryErrors, readWhere } from './where.ts';

/** What a list was asked for, checked. */
export type ListQuery = ListRequest & { depth: number };

const defaultLimit = 10;
const maxLimit = 100;
const maxDepth = 10;
const newestFirst: ListRequest['sort'] = [
  { steps: [], leaf: { name: 'createdAt', kind: 'number' }, isDescending: true },
];

/**
 * Reads the query of a list (contract, sections 4.8 and 4.9).
 *
 * @param reach what the caller may filter and sort by.
 * @throws DomainError `invalid` naming every wrong parameter.
 */
export async function readListQuery(query: Record<string, unknown>, reach: () => Promise<Reach>): Promise<ListQuery> {
  const parameters = ['limit', 'page', 'sort', 'depth', 'where', 'asOf'];
  const names = Object.keys(query);
  const errors = unknownParameters(query, parameters);
  const limit = readCount(query, 'limit', 1, defaultLimit, errors);
  const page = readCount(query, 'page', 1, 1, errors);
  const depth = readCount(query, 'depth', 0, 0, errors);
  const isPlain = query.sort === undefined && !names.some(isWhereParameter);
  const found = isPlain ? null : await reach();
  const sort = found && query.sort !== undefined ? await sortOf(query.sort, found, errors) : newestFirst;
  const where = found && (await whereOf(query, found, errors));
  refuse(errors);
  return { where, sort, limit: Math.min(limit, maxLimit), page, depth: Math.min(depth, maxDepth) };
}

/** Reads the query of a single document or global: only `depth`; `asOf` is read elsewhere. */
export function readDepth(query: Record<string, unknown>): number {
  const errors = unknownParameters(query, ['depth', 'asOf']);
  const depth = readCount(query, 'depth', 0, 0, errors);
  refuse(errors);
  return Math.min(depth, maxDepth);
}

/** Checks the query of a route that takes no parameters. */
export function readNoQuery(query: Record<string, unknown>): void {
  readOnly(query, []);
}

/** @throws DomainError naming every parameter that is none of these. */
export function readOnly(query: Record<string, unknown>, allowed: readonly string[]): void {
  refuse(unknownParameters(query, allowed));
}

/** At most 50 of them. Names that begin with `_` pass: front ends add them to get past caches. */
export function unknownParameters(query: Record<string, unknown>, allowed: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(query)) {
    if (name.startsWith('_') || allowed.includes(name)) continue;
    if (allowed.includes('where') && isWhereParameter(name)) continue;
    if (errors.length === maxQueryErrors) break;
    const field = cutField(name, 100);
    const known = allowed.length > 0 ? `; allowed: ${showAll(allowed)}` : '; this route takes none';
    errors.push({ field, message: `${field} is not a query parameter${didYouMean(name, allowed)}${known}` });
  }
  return errors;
}

/** A parameter that is a count: a whole number from `least`; what is wrong with it goes to `errors`. */
export function readCount(
  query: Record<string, unknown>,
  name: string,
  least: number,
  fallback: number,
  errors: FieldError[],
): number {
  const text = query[name];
  return text === undefined ? fallback : (caught(errors, () => readWhole(text, name, least)) ?? fallback);
}

/** Reads a whole number from `least`. @throws DomainError `invalid` naming the parameter. */
export function readWhole(text: unknown, name: string, least: number): number {
  const number = Number(text);
  if (typeof text === 'string' && /^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number;
  throw invalidField(name, `must be one whole number from ${least}, ${cameOf(text)}`);
}

function cameOf(text: unknown): string {
  if (text === undefined) return 'it is missing';
  return `got ${Array.isArray(text) ? `${text.length} values` : show(text)}`;
}

/** Runs what reads one of several parameters: what it refuses goes to `errors`, to be told with all else that is wrong. */
export function caught<T>(errors: FieldError[], read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'invalid')) throw error;
    errors.push(...error.errors);
    return null;
  }
}

async function sortOf(text: unknown, reach: Reach, errors: FieldError[]): Promise<ListRequest['sort']> {
  if (typeof text !== 'string') {
    errors.push({ field: 'sort', message: 'sort must be given once; several fields are separated by commas' });
    return newestFirst;
  }
  const { keys, problems } = await readSort(text, reach);
  for (const message of problems) errors.push({ field: 'sort', message });
  return keys;
}

async function whereOf(query: Record<string, unknown>, reach: Reach, errors: FieldError[]): Promise<Where | null> {
  try {
    return await readWhere(query, reach);
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'invalid')) throw error;
    errors.push(...error.errors);
    return null;
  }
}

/** @throws DomainError `invalid` naming all that was found to be wrong; nothing when nothing was. */
export function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}

/** Reads whether a call is only to say what it would do. */
export function readDryRun(query: Record<string, unknown>): boolean {
  const errors = unknownParameters(query, ['dryRun']);
  const { dryRun = 'false' } = query;
  if (dryRun !== 'true' && dryRun !== 'false') {
    errors.push({ field: 'dryRun', message: `dryRun must be true or false, ${cameOf(dryRun)}` });
  }
  refuse(errors);
  return dryRun === 'true';
}

/** Reads the token of a preview, of whatever form. */
export function readPreviewQuery(query: Record<string, unknown>): string {
  const errors = unknownParameters(query, ['token']);
  const { token } = query;
  const text = typeof token === 'string' ? token : '';
  if (text === '') errors.push({ field: 'token', message: `token must be that of a preview, ${cameOf(token)}` });
  refuse(errors);
  return text;
}

/** Reads the query of a list that goes back along the log: at most `limit` of those before a position. */
export function readErasuresQuery(query: Record<string, unknown>): { before: number; limit: number } {
  const errors = unknownParameters(query, ['before', 'limit']);
  const before = readCount(query, 'before', 1, Number.MAX_SAFE_INTEGER, errors);
  const limit = readCount(query, 'limit', 1, maxLimit, errors);
  refuse(errors);
  return { before, limit: Math.min(limit, maxLimit) };
}
