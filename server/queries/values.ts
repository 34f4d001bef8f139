import { normalEmail } from '../../config/addresses.ts';
import type { Problem } from '../../config/errors.ts';
import { typeFacts } from '../../config/field-types.ts';
import { maxAllowed } from '../../config/invalid-body.ts';
import type { Operator } from '../../config/operators.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { Bound } from '../../projections/query/where.ts';
import { lostNumberProblem } from '../platform/whole-numbers.ts';
import type { FoundPath } from './paths.ts';

const maxValues = 200;

/** The operators that a field can carry. */
export function operatorsFor({ leaf, field }: FoundPath): readonly Operator[] {
  if (leaf.kind === 'json') return ['exists'];
  if (leaf.kind === 'list') return ['contains', 'in', 'not_in', 'exists'];
  if (field.isDocumentId) return [...always, 'like', ...ranges];
  if (leaf.kind === 'number' || typeFacts[field.type].time) return [...always, ...ranges];
  return leaf.kind === 'text' ? [...always, 'like'] : always;
}

const always: readonly Operator[] = ['equals', 'not_equals', 'in', 'not_in', 'exists'];
const ranges: readonly Operator[] = ['greater_than', 'less_than', 'greater_than_equal', 'less_than_equal'];

/** The values of a condition, typed as its field; a text says what is wrong with them. */
export function readValues(found: FoundPath, operator: Operator, raw: unknown): Bound[] | Problem {
  if (operator === 'exists') return collect([raw], readBoolean);
  if (operator === 'in' || operator === 'not_in') {
    const list = Array.isArray(raw) ? raw : typeof raw === 'string' ? raw.split(',') : [raw];
    if (list.length > maxValues)
      return {
        code: 'max_items',
        problem: `must be at most ${maxValues} values, got ${list.length}`,
        limit: maxValues,
      };
    return collect(list, (one) => readValue(found, one, true));
  }
  if (Array.isArray(raw)) return { code: 'duplicate', problem: 'must be given once' };
  if (operator === 'like') return collect([raw], readText);
  if (found.field.isDocumentId && ranges.includes(operator)) return collect([raw], readId);
  const takesNull = operator === 'equals' || operator === 'not_equals';
  return collect([raw], (one) => readValue(found, one, takesNull));
}

type Read = { value: Bound } | Problem;

/** Reads values up to the first wrong one. */
function collect(raw: readonly unknown[], read: (one: unknown) => Read): Bound[] | Problem {
  const values: Bound[] = [];
  for (const one of raw) {
    const found = read(one);
    if ('problem' in found) return found;
    values.push(found.value);
  }
  return values;
}

function readText(raw: unknown): Read {
  const isText = typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0');
  return isText ? { value: raw } : { code: 'type', problem: `must be a text, got ${show(raw)}` };
}

/** An id in its stored form, since ids are compared as texts: 32 digits in lower case, in five groups. */
function readId(raw: unknown): Read {
  const isId = typeof raw === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(raw);
  if (isId) return { value: raw };
  return {
    code: 'format',
    problem: `must be an id like "01a1fc16-6a0c-7000-a9c2-bca6a06f428d", in lower case, got ${show(raw)}`,
  };
}

/** Reads a value by the type of its field; text from the query, or typed from JSON. */
function readValue({ leaf, field }: FoundPath, raw: unknown, takesNull: boolean): Read {
  if (raw === null || raw === 'null')
    return takesNull ? { value: null } : { code: 'type', problem: 'must not be null; use exists' };
  if (field.type === 'number') return readNumber(raw);
  if (field.type === 'boolean') return readBoolean(raw);
  const read = readText(raw);
  if ('problem' in read) return read;
  // In its stored form: `Ada@example.org` finds ada@example.org.
  const text = field.isAccountEmail ? normalEmail(String(read.value)) : String(read.value);
  const { time } = typeFacts[field.type];
  const formed = time ? time.read(text) : text;
  if (formed === undefined) return { code: 'format', problem: `must be ${time?.what}, got ${show(raw)}` };
  const options = field.options?.map(({ value }) => value);
  if (options && !options.includes(formed)) {
    const problem = `must be one of ${showAll(options)}, got ${show(raw)}${didYouMean(formed, options)}`;
    return { code: 'not_allowed', problem, ...(options.length <= maxAllowed ? { allowed: options } : {}) };
  }
  // The times that the server sets are stored as milliseconds.
  return { value: leaf.kind === 'number' ? Date.parse(formed) : formed };
}

/** A number as JSON writes it: no blanks, no other bases. */
const decimal = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

function readNumber(raw: unknown): Read {
  const lost = typeof raw === 'string' ? lostNumberProblem(raw) : undefined;
  if (lost) return { code: 'unsafe_number', problem: `must ${lost}` };
  const number = typeof raw === 'string' && decimal.test(raw) ? Number(raw) : raw;
  const isNumber = typeof number === 'number' && Number.isFinite(number);
  return isNumber ? { value: number } : { code: 'type', problem: `must be a number, got ${show(raw)}` };
}

function readBoolean(raw: unknown): Read {
  if (raw === true || raw === 'true') return { value: 1 };
  return raw === false || raw === 'false'
    ? { value: 0 }
    : { code: 'type', problem: `must be true or false, got ${show(raw)}` };
}
