import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { schemaVersionOf } from '../../events/facts/catalogue.ts';

const types = Object.keys(schemaVersionOf);
const ofDocuments = types.filter((type) => /^(document|global|review)\./.test(type));

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

/** The names in quotes of a text that are written like event types, and begin like one. */
function typesNamedIn(text: string): string[] {
  const subjects = new Set(types.map((type) => type.split('.')[0]));
  const quoted = [...text.matchAll(/'([a-z]+(?:\.[a-z]+)+)'/g)].map(([, name = '']) => name);
  return quoted.filter((name) => subjects.has(name.split('.')[0]));
}

describe('The event types of the verifiers', () => {
  const verifiers = ['verify/annals-verify.mjs', 'docs/verify.py'];

  for (const path of verifiers) {
    it(`are in the catalogue of the service: ${path}`, () => {
      const named = typesNamedIn(textOf(path));
      assert.ok(named.includes('document.erased'));
      assert.deepEqual(
        named.filter((name) => !types.includes(name)),
        [],
      );
    });
  }

  it('include each one about documents and globals in the list of verify/annals-verify.mjs', () => {
    const [, list = ''] = /const changeWords = new Map\(\[(.+?)\n\]\);/s.exec(textOf('verify/annals-verify.mjs')) ?? [];
    assert.deepEqual(typesNamedIn(list).sort(), ofDocuments.toSorted());
  });

  it('include each one about documents and globals in docs/verify.py, whole or by its last part', () => {
    const [, fold = ''] =
      /\n( *if data is None or not kind\.startswith.+?raise Undecided)/s.exec(textOf('docs/verify.py')) ?? [];
    const [, drafts = ''] = /\ndrafts = (.+)/.exec(textOf('docs/verify.py')) ?? [];
    const isHandled = (type: string) => {
      const [subject, verb, ofDraft] = type.split('.');
      if (ofDraft !== undefined) return drafts.includes(`'${subject}'`) && drafts.includes(`'${ofDraft}'`);
      return fold.includes(`'${type}'`) || fold.includes(`'.${verb}'`);
    };
    // A review is no change of a document.
    const changing = ofDocuments.filter((type) => !type.startsWith('review.'));
    assert.deepEqual(
      changing.filter((type) => !isHandled(type)),
      [],
    );
  });
});
