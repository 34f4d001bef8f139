import { describe, it } from 'node:test';
import { roundsOf } from '../helpers/rounds.ts';
import { runCrashes } from './rounds.ts';

/** Many more are for `npm run crash`. */
const rounds = roundsOf(20, 6);

describe('a service that is killed', () => {
  it(`keeps every acknowledged write exactly once over ${rounds} kills under load`, { timeout: 290_000 }, async (t) => {
    const seed = Date.now() % 1e9;
    t.diagnostic(`seed ${seed}: node test/crash.ts --rounds ${rounds} --seed ${seed}`);
    await runCrashes(t, { rounds, seed });
  });
});
