import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { didYouMean, nearest, show, showAll } from '../../config/suggest.ts';

describe('suggestions', () => {
  it('name the nearest word, whatever its case', () => {
    assert.equal(nearest('requred', ['relationTo', 'required']), 'required');
    assert.equal(nearest('TITLE', ['title']), 'title');
    assert.equal(didYouMean('ulr', ['url']), '; did you mean "url"?');
  });

  it('are silent if nothing is near', () => {
    assert.equal(nearest('banana', ['title', 'url', 'a']), undefined);
    assert.equal(nearest('x', ['a']), undefined);
    assert.equal(nearest('jobs', ['cors', 'globals']), undefined);
    assert.equal(nearest('title'.repeat(100_000), ['title']), undefined);
    assert.equal(didYouMean(3, ['3']), '');
  });
});

describe('shown values', () => {
  it('are short', () => {
    assert.equal(show('a"b'), '"a\\"b"');
    assert.equal(show('x'.repeat(100)), `"${'x'.repeat(50)}"…`);
    assert.equal(show([1, 2]), 'a list of 2');
    assert.equal(show({}), 'an object');
    assert.equal(show(undefined), 'undefined');
    assert.equal(showAll(['a', 'b', 'c'], 2), '"a", "b" and 1 more');
  });
});
