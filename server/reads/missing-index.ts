import type { FieldError } from '../../config/errors.ts';
import type { Schema } from '../../config/schema.ts';
import { measured } from '../../projections/query/lists.ts';
import type { Leaf, SortKey, Step, Where } from '../../projections/query/where.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import type { Missing } from './missing-list.ts';
import { type Read, searches, whereOf } from './reads.ts';
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
  const byCondition = where && missingFor(where, tables);
  if (byCondition) return problem('where', goesBy(byCondition));
  const byOrder = missingForOrder(sort, tables);
  return byOrder && problem('sort', goesBy(byOrder));
}

/** A read that took long: `total` is how many documents met its condition, null where it did not come to its end. */
export type Slow = { read: Read; total: number | null };

/**
 * The indexes that a read that took long was without, also for the conditions of rules: for the operator, not for its
 * caller.
 */
export function missingIn({ read, total }: Slow, tables: Tables, hasWordIndex: boolean): Missing[] {
  const where = whereOf(read);
  if (searches(where)) return hasWordIndex ? [] : [{ collection: tables.name, field: null }];
  const byOrder = read.kind === 'list' ? missingForOrder(read.request.sort, tables) : null;
  const byCondition = where && missingFor(where, tables);
  // Among many, a page is found in the order of an index alone.
  if (byOrder && total !== null && isMany(read, total)) return [byOrder];
  return [byOrder, byCondition].filter((one) => one !== null);
}

function isMany(read: Read, total: number): boolean {
  if (read.kind !== 'list') return false;
  const { limit, page } = read.request;
  return limit > 0 && total > measured.many * page * limit;
}

/** Those of some indexes that a schema still has not, of fields that it has. */
export function stillMissing<M extends Missing>(listed: readonly M[], schema: Schema): M[] {
  if (listed.length === 0) return [];
  const all = new Map(tablesOf(schema).map((tables) => [tables.name, tables]));
  const withWords = new Set(schema.collections.filter(({ admin }) => admin?.searchFields).map(({ slug }) => slug));
  return listed.filter(({ collection, field }) => {
    const tables = all.get(collection);
    if (!tables || field === null) return tables !== undefined && !withWords.has(collection);
    const [first] = field.split('.');
    if (!tables.fields.some(({ name }) => name === first)) return false;
    return !tables.columns.some(({ path, isIndexed }) => isIndexed && path.join('.') === field);
  });
}

function missingFor(where: Where, tables: Tables): Missing | null {
  // One that an index finds is enough where all must be met.
  if ('and' in where) {
    const parts = where.and.map((part) => missingFor(part, tables));
    return parts.every((part) => part !== null) ? (parts[0] ?? null) : null;
  }
  if ('or' in where) return where.or.map((part) => missingFor(part, tables)).find((part) => part !== null) ?? null;
  if ('today' in where || 'search' in where) return null;
  const { operator } = where;
  const isServable = equal.has(operator) || ordered.has(operator) || (operator === 'like' && !where.trigrams);
  return isServable ? missingAt(where, tables) : null;
}

function missingForOrder([key, ...rest]: readonly SortKey[], tables: Tables): Missing | null {
  return key && rest.length === 0 ? missingAt(key, tables) : null;
}

function missingAt(path: { steps: readonly Step[]; leaf: Leaf }, tables: Tables): Missing | null {
  const last = path.steps.findLastIndex(({ kind }) => kind === 'related');
  const related = path.steps[last];
  const end = related?.kind === 'related' ? related.tables : tables;
  const rest = { steps: path.steps.slice(last + 1), leaf: path.leaf };
  // Items of lists have no index, nor has JSON.
  if (rest.steps.some(({ kind }) => kind === 'items') || ['list', 'json'].includes(path.leaf.kind)) return null;
  if (hasIndex(rest, end)) return null;
  return { collection: end.name, field: [...rest.steps, path.leaf].map(({ name }) => name).join('.') };
}

function goesBy({ collection, field }: Missing): string {
  return `goes by ${field} of ${collection}, which has no index and takes too long here: set index: true of that field`;
}

function problem(field: string, text: string): FieldError {
  return { field, message: `${field} ${text}` };
}
