import {
  cutField,
  type DomainError,
  type FieldError,
  inQuery,
  invalidFields,
  type Problem,
} from '../../config/errors.ts';
import type { ErrorPlace, FieldErrorCode } from '../../config/field-error-codes.ts';
import { operatorNames } from '../../config/operators.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { Where } from '../../projections/query/where.ts';
import { lostNumbers } from '../platform/whole-numbers.ts';
import { isWhereParameter, maxQueryErrors, type Query, refuse } from './parameters.ts';
import { type FoundPath, resolvePath, type SearchReach } from './paths.ts';
import { operatorsFor, readValues } from './values.ts';

const mostConditions = 200;

/**
 * The bounds of a filter; `hops`: relationships that all its conditions follow, each a look into another table.
 */
export const mostInWhere = { levels: 20, conditions: mostConditions, hops: 2 * mostConditions };

/**
 * Reads the `where` of a query (contract, section 4.9; also as JSON), for the fields that the caller may see.
 *
 * @throws DomainError `validation_failed` naming every wrong part.
 */
export async function readWhere(query: Query, reach: SearchReach): Promise<Where | null> {
  const raw = rawWhere(query);
  if (raw === undefined) return null;
  return readWhereObject(raw as object, reach, 'query');
}

/**
 * Reads a filter that is an object already, such as the condition of an access rule.
 *
 * @param place the part of the request that the filter came in, for the errors.
 * @throws DomainError `validation_failed` naming every wrong part.
 */
export async function readWhereObject(raw: object, reach: SearchReach, place: ErrorPlace = 'body'): Promise<Where> {
  const reading: Reading = { reach, place, errors: [], conditions: 0, hops: 0 };
  const where = await readLevel({ raw, at: 'where', level: 1 }, reading);
  refuse(reading.errors);
  if (reading.hops > mostInWhere.hops) {
    const problem = `where must follow at most ${mostInWhere.hops} relationships in all its conditions together`;
    throw whole(reading, 'too_expensive', `${problem}, got ${reading.hops}`);
  }
  return where;
}

type Reading = { reach: SearchReach; place: ErrorPlace; errors: FieldError[]; conditions: number; hops: number };

/**
 * A part of a filter as it came: nested objects, lists of alternatives, values; its path in errors, and its depth in
 * the filter.
 */
type Part = { raw: unknown; at: string; level: number };

/** The object that the bracket notation describes. */
function rawWhere(query: Query): unknown {
  const names = Object.keys(query).filter(isWhereParameter);
  if (names.length === 0) return undefined;
  if (names.includes('where')) {
    if (names.length > 1)
      throw invalid('where', 'contradiction', 'where must be given either as JSON or in brackets, not both');
    return parseJson(query.where);
  }
  const root: Record<string, unknown> = Object.create(null);
  for (const name of names) {
    const path = [...name.matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key as string);
    if (name !== `where${path.map((key) => `[${key}]`).join('')}`)
      throw invalid(name, 'format', `${name.slice(0, 100)} is not of the form where[field][operator]`);
    if (path.length > mostInWhere.levels * 2 + 2)
      throw invalid('where', 'too_deep', `where must be at most ${mostInWhere.levels} levels deep`);
    if (!put(root, path, query[name]))
      throw invalid(name, 'contradiction', `${name.slice(0, 100)} contradicts another parameter`);
  }
  return root;
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') throw invalid('where', 'duplicate', 'where must be given once');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(
      'where',
      'format',
      `where must be JSON, or in brackets like where[field][operator]=value, got ${show(text)}`,
    );
  }
  const [lost] = lostNumbers(text);
  if (!lost) return value;
  const field = cutField(`where${lost.path.map((key) => `[${key}]`).join('')}`);
  throw invalid(field, 'unsafe_number', `${field}: must ${lost.problem}`);
}

/** Sets a value at a path; false if another value is in the way. */
function put(root: Record<string, unknown>, path: readonly string[], value: unknown): boolean {
  let object = root;
  for (const key of path.slice(0, -1)) {
    const inside = object[key] ?? Object.create(null);
    if (!isObject(inside)) return false;
    object[key] = inside;
    object = inside;
  }
  const last = path.at(-1) as string;
  if (object[last] !== undefined) return false;
  object[last] = value;
  return true;
}

