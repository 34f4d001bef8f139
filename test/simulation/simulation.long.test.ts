import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { roundsOf } from '../helpers/rounds.ts';
import { runAll } from './threads.ts';

/** 10,000 are for `npm run simulate`, in .ci/nightly. */
const runs = roundsOf(1000, 200);

describe('The log on a simulated disk, in long runs', () => {
  it(`has all that was acknowledged, in ${runs} runs`, async (t) => {
    const seed = Date.now() % 1e9;
    t.diagnostic(`seed ${seed}: npm run simulate -- --runs ${runs} --seed ${seed}`);
    const { failures, sums } = await runAll({ seed, runs, threads: 2, ignoresSync: false });
    assert.deepEqual(failures, []);
    assert.ok(sums.cuts > runs && sums.events > runs && sums.erased > runs / 10 && sums.errors > runs / 10);
  });

  it('loses events in most runs if the disk ignores syncs', async () => {
    const { failures } = await runAll({ seed: 1, runs: 20, threads: 2, ignoresSync: true });
    assert.ok(failures.length >= 15, `${failures.length} of 20`);
  });
});
