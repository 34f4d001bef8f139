import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { idsOf, moved, partsOf, withId, withoutId } from '../../admin/src/pages/document/inputs/relationship/order.ts';

describe('the order of related documents', () => {
  it('takes a single id, a list, and no value', () => {
    assert.deepEqual(idsOf('a'), ['a']);
    assert.deepEqual(idsOf(['a', 'b', 'a']), ['a', 'b']);
    assert.deepEqual(idsOf(null), []);
    assert.deepEqual(idsOf(undefined), []);
    assert.deepEqual(idsOf([null, 3, '']), []);
  });

  it('never holds an id twice', () => {
    assert.deepEqual(withId(['a', 'b'], 'a'), ['a', 'b']);
    assert.deepEqual(withId(['a'], 'b'), ['a', 'b']);
    assert.deepEqual(withoutId(['a', 'b'], 'a'), ['b']);
  });

  it('moves an item, and neither loses nor doubles one wherever it goes', () => {
    assert.deepEqual(moved(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a']);
    assert.deepEqual(moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b']);
    assert.deepEqual(moved(['a', 'b'], 0, -1), ['a', 'b']);
    assert.deepEqual(moved(['a', 'b'], 5, 0), ['a', 'b']);
    const places = fc.integer({ min: -3, max: 12 });
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 9 }), places, places, (items, from, to) => {
        assert.deepEqual(moved(items, Math.abs(from), to).sort(), [...items].sort());
      }),
    );
  });

  it('is read in parts of a hundred', () => {
    const ids = Array.from({ length: 201 }, (_, place) => String(place));
    assert.deepEqual(
      partsOf(ids).map((part) => part.length),
      [100, 100, 1],
    );
    assert.deepEqual(partsOf(ids).flat(), ids);
    assert.deepEqual(partsOf([]), []);
  });
});
