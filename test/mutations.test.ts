import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mutations } from './mutations/all.ts';
import { mutated, patternOf } from './mutations/mutation.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const texts = new Map<string, string>();

function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8');
  texts.set(file, text);
  return text;
}

/** How many tests of a text have a name. The part of it that a template is given has to stand in the text, too. */
function testsOf(text: string, name: string): number {
  const calls = text.matchAll(/\bit\(\s*(?:(['"])((?:\\.|(?!\1)[^\\\n])*)\1|`([^`]*)`)/g);
  return [...calls].filter(([, , plain, template = '']) => {
    if (plain !== undefined) return plain.replaceAll(/\\(.)/g, '$1') === name;
    const parts = template.split(/\$\{[^}]*\}/).map(patternOf);
    const [, ...put] = new RegExp(`^${parts.join('(.+)')}$`).exec(name) ?? [];
    return put.length > 0 && put.every((part) => text.includes(part));
  }).length;
}

function repeated(texts: readonly string[]): string[] {
  return texts.filter((text, index) => texts.indexOf(text) !== index);
}

describe('The faults of npm run mutations', () => {
  it('are told in sentences, each another', () => {
    const told = mutations.map(({ what }) => what);
    assert.deepEqual(repeated(told), []);
    assert.deepEqual(
      told.filter((what) => !/^[a-zA-Z][^\n]*\.$/.test(what)),
      [],
    );
  });

  it('are each another', () => {
    assert.deepEqual(repeated(mutations.map(({ file, text, replacement }) => `${file}: ${text} ${replacement}`)), []);
  });

  for (const mutation of mutations) {
    const { what, file, text, replacement, test } = mutation;
    it(`can be put in, and have their test: ${what}`, () => {
      assert.notEqual(text, replacement);
      assert.notEqual(mutated(textOf(file), mutation), textOf(file));
      assert.match(test.file, /^test\/.*(?<!\.long)\.test\.ts$/);
      assert.ok(existsSync(join(root, test.file)), `there is no ${test.file}`);
      const count = testsOf(textOf(test.file), test.name);
      assert.equal(count, 1, `${test.file} has ${count} tests of the name "${test.name}"`);
    });
  }
});

describe('The name of a test', () => {
  it('is found in each form that it is written in', () => {
    const text = [
      "it('is \"it\\'s\"', () => {});",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a source
      "for (const what of ['a key']) it(\n  `holds: ${what}`, () => {});",
      "split('x')",
    ].join('\n');
    assert.deepEqual(
      ['is "it\'s"', 'holds: a key', 'holds: a kez', 'holds: ', 'x'].map((name) => testsOf(text, name)),
      [1, 1, 0, 0, 0],
    );
  });

  it('and a text that stands twice, or not at all, are refused', () => {
    const fault = { what: '', file: 'a.ts', text: 'b', replacement: 'c', test: { file: '', name: '' } };
    assert.equal(mutated('a b a', fault), 'a c a');
    assert.throws(() => mutated('a b b', fault), /once in a\.ts, and stands there 2 times: b/);
    assert.throws(() => mutated('a', fault), /0 times/);
  });
});
