import { cutField, DomainError, type FieldError } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { type Operator, operatorNames, type Where } from '../../projections/where.ts';
import { lostNumbers } from '../platform/whole-numbers.ts';
import { type Found, type Reach, resolvePath } from './paths.ts';
import { operatorsFor, readValues } from './values.ts';

const maxLevels = 20;
const maxConditions = 200;
/** How many errors of a query are told. What else is wrong with it is not looked for: each may have a suggestion, which costs. */
export const maxQueryErrors = 50;

/** A filter as it came: nested objects, lists of alternatives, values. */
type Raw = unknown;

/**
 * Reads the `where` of a query (contract, section 4.9; also as JSON), against what the caller may see.
 *
 * @throws DomainError `invalid` naming every wrong part.
 */
export async function readWhere(query: Record<string, unknown>, reach: Reach): Promise<Where | null> {
  const raw = rawWhere(query);
  if (raw === undefined) return null;
  return readWhereObject(raw as object, reach);
}

/**
 * Reads a filter that is an object already, such as an access rule returns.
 *
 * @throws DomainError `invalid` naming every wrong part.
 */
export async function readWhereObject(raw: object, reach: Reach): Promise<Where> {
  const reading: Reading = { errors: [], conditions: 0 };
  const where = await readLevel(raw, reach, 'where', 1, reading);
  refuse(reading.errors);
  return where;
}

/** True for the query parameters that {@link readWhere} reads. */
export function isWhereParameter(name: string): boolean {
  return name === 'where' || name.startsWith('where[');
}

type Reading = { errors: FieldError[]; conditions: number };

/** The bracket notation as the object it stands for. */
function rawWhere(query: Record<string, unknown>): Raw {
  const names = Object.keys(query).filter(isWhereParameter);
  if (names.length === 0) return undefined;
  if (names.includes('where')) {
    if (names.length > 1) throw invalid('where', 'where must be given either as JSON or in brackets, not both');
    return parseJson(query.where);
  }
  const root: Record<string, Raw> = Object.create(null);
  for (const name of names) {
    const path = [...name.matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key as string);
    if (name !== `where${path.map((key) => `[${key}]`).join('')}`)
      throw invalid(name, `${name.slice(0, 100)} is not of the form where[field][operator]`);
    put(root, path, query[name], name);
  }
  return root;
}

function parseJson(text: unknown): Raw {
  if (typeof text !== 'string') throw invalid('where', 'where must be given once');
  let value: Raw;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('where', `where must be JSON, or in brackets like where[field][operator]=value, got ${show(text)}`);
  }
  const [lost] = lostNumbers(text);
  if (!lost) return value;
  const field = cutField(`where${lost.path.map((key) => `[${key}]`).join('')}`);
  throw invalid(field, `${field}: must ${lost.problem}`);
}

function put(root: Record<string, Raw>, path: readonly string[], value: unknown, name: string): void {
  if (path.length > maxLevels * 2 + 2) throw invalid('where', `where must be at most ${maxLevels} levels deep`);
  let object = root;
  for (const key of path.slice(0, -1)) {
    const inside = object[key] ?? Object.create(null);
    if (typeof inside !== 'object' || inside === null || Array.isArray(inside))
      throw invalid(name, `${name.slice(0, 100)} contradicts another parameter`);
    object[key] = inside;
    object = inside as Record<string, Raw>;
  }
  const last = path.at(-1) as string;
  if (object[last] !== undefined) throw invalid(name, `${name.slice(0, 100)} contradicts another parameter`);
  object[last] = value;
}

async function readLevel(raw: Raw, reach: Reach, at: string, level: number, reading: Reading): Promise<Where> {
  if (level > maxLevels) throw invalid('where', `where must be at most ${maxLevels} levels deep`);
  if (!isObject(raw)) {
    fail(reading, at, `must be an object of fields, got ${show(raw)}`);
    return { and: [] };
  }
  const parts: Where[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (isTold(reading)) break;
    const inside = `${at}[${key.slice(0, 100)}]`;
    if (key === 'and' || key === 'or') parts.push(await readBranches(key, value, reach, inside, level, reading));
    else parts.push(...(await readField(key, value, reach, inside, reading)));
  }
  return { and: parts };
}

async function readBranches(
  word: 'and' | 'or',
  raw: Raw,
  reach: Reach,
  at: string,
  level: number,
  reading: Reading,
): Promise<Where> {
  const branches = listOf(raw);
  if (!branches || branches.length === 0) {
    fail(reading, at, `must be a list of conditions, like where[${word}][0][field][operator]=value, got ${show(raw)}`);
    return { and: [] };
  }
  const parts: Where[] = [];
  for (const [index, branch] of branches.entries()) {
    parts.push(await readLevel(branch, reach, `${at}[${index}]`, level + 1, reading));
  }
  return word === 'and' ? { and: parts } : { or: parts };
}

/** A list, or in brackets an object whose keys are whole numbers. */
function listOf(raw: Raw): Raw[] | null {
  if (Array.isArray(raw)) return raw;
  if (!isObject(raw)) return null;
  const entries = Object.entries(raw);
  if (!entries.every(([key]) => /^\d{1,9}$/.test(key))) return null;
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
}

async function readField(name: string, raw: Raw, reach: Reach, at: string, reading: Reading): Promise<Where[]> {
  const found = await resolvePath(name, reach);
  if (typeof found === 'string') {
    fail(reading, at, found);
    return [];
  }
  if (!isObject(raw) || Object.keys(raw).length === 0) {
    fail(reading, at, `needs an operator, like ${at}[equals]=value; operators: ${showAll(operatorsFor(found))}`);
    return [];
  }
  const parts: Where[] = [];
  for (const [word, value] of Object.entries(raw)) {
    if (isTold(reading)) break;
    reading.conditions += 1;
    if (reading.conditions > maxConditions)
      throw invalid('where', `where must have at most ${maxConditions} conditions`);
    const part = readCondition(found, word, value, `${at}[${word.slice(0, 100)}]`, reading);
    if (part) parts.push(part);
  }
  return parts;
}

function readCondition(found: Found, word: string, raw: Raw, at: string, reading: Reading): Where | null {
  const allowed = operatorsFor(found);
  if (!(allowed as readonly string[]).includes(word)) {
    const known = (operatorNames as readonly string[]).includes(word);
    const what = known
      ? `is not for a field of type ${found.field.type}`
      : `is not an operator${didYouMean(word, allowed)}`;
    fail(reading, at, `${what}; allowed here: ${showAll(allowed)}`);
    return null;
  }
  const operator = word as Operator;
  const values = readValues(found, operator, raw);
  if (typeof values === 'string') {
    fail(reading, at, values);
    return null;
  }
  return { steps: found.steps, leaf: found.leaf, operator, values };
}

function isObject(raw: Raw): raw is Record<string, Raw> {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw);
}

function fail(reading: Reading, field: string, message: string): void {
  if (!isTold(reading)) reading.errors.push({ field, message: `${field}: ${message}` });
}

function isTold({ errors }: Reading): boolean {
  return errors.length >= maxQueryErrors;
}

function invalid(field: string, message: string): DomainError {
  return new DomainError('invalid', message, [{ field: field.slice(0, 100), message }]);
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}
