import { randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { useServiceHere } from '../helpers/embedded.ts';
import { roundsOf } from '../helpers/rounds.ts';
import { keep, keptInputs } from './kept.ts';
import { mutations } from './mutations.ts';
import { parsersOf } from './parsers.ts';
import { tryInput } from './target.ts';
import { queried } from './targets/requests.ts';
import { watchInputs } from './watchdog.ts';

const service = useServiceHere(queried);
const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
const runs = Number(process.env.TEST_RUNS ?? roundsOf(4000, 250));

describe(`Our own parsers, of whatever comes (TEST_SEED=${seed})`, () => {
  for (const [parser, target] of Object.entries(parsersOf(service))) {
    it(`throw no error but those that they declare, and end: ${parser}`, async () => {
      const { seeds = [], words = [] } = target;
      const inputs = mutations({ seeds: [...seeds, ...keptInputs(parser).values()], words });
      // Modules that it loads for the first input are not the cost of any.
      for (const first of seeds.slice(0, 1)) await target.read(first);
      const watched = watchInputs(parser);
      const property = fc.asyncProperty(inputs, (input) => {
        watched.begin(input);
        return tryInput(target, input);
      });
      const found = await fc.check(property, { seed, numRuns: runs });
      await watched.end();
      const [input] = found.counterexample ?? [];
      if (!input) return;
      const message = `${keep(parser, input)} breaks it, found by ${found.numRuns} inputs: commit that file with the mend`;
      throw new Error(message, { cause: found.errorInstance });
    });
  }
});
