import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { declarations, typesFile } from '../../binary/types.ts';

describe('annals init', () => {
  it('has the types of this version: npm run node -- binary/types.ts writes them', () => {
    assert.equal(readFileSync(typesFile, 'utf8'), declarations());
  });
});
