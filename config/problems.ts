import { otherWord } from './other-words.ts';
import { didYouMean, show } from './suggest.ts';

/** One thing wrong with a configuration: where, as `collections.posts.fields.title.requred`, and what. */
export type Problem = { path: string; message: string };

/** The findings of a check of a configuration, and what all parts of it may look at. */
export type Checking = {
  problems: Problem[];
  warnings: string[];
  /** The collections as written, by slug, for references forward. */
  collections: ReadonlyMap<string, Entry>;
  /** The sorts of joins, for when all fields are known: of which collection each is. */
  sorts: { spot: Spot; collection: string; sort: string }[];
  /** The lists of fields that are just being checked, each inside the one before. */
  open: Set<unknown>;
};

/** A value of the configuration, where it stands, and what its check gathers. */
export type Spot<T = unknown> = { checking: Checking; path: string; value: T };

/** An object of the configuration before it is checked. */
export type Entry = { readonly [key: string]: unknown };

/**
 * A test of an option's value, which is a T where it passes; `must` ends the sentence "must …"; `words` are all that
 * pass, if so.
 */
export type Rule<T = unknown> = { passes: (value: unknown) => value is T; must: string; words?: readonly string[] };

/** The form of a field's name. */
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

/** True for a function. Its parameters and result cannot be looked at: the caller says what it is meant to be. */
export function isFunction<F extends (...args: never[]) => unknown>(value: unknown): value is F {
  return typeof value === 'function';
}

/** Adds a problem. */
export function report({ checking, path }: Omit<Spot, 'value'>, message: string): void {
  checking.problems.push({ path, message });
}

/** Adds a warning: something that works and is probably not meant. */
export function warn({ checking, path }: Omit<Spot, 'value'>, message: string): void {
  checking.warnings.push(`${path}: ${message}`);
}

/** The member of an object or the item of a list; its value is undefined where it is missing. */
export function at({ checking, path, value }: Spot, key: string | number): Spot {
  const found = Array.isArray(value) ? value[Number(key)] : isEntry(value) ? own(value, String(key)) : undefined;
  return { checking, path: join(path, key), value: found };
}

/** The objects of a list, each by its name where it has one, else by its index; anything but an object is a problem. */
export function* entriesOf(list: Spot<unknown[]>, nameKey: 'name' | 'slug'): Generator<Spot<Entry>> {
  for (const [index, item] of list.value.entries()) {
    const name = isEntry(item) ? own(item, nameKey) : undefined;
    const step = typeof name === 'string' && name !== '' ? name : index;
    const spot: Spot = { checking: list.checking, path: join(list.path, step), value: item ?? null };
    if (passes(spot, rules.entry)) yield spot;
  }
}

/** Reads `object[key]` if it is its own, so that `constructor` is not found where its author did not write it. */
export function own(object: Entry, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** True if the value passes; if not, that is a problem. `undefined` fails the rule, but is not reported. */
export function passes<T>(spot: Spot, { passes, must, words = [] }: Rule<T>): spot is Spot<T> {
  if (spot.value === undefined) return false;
  if (passes(spot.value)) return true;
  report(spot, `must ${must}, got ${show(spot.value)}${didYouMean(spot.value, words)}`);
  return false;
}

/** The value of an option where it passes, else what it is without one. */
export function optionOf<T, Otherwise>(spot: Spot, rule: Rule<T>, otherwise: Otherwise): T | Otherwise {
  return passes(spot, rule) ? spot.value : otherwise;
}

/** True for an option whose author asks for what it switches on, rightly or not. */
export function isAskedFor(entry: Entry, key: string): boolean {
  const value = own(entry, key);
  return value !== undefined && value !== false;
}

/** The options of a feature that is switched on by `true` or by options of these keys; null where it is off. */
export function readSwitch(spot: Spot, keys: readonly string[], what: string): Spot<Entry> | null {
  const { value } = spot;
  if (value === undefined || value === false) return null;
  if (value !== true && !isEntry(value)) report(spot, `must be true, false or an object, got ${show(value)}`);
  const options = { ...spot, value: isEntry(value) ? value : {} };
  checkKeys(options, keys, what);
  return options;
}

/** The rule of a whole number in bounds; `what` says of what it is one, for example " of seconds". */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER, what = ''): Rule<number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  return {
    passes: (value): value is number => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
    must: `be a whole number${what} ${bounds}`,
  };
}

/** Refuses keys that are not allowed; `what` is what has them, for example "a collection". */
export function checkKeys(spot: Spot<Entry>, allowed: readonly string[], what: string): void {
  for (const key of Object.keys(spot.value)) {
    if (allowed.includes(key)) continue;
    report(at(spot, key), `is not a key of ${what}${otherWord(what, key) || didYouMean(key, allowed)}`);
  }
}

/** A path one step on; a step that is not a plain word is quoted. */
export function join(path: string, key: string | number): string {
  const step = typeof key === 'number' || /^[\w-]{1,64}$/.test(key) ? String(key) : show(key);
  return path === '' ? step : `${path}.${step}`;
}

/** Names taken so far, to refuse a second one: SQLite does not tell the case of names apart. */
export type Taken = Map<string, string>;

/** Notes a name; a name that is taken, in this case or another, is a problem. */
export function take(spot: Omit<Spot, 'value'>, taken: Taken, name: string): void {
  const key = name.toLowerCase();
  const earlier = taken.get(key);
  if (earlier === name) report(spot, `${show(name)} is declared twice`);
  else if (earlier !== undefined) report(spot, `${show(name)} differs from ${show(earlier)} only by case`);
  else taken.set(key, name);
}

function isWhole(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
