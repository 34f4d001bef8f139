import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { keptInputs, keptParsers } from './kept.ts';
import { parsersOf } from './parsers.ts';
import { tryInput } from './target.ts';
import { queried } from './targets/requests.ts';

const service = useServiceHere(queried);

describe('Inputs that are kept of our own parsers', () => {
  for (const [parser, target] of Object.entries(parsersOf(service))) {
    it(`are read as they should be: ${parser}`, async () => {
      const inputs = [...keptInputs(parser)];
      assert.ok(inputs.length > 0, 'none is kept');
      for (const [index, seed] of (target.seeds ?? []).entries()) inputs.push([`the seed ${index}`, seed]);
      for (const [name, input] of inputs) await assert.doesNotReject(() => tryInput(target, input), name);
    });
  }

  it('are of a parser that there is', () => {
    assert.deepEqual(keptParsers(), Object.keys(parsersOf(service)).sort());
  });
});
