import { otherWord } from './other-words.ts';
import { didYouMean, show } from './suggest.ts';

/** One thing wrong with a configuration: where, as `collections.posts.fields.title.requred`, and what. */
export type Problem = { path: string; message: string };

/** What one check of a configuration gathers and may look at. */
export type Checking = {
  problems: Problem[];
  warnings: string[];
  /** The collections as written, by slug, for references forward. */
  collections: ReadonlyMap<string, Entry>;
  /** The sorts of joins, for when all fields are known: where each stands, and of which collection it is. */
  sorts: { path: string; collection: string; sort: string }[];
};

/** An object of the configuration before it is checked. */
export type Entry = { readonly [key: string]: unknown };

/** A test of an option's value, which is a T where it passes; `must` ends the sentence "must …". */
export type Rule<T = unknown> = { passes: (value: unknown) => value is T; must: string };

/** What a field may be called. */
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

/** True for a function. What it takes and gives cannot be looked at: the caller says what it is meant to be. */
export function isFunction<F extends (...args: never[]) => unknown>(value: unknown): value is F {
  return typeof value === 'function';
}

/** Adds a problem. */
export function report(checking: Checking, path: string, message: string): void {
  checking.problems.push({ path, message });
}

/** Reads `object[key]` if it is its own, so that `constructor` is not found where nobody wrote it. */
export function own(object: Entry, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** True if the value passes; if not, that is a problem. An absent value passes nothing and is none. */
export function passes<T>(checking: Checking, path: string, value: unknown, { passes, must }: Rule<T>): value is T {
  if (value === undefined) return false;
  if (passes(value)) return true;
  report(checking, path, `must ${must}, got ${show(value)}`);
  return false;
}

/** Reads an option: its value where it passes, else what it is without one. */
export function readOption<T, Otherwise>(
  checking: Checking,
  path: string,
  entry: Entry,
  key: string,
  rule: Rule<T>,
  otherwise: Otherwise,
): T | Otherwise {
  const value = own(entry, key);
  return passes(checking, join(path, key), value, rule) ? value : otherwise;
}

/** True for an option whose author asks for what it switches on, rightly or not. */
export function isAskedFor(entry: Entry, key: string): boolean {
  const value = own(entry, key);
  return value !== undefined && value !== false;
}

/** The options of what is switched on by `true` or by options of these keys; null where it is off. */
export function readSwitch(
  checking: Checking,
  path: string,
  input: unknown,
  keys: readonly string[],
  what: string,
): Entry | null {
  if (input === undefined || input === false) return null;
  const entry: Entry = isEntry(input) ? input : {};
  if (input !== true && !isEntry(input)) report(checking, path, `must be true, false or an object, got ${show(input)}`);
  checkKeys(checking, path, entry, keys, what);
  return entry;
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
export function checkKeys(
  checking: Checking,
  path: string,
  entry: Entry,
  allowed: readonly string[],
  what: string,
): void {
  for (const key of Object.keys(entry)) {
    if (allowed.includes(key)) continue;
    report(checking, join(path, key), `is not a key of ${what}${otherWord(what, key) || didYouMean(key, allowed)}`);
  }
}

/** A path one step on; a step that is no plain word is quoted. */
export function join(path: string, key: string | number): string {
  const step = typeof key === 'number' || /^[\w-]{1,64}$/.test(key) ? String(key) : show(key);
  return path === '' ? step : `${path}.${step}`;
}

/** The path of an item of a list: by its name where it has one, else by its index. */
export function itemPath(path: string, item: unknown, index: number, nameKey: 'name' | 'slug'): string {
  const name = isEntry(item) ? own(item, nameKey) : undefined;
  return join(path, typeof name === 'string' && name !== '' ? name : index);
}

/** Names taken so far, to refuse a second one: SQLite does not tell the case of names apart. */
export type Taken = Map<string, string>;

/** Notes a name; a name that is taken, in this case or another, is a problem. */
export function take(checking: Checking, path: string, taken: Taken, name: string): void {
  const key = name.toLowerCase();
  const earlier = taken.get(key);
  if (earlier === name) report(checking, path, `${show(name)} is declared twice`);
  else if (earlier !== undefined) report(checking, path, `${show(name)} differs from ${show(earlier)} only by case`);
  else taken.set(key, name);
}

function isWhole(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}
