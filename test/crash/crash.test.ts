import { describe, it } from 'node:test';
import { runCrashes } from './rounds.ts';

describe('a service that is killed', () => {
  it('keeps every acknowledged write exactly once over 20 kills under load', { timeout: 120_000 }, async (t) => {
    const seed = Date.now() % 1e9;
    t.diagnostic(`seed ${seed}: node test/crash.ts --rounds 20 --seed ${seed}`);
    await runCrashes(t, { rounds: 20, seed });
  });
});
