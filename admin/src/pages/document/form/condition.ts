import type { Operator } from '../../../../../client/index.ts';
import { isObject } from './values.ts';

/**
 * Whether values match a where object, as in `admin.condition`, with the operators of filters (docs/filtering.md,
 * Filtering). Several members must all match; `and` and `or` take lists. A path leads with dots through objects and
 * lists; in a list at least one item must match. A related document is only an id here, so a path through it has no
 * value. A condition that cannot be understood matches: it is better to show a field than to hide it.
 */
export function matches(where: unknown, values: unknown): boolean {
  if (!isObject(where)) return true;
  return Object.entries(where).every(([key, condition]) => {
    if (key === 'and') return lists(condition).every((one) => matches(one, values));
    if (key === 'or') return !Array.isArray(condition) || condition.some((one) => matches(one, values));
    const found = valuesAt(values, key.split('.'));
    if (!isObject(condition)) return isEqualTo(found, condition);
    return Object.entries(condition).every(([operator, operand]) => testOf(operator)?.(found, operand) ?? true);
  });
}

function lists(condition: unknown): unknown[] {
  return Array.isArray(condition) ? condition : [];
}

/** The values at a path: one value, or one for each item of the lists on the path. */
type PathValues = { values: unknown[]; isMany: boolean };

function valuesAt(value: unknown, parts: readonly string[]): PathValues {
  if (Array.isArray(value) && parts.length > 0) {
    return { values: value.flatMap((item) => valuesAt(item, parts).values), isMany: true };
  }
  const [name, ...rest] = parts;
  if (name === undefined) return { values: [value ?? null], isMany: false };
  return valuesAt(isObject(value) && Object.hasOwn(value, name) ? value[name] : null, rest);
}

type Test = (found: PathValues, operand: unknown) => boolean;

const tests: Record<Operator, Test> = {
  equals: isEqualTo,
  not_equals: (found, operand) => !isEqualTo(found, operand),
  in: isIn,
  not_in: (found, operand) => !isIn(found, operand),
  like: ({ values }, operand) =>
    typeof operand === 'string' &&
    values.some((value) => typeof value === 'string' && folded(value).includes(folded(operand))),
  contains: ({ values }, operand) =>
    values.some((value) => Array.isArray(value) && value.some((item) => isScalarSame(item, operand))),
  greater_than: ordered((order) => order > 0),
  less_than: ordered((order) => order < 0),
  greater_than_equal: ordered((order) => order >= 0),
  less_than_equal: ordered((order) => order <= 0),
  exists: ({ values }, operand) => values.some(isThere) === (operand === true || operand === 'true'),
};

function testOf(operator: string): Test | undefined {
  return (tests as Record<string, Test | undefined>)[operator];
}

function isEqualTo({ values, isMany }: PathValues, operand: unknown): boolean {
  if (operand === null) return isMany ? !values.some(isThere) : !isThere(values[0]);
  return values.some((value) => isScalarSame(value, operand));
}

function isIn({ values }: PathValues, operand: unknown): boolean {
  const wanted = typeof operand === 'string' ? operand.split(',') : lists(operand);
  return values.some((value) => {
    const items = Array.isArray(value) ? value : [value];
    return items.some((item) => isThere(item) && wanted.some((one) => isScalarSame(item, one)));
  });
}

/** Whether there is a value. An empty text is not a value; an empty list is. */
function isThere(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '';
}

/** Whether a value equals an operand, whose text is read as the type of the value. Moments are compared as moments. */
function isScalarSame(value: unknown, operand: unknown): boolean {
  if (!isThere(value) || !isThere(operand)) return false;
  if (typeof value === 'string' && typeof operand === 'string')
    return value === operand || orderOf(value, operand) === 0;
  return (
    value === operand || (typeof value !== 'object' && typeof operand !== 'object' && String(value) === String(operand))
  );
}

function ordered(test: (order: number) => boolean): Test {
  return ({ values }, operand) =>
    values.some((value) => {
      const order = orderOf(value, operand);
      return order !== null && test(order);
    });
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/;
const dateOrTime = /^(?:\d{4}-\d\d-\d\d|\d\d:\d\d(?::\d\d)?)$/;

/** Below 0, 0 or above 0 if a value comes before, with or after the operand; null if they have no order. */
function orderOf(value: unknown, operand: unknown): number | null {
  if (typeof value === 'number') {
    const number = typeof operand === 'string' && operand.trim() !== '' ? Number(operand) : operand;
    return typeof number === 'number' && !Number.isNaN(number) ? value - number : null;
  }
  if (typeof value !== 'string' || typeof operand !== 'string') return null;
  if (moment.test(value) && moment.test(operand)) return Date.parse(value) - Date.parse(operand);
  if (!dateOrTime.test(value) || !dateOrTime.test(operand)) return null;
  const [one, other] = [wholeTime(value), wholeTime(operand)];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** `23:59` is `23:59:00`. */
function wholeTime(text: string): string {
  return /^\d\d:\d\d$/.test(text) ? `${text}:00` : text;
}

/** A text in lower case and composed form, for comparisons. */
function folded(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase();
}
