import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { simulate } from './run.ts';

const seed = Number(process.env.TEST_SEED ?? Date.now() % 1e9);

describe('The log on a simulated disk', () => {
  it('has all that was acknowledged, whatever fails and whenever the power is cut', (t) => {
    t.diagnostic(`seed ${seed}`);
    for (let at = seed; at < seed + 8; at += 1) {
      try {
        simulate({ seed: at, isBrief: true });
      } catch (error) {
        throw new Error(`TEST_SEED=${at}: ${(error as Error).message}`, { cause: error });
      }
    }
  });

  it('loses events if the disk ignores syncs, and that is found', () => {
    const isLost = (at: number) => {
      try {
        simulate({ seed: at, ignoresSync: true, isBrief: true });
        return false;
      } catch (error) {
        return (error as Error).name === 'BrokenPromise';
      }
    };
    assert.ok([1, 2, 3, 4].some(isLost));
  });

  it('makes the same calls for the same seed', () => {
    assert.deepEqual(simulate({ seed, isBrief: true }), simulate({ seed, isBrief: true }));
  });
});
