import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openLease } from '../../../server/running/nodes/leases.ts';

/** The row of one lease, as nodes have it together. */
function rowOfLease() {
  let held: string | null = null;
  return {
    take: async (_name: string, holder: string) => {
      held ??= holder;
      return held === holder ? 1 : null;
    },
    release: async (_name: string, holder: string) => {
      if (held === holder) held = null;
    },
  };
}

describe('A lease', () => {
  it('is given up by a node that may not have it any more, and is taken by another one', async (t) => {
    const rows = rowOfLease();
    let isAgreed = true;
    const options = { rows, name: 'mail', onGained: () => {} };
    const first = openLease({ ...options, holder: 'first', mayTake: () => isAgreed });
    const second = openLease({ ...options, holder: 'second' });
    t.after(() => Promise.all([first.close(), second.close()]));
    assert.deepEqual([await first.look(), await second.look()], [true, false]);
    isAgreed = false;
    assert.equal(await first.look(), false);
    assert.equal(first.isHeld(), false);
    assert.equal(await second.look(), true);
    isAgreed = true;
    assert.equal(await first.look(), false);
  });
});
