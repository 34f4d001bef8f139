import { DomainError, type FieldError } from '../config/errors.ts';
import { didYouMean, show, showAll } from '../config/suggest.ts';
import type { SortKey } from '../projections/documents.ts';

/** What a list was asked for, checked. */
export type ListQuery = { limit: number; page: number; sort: SortKey[] };

const defaultLimit = 10;
const maxLimit = 100;
/** Known to the contract, not built yet: refused by name rather than ignored. */
const unavailable = ['where', 'depth'];

/**
 * Reads the query of a list (contract, section 4.8).
 *
 * @param sortable the fields that the caller may sort by.
 * @throws DomainError `invalid` naming every wrong parameter.
 */
export function readListQuery(query: Record<string, unknown>, sortable: readonly string[]): ListQuery {
  const errors = unknownParameters(query, ['limit', 'page', 'sort']);
  const limit = readCount(query, 'limit', defaultLimit, errors);
  const page = readCount(query, 'page', 1, errors);
  const sort = readSort(query.sort, sortable, errors);
  refuse(errors);
  return { limit: Math.min(limit, maxLimit), page, sort };
}

/** Checks the query of a route that takes no parameters. */
export function readNoQuery(query: Record<string, unknown>): void {
  refuse(unknownParameters(query, []));
}

/** Names that begin with `_` pass: front ends add them to get past caches. */
function unknownParameters(query: Record<string, unknown>, allowed: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(query)) {
    const base = name.replace(/\[.*$/s, '');
    if (name.startsWith('_') || allowed.includes(name)) continue;
    const field = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    if (unavailable.includes(base)) errors.push({ field, message: `${base} is not available yet` });
    else {
      const known = allowed.length > 0 ? `; allowed: ${showAll(allowed)}` : '; this route takes none';
      errors.push({ field, message: `${field} is not a query parameter${didYouMean(name, allowed)}${known}` });
    }
  }
  return errors;
}

function readCount(query: Record<string, unknown>, name: string, fallback: number, errors: FieldError[]): number {
  const text = query[name];
  if (text === undefined) return fallback;
  const count = Number(text);
  if (typeof text === 'string' && /^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count;
  const came = Array.isArray(text) ? `${text.length} values` : show(text);
  errors.push({ field: name, message: `${name} must be one whole number from 1, got ${came}` });
  return fallback;
}

function readSort(text: unknown, sortable: readonly string[], errors: FieldError[]): SortKey[] {
  if (text === undefined) return [{ field: 'createdAt', isDescending: true }];
  if (typeof text !== 'string') {
    errors.push({ field: 'sort', message: 'sort must be given once; several fields are separated by commas' });
    return [];
  }
  return text.split(',').map((term) => {
    const isDescending = term.startsWith('-');
    const field = isDescending ? term.slice(1) : term;
    if (!sortable.includes(field)) {
      const message = `sort cannot be by ${show(field)}${didYouMean(field, sortable)}; allowed: ${showAll(sortable)}`;
      errors.push({ field: 'sort', message });
    }
    return { field, isDescending };
  });
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}
