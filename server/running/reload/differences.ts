import { hash } from 'node:crypto';
import type { Collection, Field, Global, Model, RuleWords } from '../../../config/model.ts';
import { partsOf } from '../../../config/nesting.ts';

/** The differences of two configurations, by their paths: `collections.posts.access.read was changed`. */
type Differences = {
  /** The differences that change read tables, claims or accounts. */
  stored: string[];
  all: string[];
};

/** The options of a field that decide how its values are stored, and which values may not be shared. */
const storedOptions = new Set(['type', 'unique', 'index', 'relationTo', 'hasMany', 'collection', 'on', 'renamedFrom']);
/** The parts of a model that follow from other parts. */
const derived = new Set([
  'schema',
  'kind',
  'slug',
  'category',
  'name',
  'fields',
  'blocks',
  'warnings',
  'rules',
  'ruleWords',
]);
/** The names in the configuration of options that have another name in the model. */
const named: Record<string, string> = {
  makeDefault: 'defaultValue',
  hasPublicHistory: 'history',
  requiresReason: 'requireReason',
  isQueryable: 'queryable',
  validates: 'validate',
};
/** Options of the configuration that `false` turns off. */
const switches = ['admin', 'rateLimit'] as const;
const order = 'the order of ';

type Fact = { value: string; isStored: boolean };
type Facts = Map<string, Fact>;

/** The differences between two configurations. A function is compared by its text: what it calls is not. */
export function differencesOf(before: Model, after: Model): Differences {
  const [was, is] = [factsOf(before), factsOf(after)];
  const paths = [...new Set([...was.keys(), ...is.keys()])].filter((path) => {
    return was.get(path)?.value !== is.get(path)?.value && !isTold(path);
  });
  const isStored = (path: string) => (was.get(path) ?? is.get(path))?.isStored === true;
  return { stored: paths.filter(isStored).map(told), all: paths.map(told) };

  function told(path: string): string {
    if (was.has(path) && is.has(path)) return `${path} was changed`;
    if (switches.some((name) => name === path)) return `${path} was turned ${is.has(path) ? 'on' : 'off'}`;
    return `${path} was ${is.has(path) ? 'added' : 'removed'}`;
  }

  /** A part that is new or gone is told once as a whole; the order of the parts changes with it. */
  function isTold(path: string): boolean {
    if (!path.startsWith(order)) return was.has(path) !== is.has(path) && parentsOf(path).some(isMoved);
    const parent = path.slice(order.length);
    const names = [was, is].map((facts) => (facts.get(path)?.value ?? '').split(' ').sort().join(' '));
    return names[0] !== names[1] || parentsOf(`${parent}.`).some(isMoved);
  }

  function isMoved(path: string): boolean {
    return was.has(path) !== is.has(path);
  }
}

/** The paths above a path, the nearest first. */
function parentsOf(path: string): string[] {
  const names = path.split('.');
  return names.slice(1).map((_, index) => names.slice(0, names.length - 1 - index).join('.'));
}

function factsOf(model: Model): Facts {
  const facts: Facts = new Map();
  const { collections, globals, ...options } = model;
  noteOptions(facts, '', options);
  for (const name of switches) if (options[name] !== null) facts.set(name, { value: '', isStored: false });
  for (const [kind, all] of Object.entries({ collections, globals })) {
    noteOrder(facts, kind, [...all.keys()]);
    for (const one of all.values()) noteKind(facts, `${kind}.${one.slug}`, one);
  }
  return facts;
}

function noteKind(facts: Facts, path: string, one: Collection | Global): void {
  const { schema, fields } = one;
  noteWhole(facts, path);
  if ('auth' in schema) noteWhole(facts, `${path}.auth`);
  if ('upload' in schema) noteWhole(facts, `${path}.upload`);
  if ('drafts' in schema) noteWhole(facts, `${path}.drafts`);
  noteOptions(facts, path, one);
  noteOptions(facts, path, { labels: Reflect.get(schema, 'labels'), label: Reflect.get(schema, 'label') });
  noteOption(facts, `${path}.renamedFrom`, { value: Reflect.get(schema, 'renamedFrom'), isStored: false });
  noteWords(facts, path, one);
  noteFields(facts, `${path}.fields`, fields);
}

function noteFields(facts: Facts, path: string, fields: readonly Field[]): void {
  noteOrder(
    facts,
    path,
    fields.map(({ name }) => name),
  );
  for (const field of fields) {
    const at = `${path}.${field.name}`;
    noteWhole(facts, at);
    noteOptions(facts, at, field);
    noteWords(facts, at, field);
    for (const { slug, fields: inside } of partsOf(field)) {
      const part = slug === null ? at : `${at}.${slug}`;
      if (slug !== null) noteWhole(facts, part);
      noteFields(facts, part, inside);
    }
  }
}

function noteWhole(facts: Facts, path: string): void {
  facts.set(path, { value: '', isStored: true });
}

function noteOrder(facts: Facts, path: string, names: readonly string[]): void {
  facts.set(order + path, { value: names.join(' '), isStored: true });
}

function noteWords(facts: Facts, path: string, { ruleWords = {} }: { ruleWords?: RuleWords }): void {
  for (const [decides, words] of Object.entries(ruleWords)) {
    noteOption(facts, `${path}.access.${decides}.description`, { value: words, isStored: false });
  }
}

function noteOptions(facts: Facts, path: string, options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (derived.has(name)) continue;
    const at = path === '' ? '' : `${path}.`;
    const isStored = path !== '' && storedOptions.has(name);
    noteOption(facts, at + (named[name] ?? name), { value, isStored });
  }
}

function noteOption(facts: Facts, path: string, { value, isStored }: { value: unknown; isStored: boolean }): void {
  if (value === undefined || value === null || value === false) return;
  if (typeof value === 'object' && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value))
      noteOption(facts, `${path}.${named[name] ?? name}`, { value: inner, isStored });
  } else facts.set(path, { value: digestOf(value), isStored });
}

/** An option may be a secret. */
function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_, inner) => (typeof inner === 'function' ? String(inner) : inner));
  return hash('sha256', text ?? String(value), 'hex');
}
