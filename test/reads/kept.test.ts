import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openKept, type TableState } from '../../server/reads/kept.ts';
import { eventually } from '../helpers/shared.ts';

const at = (position: number, erasures = 0) => ({ position, erasures });
const of = (hash: string, file = 'read.db') => ({ file, hash });

describe('Answers that are kept', () => {
  it('stay until a document is written that they depend on', () => {
    const kept = openKept();
    const get = (hash: string, state: TableState, lastWrite: number) => kept.get(of(hash), state, () => lastWrite);
    kept.set(of('a'), at(5), [1]);
    assert.deepEqual(get('a', at(5), 5), [1]);
    assert.equal(get('b', at(5), 5), undefined);
    assert.deepEqual(get('a', at(8), 4), [1], 'three other events');
    assert.equal(get('a', at(9), 9), undefined);
    assert.equal(get('a', at(8), 4), undefined, 'it does not come back');
    kept.set(of('a'), at(9), [2]);
    assert.equal(get('a', at(9, 1), 4), undefined, 'an erasure ends it');
    kept.close();
  });

  it('are all gone after an erasure, also those that are not asked for', () => {
    const kept = openKept();
    kept.set(of('a'), at(5), [1]);
    kept.set(of('b'), at(5), [2]);
    assert.equal(
      kept.get(of('c'), at(6, 1), () => 1),
      undefined,
    );
    assert.equal(kept.size(), 0);
    kept.set(of('a'), at(6, 1), [1]);
    kept.set(of('b'), at(7, 2), [2]);
    assert.equal(kept.size(), 1);
    // A read that began before the erasure is not kept, and another read file has its own.
    kept.set(of('late'), at(6, 1), [3]);
    kept.set(of('other', 'other.db'), at(1), [4]);
    assert.deepEqual([kept.size(), kept.get(of('b'), at(7, 2), () => 1)], [2, [2]]);
    kept.close();
  });

  it('count what they hold, however deep', () => {
    const kept = openKept({ all: 100, one: 60, idleMilliseconds: 30_000 });
    kept.set(of('flat'), at(1), { texts: ['x'.repeat(30), 'y'.repeat(20)], total: 2 });
    kept.set(of('deep'), at(1), { groups: [{ key: ['x'.repeat(30)], sums: [{ of: 'y'.repeat(20) }] }] });
    kept.set(of('large'), at(1), { texts: ['x'.repeat(30), 'y'.repeat(30)], total: 2 });
    assert.deepEqual(
      ['flat', 'deep', 'large'].map((key) => kept.get(of(key), at(1), () => 1) !== undefined),
      [false, true, false],
    );
    kept.close();
  });

  it('take so much room, the ones used last stay, and all go when none is used', async () => {
    const kept = openKept({ all: 100, one: 60, idleMilliseconds: 20 });
    const forty = 'x'.repeat(36);
    kept.set(of('a'), at(1), forty);
    kept.set(of('b'), at(1), forty);
    kept.get(of('a'), at(1), () => 1);
    kept.set(of('c'), at(1), forty);
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => kept.get(of(key), at(1), () => 1) !== undefined),
      [true, false, true],
    );
    kept.set(of('long'), at(1), 'x'.repeat(100));
    assert.equal(
      kept.get(of('long'), at(1), () => 1),
      undefined,
    );
    await eventually(() => kept.size() === 0);
  });
});