async function readLevel({ raw, at, level }: Part, reading: Reading): Promise<Where> {
  if (level > mostInWhere.levels)
    throw whole(reading, 'too_deep', `where must be at most ${mostInWhere.levels} levels deep`);
  if (!isObject(raw)) {
    fail(reading, at, { code: 'type', problem: `must be an object of fields, got ${show(raw)}` });
    return { and: [] };
  }
  const parts: Where[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (isTold(reading)) break;
    const part = { raw: value, at: `${at}[${key.slice(0, 100)}]`, level };
    if (key === 'and') parts.push({ and: await readBranches(key, part, reading) });
    else if (key === 'or') parts.push({ or: await readBranches(key, part, reading) });
    else parts.push(...(await readField(key, part, reading)));
  }
  return { and: parts };
}

async function readBranches(word: 'and' | 'or', { raw, at, level }: Part, reading: Reading): Promise<Where[]> {
  const branches = listOf(raw);
  if (!branches || branches.length === 0) {
    const problem = `must be a list of conditions, like where[${word}][0][field][operator]=value, got ${show(raw)}`;
    fail(reading, at, { code: 'type', problem });
    return [];
  }
  const parts: Where[] = [];
  for (const [index, branch] of branches.entries()) {
    parts.push(await readLevel({ raw: branch, at: `${at}[${index}]`, level: level + 1 }, reading));
  }
  return parts;
}

/** The items of a list, or of an object in brackets whose keys are whole numbers. */
function listOf(raw: unknown): unknown[] | null {
  if (Array.isArray(raw)) return raw;
  if (!isObject(raw)) return null;
  const entries = Object.entries(raw);
  if (!entries.every(([key]) => /^\d{1,9}$/.test(key))) return null;
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
}

async function readField(name: string, { raw, at }: Part, reading: Reading): Promise<Where[]> {
  const found = await resolvePath(name, reading.reach);
  if (typeof found === 'string') {
    fail(reading, at, { code: 'unknown_field', problem: found });
    return [];
  }
  if (!isObject(raw) || Object.keys(raw).length === 0) {
    const problem = `needs an operator, like ${at}[equals]=value; operators: ${showAll(operatorsFor(found))}`;
    fail(reading, at, { code: 'required', problem });
    return [];
  }
  const hops = found.steps.filter(({ kind }) => kind === 'related').length;
  const parts: Where[] = [];
  for (const [word, value] of Object.entries(raw)) {
    if (isTold(reading)) break;
    reading.conditions += 1;
    reading.hops += hops;
    if (reading.conditions > mostInWhere.conditions)
      throw whole(reading, 'max_items', `where must have at most ${mostInWhere.conditions} conditions`);
    const part = conditionOf(found, word, value);
    if ('problem' in part) fail(reading, `${at}[${word.slice(0, 100)}]`, part);
    else parts.push(part);
  }
  return parts;
}

/** A condition on a field, or the reason why it is not valid. */
function conditionOf(found: FoundPath, word: string, raw: unknown): Where | Problem {
  const { steps, leaf, field } = found;
  const allowed = operatorsFor(found);
  const operator = allowed.find((one) => one === word);
  if (operator === undefined) {
    const isKnown = operatorNames.some((one) => one === word);
    const problem = isKnown
      ? `is not for a field of type ${field.type}`
      : `is not an operator${didYouMean(word, allowed)}`;
    return { code: 'unknown_operator', problem: `${problem}; allowed here: ${showAll(allowed)}`, allowed };
  }
  const values = readValues(found, operator, raw);
  return 'problem' in values ? values : { steps, leaf, operator, values };
}

function isObject(raw: unknown): raw is Record<string, unknown> {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw);
}

function fail(reading: Reading, field: string, { problem, ...fault }: Problem): void {
  if (!isTold(reading)) reading.errors.push({ field, in: reading.place, ...fault, message: `${field}: ${problem}` });
}

function isTold({ errors }: Reading): boolean {
  return errors.length >= maxQueryErrors;
}

/** The refusal of a part of a query that is no filter. */
function invalid(field: string, code: FieldErrorCode, message: string): DomainError {
  return invalidFields([{ ...inQuery(field.slice(0, 100), code), message }]);
}

/** The refusal of a filter as a whole. */
function whole({ place }: Reading, code: FieldErrorCode, message: string): DomainError {
  return invalidFields([{ field: 'where', in: place, code, message }]);
}
