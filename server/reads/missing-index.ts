import type { FieldError } from '../../config/errors.ts';
import type { Tables } from '../../projections/tables.ts';
import type { Leaf, SortKey, Step, Where } from '../../projections/where.ts';
import { hasIndex } from './weight.ts';

/** The part of a read that its caller has written. The conditions of rules are not: no message may tell of them. */
export type Written = { where?: Where | null; sort?: readonly SortKey[]; hasWords?: boolean };

const equal: ReadonlySet<string> = new Set(['equals', 'in', 'contains']);
const ordered: ReadonlySet<string> = new Set(['greater_than', 'greater_than_equal', 'less_than', 'less_than_equal']);

/** The parameter that asks for what no index finds, and the index that would; null where none would help. */
export function missingIndex(written: Written, tables: Tables, hasWordIndex: boolean): FieldError | null {
  const { where = null, sort = [], hasWords = false } = written;
  if (hasWords && !hasWordIndex) {
    const needed = `name the fields to search in admin.searchFields of ${tables.name}`;
    return problem('q', `looks through all texts of ${tables.name}, which takes too long here: ${needed}`);
  }
  return (where && missingFor(where, tables)) ?? missingForOrder(sort, tables);
}

function missingFor(where: Where, tables: Tables): FieldError | null {
  // One that an index finds is enough where all must be met.
  if ('and' in where) {
    const parts = where.and.map((part) => missingFor(part, tables));
    return parts.every((part) => part !== null) ? (parts[0] ?? null) : null;
  }
  if ('or' in where) return where.or.map((part) => missingFor(part, tables)).find((part) => part !== null) ?? null;
  if ('today' in where || 'search' in where) return null;
  const { operator } = where;
  const isServable = equal.has(operator) || ordered.has(operator) || (operator === 'like' && !where.trigrams);
  return isServable ? missingAt('where', where, tables) : null;
}

function missingForOrder([key, ...rest]: readonly SortKey[], tables: Tables): FieldError | null {
  return key && rest.length === 0 ? missingAt('sort', key, tables) : null;
}

function missingAt(parameter: string, path: { steps: readonly Step[]; leaf: Leaf }, tables: Tables): FieldError | null {
  const last = path.steps.findLastIndex(({ kind }) => kind === 'related');
  const related = path.steps[last];
  const end = related?.kind === 'related' ? related.tables : tables;
  const rest = { steps: path.steps.slice(last + 1), leaf: path.leaf };
  // Items of lists have no index, nor has JSON.
  if (rest.steps.some(({ kind }) => kind === 'items') || ['list', 'json'].includes(path.leaf.kind)) return null;
  if (hasIndex(rest, end)) return null;
  const name = [...rest.steps, path.leaf].map((one) => one.name).join('.');
  return problem(
    parameter,
    `goes by ${name} of ${end.key}, which has no index and takes too long here: set index: true of that field`,
  );
}

function problem(field: string, text: string): FieldError {
  return { field, message: `${field} ${text}` };
}
