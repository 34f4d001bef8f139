import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { macOf, sealKeyOf } from '../../events/proof/seals.ts';
import { anyText } from '../helpers/text.ts';

describe('the code that seals a head', () => {
  it('is the one of the documents, under a key of 32 zero bytes', () => {
    const head = {
      log: 'annals/01a1fc1a-9777-7000-84b7-853341c10be2',
      size: 3,
      root: Buffer.from('734aea389864eca8f498d80c9255eca271f112b5d1098f56f207ff951dac7638', 'hex'),
      recordedAt: '2026-11-21T03:16:05.186Z',
    };
    const code = macOf(sealKeyOf(Buffer.alloc(32).toString('base64url')), head);
    assert.equal(code.toString('hex'), '5b3976ce9d7265ab0b58b1d68ba7568fd9ec8508841b952f6e1285283dfec6db');
  });

  it('is the HMAC-SHA-256 of Node, for any key up to a block, over any series of heads', () => {
    const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength }).map(Buffer.from);
    const head = fc.record({
      log: anyText(),
      size: fc.maxSafeNat(),
      root: bytes(32, 32),
      recordedAt: anyText(),
    });
    fc.assert(
      fc.property(bytes(0, 64), fc.array(head, { minLength: 1, maxLength: 3 }), (key, heads) => {
        const sealKey = sealKeyOf(key.toString('base64url'));
        for (const { log, size, root, recordedAt } of heads) {
          const text = JSON.stringify({ log, recordedAt, root: root.toString('hex'), size });
          const code = createHmac('sha256', key).update(`annals-head-v1\0${text}`).digest();
          assert.deepEqual(macOf(sealKey, { log, size, root, recordedAt }), code);
        }
      }),
    );
    assert.throws(() => sealKeyOf(Buffer.alloc(65).toString('base64url')), RangeError);
  });
});
