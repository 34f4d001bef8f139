import type { FieldError } from '../../config/errors.ts';
import type { ErrorPlace } from '../../config/field-error-codes.ts';
import type { Schema } from '../../config/schema.ts';
import { measured } from '../../projections/query/lists.ts';
import type { Leaf, PathStep, SortKey, Where } from '../../projections/query/where.ts';
import { type Tables, tablesOf } from '../../projections/tables/tables.ts';
import type { Missing } from './missing-list.ts';
import { type Read, searches, whereOf } from './reads.ts';
import { hasIndex } from './weight.ts';

/**
 * The part of a read that its caller has written, in the query unless `place` says otherwise. It leaves out the
 * conditions of rules, which no message may reveal.
 */
export type CallerQuery = { where?: Where | null; sort?: readonly SortKey[]; hasWords?: boolean; place?: ErrorPlace };

const equal: ReadonlySet<string> = new Set(['equals', 'in', 'contains']);
const ordered: ReadonlySet<string> = new Set(['greater_than', 'greater_than_equal', 'less_than', 'less_than_equal']);

/** The parameter that no index serves, and the index that would; null if none would help. */
export function missingIndex(written: CallerQuery, tables: Tables, hasWordIndex: boolean): FieldError | null {
  const { where = null, sort = [], hasWords = false, place = 'query' } = written;
  const problem = (field: string, text: string) => problemIn(place, field, text);
  if (hasWords && !hasWordIndex) {
    const needed = `name the fields to search in admin.searchFields of ${tables.name}`;
    return problem('q', `looks through all texts of ${tables.name}, which takes too long here: ${needed}`);
  }
  const byCondition = where && missingFor(where, tables);
  if (byCondition) return problem('where', goesBy(byCondition));
  const byOrder = missingForOrder(sort, tables);
  return byOrder && problem('sort', goesBy(byOrder));
}

/** A read that took long. `total`: how many documents met its condition; null if the read did not finish. */
export type Slow = { read: Read; total: number | null };

/** The indexes that a slow read lacked, also for the conditions of rules: for the operator, not for the caller. */
export function missingIn({ read, total }: Slow, tables: Tables, hasWordIndex: boolean): Missing[] {
  const where = whereOf(read);
  if (searches(where)) return hasWordIndex ? [] : [{ collection: tables.name, field: null }];
  const byOrder = read.kind === 'list' ? missingForOrder(read.request.sort, tables) : null;
  const byCondition = where && missingFor(where, tables);
  // Among many documents, only an index finds a page in its order.
  if (byOrder && total !== null && isMany(read, total)) return [byOrder];
  return [byOrder, byCondition].filter((one) => one !== null);
}

function isMany(read: Read, total: number): boolean {
  if (read.kind !== 'list') return false;
  const { limit, page } = read.request;
  return limit > 0 && total > measured.many * page * limit;
}

/** The indexes among these that a schema still lacks, if it has their fields. */
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
  // If all conditions must be met, one that an index serves is enough.
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

function missingAt(path: { steps: readonly PathStep[]; leaf: Leaf }, tables: Tables): Missing | null {
  const last = path.steps.findLastIndex(({ kind }) => kind === 'related');
  const related = path.steps[last];
  const end = related?.kind === 'related' ? related.tables : tables;
  const rest = { steps: path.steps.slice(last + 1), leaf: path.leaf };
  // Neither items of lists nor JSON have an index.
  if (rest.steps.some(({ kind }) => kind === 'items') || ['list', 'json'].includes(path.leaf.kind)) return null;
  if (hasIndex(rest, end)) return null;
  return { collection: end.name, field: [...rest.steps, path.leaf].map(({ name }) => name).join('.') };
}

function goesBy({ collection, field }: Missing): string {
  return `goes by ${field} of ${collection}, which has no index and takes too long here: set index: true of that field`;
}

function problemIn(place: ErrorPlace, field: string, text: string): FieldError {
  return { field, in: place, code: 'index_needed', message: `${field} ${text}` };
}
