import type {
  Access,
  AccessRule,
  AuditRule,
  EraseRule,
  FieldAccess,
  FieldHook,
  FieldHooks,
  FieldRule,
  Hook,
  Hooks,
  KeyRule,
  PublishHook,
  ReleaseRule,
  RuleWords,
} from './model.ts';
import { at, checkKeys, isEntry, isFunction, passes, report, rules, type Spot } from './problems.ts';
import { show } from './suggest.ts';

type AnyFunction = (...args: never[]) => unknown;
type Kind = 'collection' | 'global';

/** A collection or global whose functions are checked. */
type Holder = { kind: Kind; hasDrafts: boolean };

const accessKeys: Record<Kind, readonly string[]> = {
  collection: ['read', 'create', 'update', 'delete'],
  global: ['read', 'update'],
};

/** The access rules and hooks that only a collection or global with drafts has. */
const draftRules = ['readDrafts', 'publish'];
const draftHooks = ['beforePublish', 'afterPublish'];

const hookKeys: Record<Kind, readonly string[]> = {
  collection: ['beforeChange', 'afterChange', 'beforeRead', 'afterRead', 'beforeDelete', 'afterDelete'],
  global: ['beforeChange', 'afterChange', 'beforeRead', 'afterRead'],
};

/** Checks the access rules of a collection or global, and their descriptions. */
export function checkAccess(spot: Spot, { kind, hasDrafts }: Holder): { access: Access; ruleWords: RuleWords } {
  if (!hasDrafts) refuseWithoutDrafts(spot, draftRules, kind);
  return readRules<AccessRule>(spot, [...accessKeys[kind], ...draftRules], `the access rules of a ${kind}`);
}

/** Checks the hooks of a collection or global; a single hook becomes a list. */
export function checkHooks(spot: Spot, { kind, hasDrafts }: Holder): Hooks {
  if (!hasDrafts) refuseWithoutDrafts(spot, draftHooks, kind);
  return readHooks<Hook & PublishHook>(spot, [...hookKeys[kind], ...draftHooks], `the hooks of a ${kind}`);
}

/** Reports the keys that need drafts, of a collection or global without them. */
function refuseWithoutDrafts(spot: Spot, keys: readonly string[], kind: Kind): void {
  for (const key of keys) {
    const given = at(spot, key);
    if (given.value !== undefined) report(given, `needs drafts: true at the ${kind}`);
  }
}

/** Checks the access rules of a field; returns the members that the field gets, an empty object without rules. */
export function checkFieldAccess(spot: Spot): { access?: FieldAccess; ruleWords?: RuleWords } {
  const keys = ['read', 'create', 'update'];
  const { access, ruleWords } = readRules<FieldRule>(spot, keys, 'the access rules of a field');
  return {
    ...(Object.keys(access).length > 0 ? { access } : {}),
    ...(Object.keys(ruleWords).length > 0 ? { ruleWords } : {}),
  };
}

/** A rule with its description. */
type RuleWithDescription<F> = { rule: F | null; description: string | undefined };

/** Checks the rule of access to the history; `rule` is null if it is not set. */
export function checkAudit(spot: Spot): RuleWithDescription<AuditRule> {
  return checkOneRule<AuditRule>(spot);
}

/** Checks the rule that decides who manages API keys; `rule` is null if it is not set. */
export function checkKeyRule(spot: Spot): RuleWithDescription<KeyRule> {
  return checkOneRule<KeyRule>(spot);
}

/** Checks the rule that decides who erases; `rule` is null if it is not set. */
export function checkEraseRule(spot: Spot): RuleWithDescription<EraseRule> {
  return checkOneRule<EraseRule>(spot);
}

/** Checks the rule that decides about releases; `rule` is null if it is not set. */
export function checkReleaseRule(spot: Spot, hasDrafts: boolean): RuleWithDescription<ReleaseRule> {
  if (spot.value !== undefined && !hasDrafts) report(spot, 'needs drafts: true at a collection or global');
  return checkOneRule<ReleaseRule>(spot);
}

/** Checks the hooks of a field; returns the member that the field gets, an empty object without hooks. */
export function checkFieldHooks(spot: Spot): { hooks?: FieldHooks } {
  const hooks = readHooks<FieldHook>(spot, ['beforeChange', 'afterRead'], 'the hooks of a field');
  return Object.keys(hooks).length > 0 ? { hooks } : {};
}

/** The members that are set, of an object that may have these keys. */
function givenIn(spot: Spot, keys: readonly string[], what: string): [key: string, given: Spot][] {
  if (!passes(spot, rules.entry)) return [];
  checkKeys(spot, keys, what);
  return keys.map((key): [string, Spot] => [key, at(spot, key)]).filter(([, { value }]) => value !== undefined);
}

function readHooks<F extends AnyFunction>(spot: Spot, keys: readonly string[], what: string): { [key: string]: F[] } {
  const lists = givenIn(spot, keys, what).map(([key, given]) => [key, readList<F>(given)] as const);
  return Object.fromEntries(lists.flatMap(([key, list]) => (list ? [[key, list]] : [])));
}

function readRules<F extends AnyFunction>(
  spot: Spot,
  keys: readonly string[],
  what: string,
): { access: { [key: string]: F }; ruleWords: RuleWords } {
  const entries = givenIn(spot, keys, what).map(([key, given]) => [key, readRule<F>(given)] as const);
  const access = entries.flatMap(([key, { rule }]) => (rule ? [[key, rule] as const] : []));
  const words = entries.flatMap(([key, { description }]) =>
    description === undefined ? [] : [[key, description] as const],
  );
  return { access: Object.fromEntries(access), ruleWords: Object.fromEntries(words) };
}

function checkOneRule<F extends AnyFunction>(spot: Spot): RuleWithDescription<F> {
  const { rule, description } = readRule<F>(spot);
  return { rule: rule ?? null, description };
}

/** Reads a function, or `{ rule, description }`. */
function readRule<F extends AnyFunction>(spot: Spot): { rule?: F; description?: string } {
  const { value } = spot;
  if (value === undefined) return {};
  if (isFunction<F>(value)) return { rule: value };
  if (!isEntry(value)) {
    report(spot, `must be a function or { rule, description }, got ${show(value)}`);
    return {};
  }
  checkKeys({ ...spot, value }, ['rule', 'description'], 'a rule');
  const [rule, description] = [at(spot, 'rule'), at(spot, 'description')];
  const made = isFunction<F>(rule.value) ? rule.value : null;
  if (!made) report(rule, rule.value === undefined ? 'is missing' : `must be a function, got ${show(rule.value)}`);
  if (description.value === undefined) report(description, 'is missing');
  return {
    ...(made ? { rule: made } : {}),
    ...(passes(description, rules.text) ? { description: description.value } : {}),
  };
}

function readList<F extends AnyFunction>(spot: Spot): F[] | undefined {
  const list: unknown[] = Array.isArray(spot.value) ? spot.value : [spot.value];
  if (list.every((item) => isFunction<F>(item))) return [...list];
  report(spot, `must be a function or a list of functions, got ${show(spot.value)}`);
  return undefined;
}
