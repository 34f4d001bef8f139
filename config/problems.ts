import { otherWord } from './other-words.ts';
import { didYouMean, show } from './suggest.ts';

/** A problem of a configuration. `path` is its place, for example `collections.posts.fields.title.requred`. */
export type Problem = { path: string; message: string };

/** The findings of a check so far, and the data that all parts of the check share. */
export type Checking = {
  problems: Problem[];
  warnings: string[];
  /** The collections as they are written, by slug, for references to later collections. */
  collections: ReadonlyMap<string, Entry>;
  /** The sorts to check once all fields are known, each with the collection whose fields it names. */
  sorts: { spot: Spot; collection: string; sort: string }[];
  /** The lists of fields that are being checked, from the outermost to the innermost. */
  open: Set<unknown>;
};

/** A value of the configuration, with its place and the findings so far. */
export type Spot<T = unknown> = { checking: Checking; path: string; value: T };

/** An object of the configuration before it is checked. */
export type Entry = { readonly [key: string]: unknown };

/**
 * The rule of an option: a value that passes is a T. `must` ends the sentence "must …". `words` are the valid values,
 * if they can be listed.
 */
export type Rule<T = unknown> = { passes: (value: unknown) => value is T; must: string; words?: readonly string[] };

/** The form of the name of a field. */
export const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The rules that several options share. */
export const rules = {
  boolean: { passes: (value): value is boolean => typeof value === 'boolean', must: 'be true or false' },
  text: {
    passes: (value): value is string => typeof value === 'string' && value !== '' && isWhole(value),
    must: 'be a text',
  },
  number: { passes: (value): value is number => Number.isFinite(value), must: 'be a number' },
  count: {
    passes: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
    must: 'be a whole number from 0',
  },
  list: { passes: (value): value is unknown[] => Array.isArray(value), must: 'be a list' },
  entry: { passes: isEntry, must: 'be an object' },
} as const satisfies Record<string, Rule>;

/** True for a plain object; its keys may be anything. */
export function isEntry(value: unknown): value is Entry {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True for a function. Its parameters and result cannot be checked, so the caller names the type. */
export function isFunction<F extends (...args: never[]) => unknown>(value: unknown): value is F {
  return typeof value === 'function';
}

/** Adds a problem. */
export function report({ checking, path }: Omit<Spot, 'value'>, message: string): void {
  checking.problems.push({ path, message });
}

/** Adds a warning about something that works but is probably a mistake. */
export function warn({ checking, path }: Omit<Spot, 'value'>, message: string): void {
  checking.warnings.push(`${path}: ${message}`);
}

/** The member of an object or the item of a list. A missing one has the value undefined. */
export function at({ checking, path, value }: Spot, key: string | number): Spot {
  const found = Array.isArray(value) ? value[Number(key)] : isEntry(value) ? own(value, String(key)) : undefined;
  return { checking, path: join(path, key), value: found };
}

/** The objects of a list. The path of each has its name, or its index if it has no name. Any other item is reported. */
export function* entriesOf(list: Spot<unknown[]>, nameKey: 'name' | 'slug'): Generator<Spot<Entry>> {
  for (const [index, item] of list.value.entries()) {
    const name = isEntry(item) ? own(item, nameKey) : undefined;
    const step = typeof name === 'string' && name !== '' ? name : index;
    const spot: Spot = { checking: list.checking, path: join(list.path, step), value: item ?? null };
    if (passes(spot, rules.entry)) yield spot;
  }
}

/** Reads `object[key]` if it is an own property, so that an inherited `constructor` does not count. */
export function own(object: Entry, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * True if the value passes the rule; otherwise the problem is reported. `undefined` does not pass, but is not reported.
 */
export function passes<T>(spot: Spot, { passes, must, words = [] }: Rule<T>): spot is Spot<T> {
  if (spot.value === undefined) return false;
  if (passes(spot.value)) return true;
  report(spot, `must ${must}, got ${show(spot.value)}${didYouMean(spot.value, words)}`);
  return false;
}

/** The value of an option if it passes, else the value `otherwise`. */
export function optionOf<T, Otherwise>(spot: Spot, rule: Rule<T>, otherwise: Otherwise): T | Otherwise {
  return passes(spot, rule) ? spot.value : otherwise;
}

/** True if an option switches its feature on, whether or not its value is valid. */
export function isAskedFor(entry: Entry, key: string): boolean {
  const value = own(entry, key);
  return value !== undefined && value !== false;
}

/** The options of a feature that `true` or an object of options switches on; null if the feature is off. */
export function readSwitch(spot: Spot, keys: readonly string[], what: string): Spot<Entry> | null {
  const { value } = spot;
  if (value === undefined || value === false) return null;
  if (value !== true && !isEntry(value)) report(spot, `must be true, false or an object, got ${show(value)}`);
  const options = { ...spot, value: isEntry(value) ? value : {} };
  checkKeys(options, keys, what);
  return options;
}

/** The rule of a whole number in bounds. `what` is the unit, for example " of seconds". */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER, what = ''): Rule<number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  return {
    passes: (value): value is number => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    must: `be a whole number${what} ${bounds}`,
  };
}

/** Reports keys that are not allowed. `what` is the owner of the keys, for example "a collection". */
export function checkKeys(spot: Spot<Entry>, allowed: readonly string[], what: string): void {
  for (const key of Object.keys(spot.value)) {
    if (allowed.includes(key)) continue;
    report(at(spot, key), `is not a key of ${what}${otherWord(what, key) || didYouMean(key, allowed)}`);
  }
}

/** The path of a member or item. A key that is not a plain word is quoted. */
export function join(path: string, key: string | number): string {
  const step = typeof key === 'number' || /^[\w-]{1,64}$/.test(key) ? String(key) : show(key);
  return path === '' ? step : `${path}.${step}`;
}

/** The names that are taken, by their lower case, because SQLite ignores the case of names. */
export type TakenNames = Map<string, string>;

/** Takes a name. If it is taken already, in the same or another case, the problem is reported. */
export function take(spot: Omit<Spot, 'value'>, taken: TakenNames, name: string): void {
  const key = name.toLowerCase();
  const earlier = taken.get(key);
  if (earlier === name) report(spot, `${show(name)} is declared twice`);
  else if (earlier !== undefined) report(spot, `${show(name)} differs from ${show(earlier)} only by case`);
  else taken.set(key, name);
}

function isWhole(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
