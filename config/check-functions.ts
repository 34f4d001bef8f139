import type {
  Access,
  AccessRule,
  AuditRule,
  FieldAccess,
  FieldHook,
  FieldHooks,
  FieldRule,
  Hook,
  Hooks,
  RuleWords,
} from './model.ts';
import { type Checking, checkKeys, isEntry, isFunction, join, own, passes, report, rules } from './problems.ts';
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

/** The access rules of a collection or global, and what their author says of them. */
export function checkAccess(
  checking: Checking,
  path: string,
  input: unknown,
  kind: Kind,
): { access: Access; ruleWords: RuleWords } {
  return readRules<AccessRule>(checking, path, input, accessKeys[kind], `the access rules of a ${kind}`);
}

/** The hooks of a collection or global; a single one becomes a list. */
export function checkHooks(checking: Checking, path: string, input: unknown, kind: Kind): Hooks {
  return readFunctions(checking, path, input, hookKeys[kind], `the hooks of a ${kind}`, readList<Hook>);
}

/** The access rules of a field, as the part of the field that they are; nothing when there are none. */
export function checkFieldAccess(
  checking: Checking,
  path: string,
  input: unknown,
): { access?: FieldAccess; ruleWords?: RuleWords } {
  const keys = ['read', 'create', 'update'];
  const { access, ruleWords } = readRules<FieldRule>(checking, path, input, keys, 'the access rules of a field');
  return {
    ...(Object.keys(access).length > 0 ? { access } : {}),
    ...(Object.keys(ruleWords).length > 0 ? { ruleWords } : {}),
  };
}

/** The rule of who may look into the history, and what its author says of it; null when there is none. */
export function checkAudit(
  checking: Checking,
  input: unknown,
): { rule: AuditRule | null; description: string | undefined } {
  const { rule, description } = readRule<AuditRule>(checking, 'audit', input);
  return { rule: rule ?? null, description };
}

/** The hooks of a field, as the part of the field that they are; nothing when there are none. */
export function checkFieldHooks(checking: Checking, path: string, input: unknown): { hooks?: FieldHooks } {
  const hooks = readFunctions(
    checking,
    path,
    input,
    ['beforeChange', 'afterRead'],
    'the hooks of a field',
    readList<FieldHook>,
  );
  return Object.keys(hooks).length > 0 ? { hooks } : {};
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
  checkKeys(checking, path, input, keys, what);
  for (const key of keys) {
    const value = own(input, key);
    const functions = value === undefined ? undefined : read(checking, join(path, key), value);
    if (functions !== undefined) result[key] = functions;
  }
  return result;
}

function readRules<F extends AnyFunction>(
  checking: Checking,
  path: string,
  input: unknown,
  keys: readonly string[],
  what: string,
): { access: { [key: string]: F }; ruleWords: RuleWords } {
  const read = readFunctions(checking, path, input, keys, what, readRule<F>);
  const entries = Object.entries(read);
  const access = entries.flatMap(([key, { rule }]) => (rule ? [[key, rule] as const] : []));
  const words = entries.flatMap(([key, { description }]) =>
    description === undefined ? [] : [[key, description] as const],
  );
  return { access: Object.fromEntries(access), ruleWords: Object.fromEntries(words) };
}

/** A function, or one with its author's words. */
function readRule<F extends AnyFunction>(
  checking: Checking,
  path: string,
  input: unknown,
): { rule?: F; description?: string } {
  if (input === undefined) return {};
  if (isFunction<F>(input)) return { rule: input };
  if (!isEntry(input)) {
    report(checking, path, `must be a function or { rule, description }, got ${show(input)}`);
    return {};
  }
  checkKeys(checking, path, input, ['rule', 'description'], 'a rule');
  const [rule, description] = [own(input, 'rule'), own(input, 'description')];
  const isRule = isFunction<F>(rule);
  if (!isRule) {
    report(checking, join(path, 'rule'), rule === undefined ? 'is missing' : `must be a function, got ${show(rule)}`);
  }
  if (description === undefined) report(checking, join(path, 'description'), 'is missing');
  return {
    ...(isRule ? { rule } : {}),
    ...(passes(checking, join(path, 'description'), description, rules.text) ? { description } : {}),
  };
}

function readList<F extends AnyFunction>(checking: Checking, path: string, input: unknown): F[] | undefined {
  const list: unknown[] = Array.isArray(input) ? input : [input];
  if (list.every((item) => isFunction<F>(item))) return [...list];
  report(checking, path, `must be a function or a list of functions, got ${show(input)}`);
  return undefined;
}
