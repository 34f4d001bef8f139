import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { joinChunks } from '../../server/platform/chunks.ts';

describe('joinChunks', () => {
  it('gives what it was shown, whatever becomes of the chunks', () => {
    const joined = joinChunks();
    const chunk = Buffer.from('a');
    for (const letter of 'joined'.repeat(1000)) {
      chunk.write(letter);
      joined.add(chunk);
    }
    joined.add(Buffer.from('!'.repeat(50_000)));
    assert.equal(joined.size(), 56_000);
    assert.equal(String(joined.bytes()), 'joined'.repeat(1000) + '!'.repeat(50_000));
    assert.equal(joinChunks().bytes().length, 0);
  });

  it('takes little more memory than the bytes, however small the chunks are', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const joined = joinChunks();
    collect();
    const { heapUsed: before } = process.memoryUsage();
    for (let count = 0; count < 300_000; count += 1) joined.add(Buffer.from('a'));
    collect();
    assert.ok(process.memoryUsage().heapUsed - before < 10_000_000);
    assert.equal(joined.size(), 300_000);
  });
});
