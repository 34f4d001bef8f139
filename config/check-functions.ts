import type { Access, FieldAccess, FieldHooks, Hooks } from './model.ts';
import { type Checking, checkKeys, type Entry, join, own, passes, report, rules } from './problems.ts';
import { show } from './suggest.ts';

type AnyFunction = (...args: never[]) => unknown;
type Kind = 'collection' | 'global';

const accessKeys: Record<Kind, readonly string[]> = {
  collection: ['read', 'create', 'update', 'delete'],
  global: ['read', 'update'],
};

const hookKeys: Record<Kind, readonly string[]> = {
  collection: ['beforeChange', 'afterChange', 'beforeRead', 'afterRead', 'beforeDelete', 'afterDelete'],
  global: ['beforeChange', 'afterChange', 'beforeRead', 'afterRead'],
};

/** The access rules of a collection or global. */
export function checkAccess(checking: Checking, path: string, input: unknown, kind: Kind): Access {
  return readFunctions(checking, path, input, accessKeys[kind], `the access rules of a ${kind}`, readOne) as Access;
}

/** The hooks of a collection or global; a single one becomes a list. */
export function checkHooks(checking: Checking, path: string, input: unknown, kind: Kind): Hooks {
  return readFunctions(checking, path, input, hookKeys[kind], `the hooks of a ${kind}`, readList) as Hooks;
}

/** The access rules of a field, as the part of the field that they are; nothing when there are none. */
export function checkFieldAccess(checking: Checking, path: string, input: unknown): { access?: FieldAccess } {
  const access = readFunctions(
    checking,
    path,
    input,
    ['read', 'create', 'update'],
    'the access rules of a field',
    readOne,
  );
  return Object.keys(access).length > 0 ? { access: access as FieldAccess } : {};
}

/** The hooks of a field, as the part of the field that they are; nothing when there are none. */
export function checkFieldHooks(checking: Checking, path: string, input: unknown): { hooks?: FieldHooks } {
  const hooks = readFunctions(checking, path, input, ['beforeChange', 'afterRead'], 'the hooks of a field', readList);
  return Object.keys(hooks).length > 0 ? { hooks: hooks as FieldHooks } : {};
}

/** A function of the configuration; undefined when there is none. */
export function checkFunction(checking: Checking, path: string, input: unknown): AnyFunction | undefined {
  return input === undefined ? undefined : readOne(checking, path, input);
}

type Read<T> = (checking: Checking, path: string, input: unknown) => T | undefined;

function readFunctions<T>(
  checking: Checking,
  path: string,
  input: unknown,
  keys: readonly string[],
  what: string,
  read: Read<T>,
): { [key: string]: T } {
  const result: { [key: string]: T } = {};
  if (!passes(checking, path, input, rules.entry)) return result;
  checkKeys(checking, path, input as Entry, keys, what);
  for (const key of keys) {
    const value = own(input as Entry, key);
    const functions = value === undefined ? undefined : read(checking, join(path, key), value);
    if (functions !== undefined) result[key] = functions;
  }
  return result;
}

function readOne(checking: Checking, path: string, input: unknown): AnyFunction | undefined {
  if (typeof input === 'function') return input as AnyFunction;
  report(checking, path, `must be a function, got ${show(input)}`);
  return undefined;
}

function readList(checking: Checking, path: string, input: unknown): AnyFunction[] | undefined {
  const list = Array.isArray(input) ? input : [input];
  if (list.every((item) => typeof item === 'function')) return [...list];
  report(checking, path, `must be a function or a list of functions, got ${show(input)}`);
  return undefined;
}
