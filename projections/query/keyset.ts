import type { SortTerm } from './sort.ts';
import type { Bound, Sql } from './where.ts';

/** A point in the order of a list: right behind the document with these sort values, of which the last is its id. */
export type Keyset = readonly Bound[];

/**
 * The rows behind a point in an order, as conditions whose rows follow each other: first the rows whose first value is
 * not null, in a range that an index can serve, then the rows whose first value is null.
 *
 * @param mark one value for each term; null is before the first row.
 */
export function rangesAfter(terms: readonly SortTerm[], mark: Keyset | null): readonly Sql[] {
  if (mark === null) return [{ text: '1', values: [] }];
  const [first, ...rest] = terms;
  const [value = null, ...values] = mark;
  if (!first) throw new Error('an order has at least the id');
  if (rest.length === 0) return [isBehind(first, value)];
  const ties = after(rest, values);
  if (value === null) return [all([isNull(first), ties])];
  return [all([isAtOrBehind(first, value), any([isBehind(first, value), ties])]), isNull(first)];
}

/**
 * The rows whose values come after others: the first value that differs decides, and nulls are last in either
 * direction.
 */
function after([first, ...rest]: readonly SortTerm[], [value = null, ...values]: Keyset): Sql {
  if (!first) throw new Error('an order ends with the id');
  if (rest.length === 0) return isBehind(first, value);
  const ties = after(rest, values);
  if (value === null) return all([isNull(first), ties]);
  return any([isBehind(first, value), isNull(first), all([isSame(first, value), ties])]);
}

function isBehind({ value, isDescending }: SortTerm, bound: Bound): Sql {
  return compared(value, isDescending ? '<' : '>', bound);
}

function isAtOrBehind({ value, isDescending }: SortTerm, bound: Bound): Sql {
  return compared(value, isDescending ? '<=' : '>=', bound);
}

function isSame({ value }: SortTerm, bound: Bound): Sql {
  return compared(value, '=', bound);
}

/** A bare `?` would be planned anew for every value. */
function compared({ text, values }: Sql, sign: string, bound: Bound): Sql {
  return { text: `${text} ${sign} (SELECT ?)`, values: [...values, bound] };
}

function isNull({ value: { text, values } }: SortTerm): Sql {
  return { text: `${text} IS NULL`, values };
}

function all(parts: readonly Sql[]): Sql {
  return joined(parts, ' AND ');
}

function any(parts: readonly Sql[]): Sql {
  return joined(parts, ' OR ');
}

function joined(parts: readonly Sql[], word: string): Sql {
  return { text: `(${parts.map(({ text }) => text).join(word)})`, values: parts.flatMap(({ values }) => values) };
}
