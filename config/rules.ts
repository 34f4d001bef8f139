import { hash } from 'node:crypto';
import type { Collection, Field, Global, RuleWords } from './model.ts';
import { partsOf } from './nesting.ts';
import type { Rules } from './schema.ts';

// biome-ignore lint/complexity/noBannedTypes: only the text of a function is used
type AnyFunction = Function;

/** A part of a configuration that may have rules and hooks. */
type RuleHolder = { access?: object; ruleWords?: RuleWords; hooks?: { [when: string]: readonly AnyFunction[] } };

/** A rule of the whole configuration, and its description. */
type TopRule = { rule: AnyFunction | null; description: string | undefined };

/** All parts of a configuration that may have rules. */
type Parts = {
  collections: readonly Collection[];
  globals: readonly Global[];
  audit: TopRule;
  keys: TopRule;
  erase: TopRule;
  releases: TopRule;
};

/**
 * The name of a rule of a collection or global.
 *
 * @param key `posts`, or `globals/site`.
 */
export function ruleNameOf(key: string, decides: string): string {
  return `${key}.${decides}`;
}

/**
 * The fingerprint of every rule and hook that is set: `posts.update`, `globals/site.read`, `audit`, `keys`, `erase`,
 * `releases`, `posts.fields.seo.title.update`, `posts.fields.layout.hero.title.read` in a block,
 * `posts.hooks.beforeChange.0`. The fingerprint covers the function's own text (Function.prototype.toString), not the
 * functions that it calls.
 */
export function rulesOf({ collections, globals, audit, keys, erase, releases }: Parts): Rules {
  const found: [name: string, rule: Rules[string]][] = [];

  function note(name: string, rule: AnyFunction, description?: string): void {
    const sha256 = hash('sha256', String(rule), 'hex');
    found.push([name, { sha256, ...(description === undefined ? {} : { description }) }]);
  }

  function noteAll(path: string, { access = {}, ruleWords = {}, hooks = {} }: RuleHolder): void {
    for (const [decides, rule] of Object.entries(access)) note(ruleNameOf(path, decides), rule, ruleWords[decides]);
    for (const [when, list] of Object.entries(hooks)) {
      for (const [index, hook] of list.entries()) note(`${path}.hooks.${when}.${index}`, hook);
    }
  }

  function noteFields(path: string, fields: readonly Field[]): void {
    for (const field of fields) {
      const at = `${path}.${field.name}`;
      noteAll(at, field);
      for (const { slug, fields } of partsOf(field)) noteFields(slug === null ? at : `${at}.${slug}`, fields);
    }
  }

  for (const [name, { rule, description }] of Object.entries({ audit, keys, erase, releases }))
    if (rule) note(name, rule, description);
  for (const one of [...collections, ...globals]) {
    const key = one.kind === 'global' ? `globals/${one.slug}` : one.slug;
    noteAll(key, one);
    noteFields(`${key}.fields`, one.fields);
  }
  return Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}
