import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  bodiesIn,
  buildSegment,
  type PayloadBytes,
  readIndex,
  withoutPayloads,
} from '../../events/segments/segment-file.ts';

function segmentOf(first: number, bodies: readonly PayloadBytes[]) {
  const building = buildSegment(first);
  for (const body of bodies) building.add(body);
  return building.finish();
}

function bodiesOf(bytes: Buffer): PayloadBytes[] {
  const { frames } = readIndex(bytes);
  return frames.flatMap((frame) => bodiesIn(frame, bytes.subarray(frame.offset, frame.offset + frame.length)));
}

const body = fc.option(
  fc.oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }).map((text) => Buffer.from(text)),
    fc.uint8Array({ minLength: 1, maxLength: 40_000 }).map((bytes) => Buffer.from(bytes)),
  ),
);
const bodies = fc.array(body, { minLength: 1, maxLength: 40 });

describe('A segment', () => {
  it('gives the payloads that were put in, and null for those that were not', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 48 }), bodies, (first, given) => {
        const { bytes, last, raw } = segmentOf(first, given);
        const index = readIndex(bytes);
        assert.deepEqual([index.first, index.last, index.size], [first, last, bytes.length]);
        assert.equal(last, first + given.length - 1);
        assert.equal(
          raw,
          given.reduce((sum, one) => sum + (one?.length ?? 0), 0),
        );
        assert.deepEqual(bodiesOf(bytes), given);
      }),
    );
  });

  it('without some payloads is as if it never had them, except for the cut of its frames', () => {
    fc.assert(
      fc.property(bodies, fc.array(fc.integer({ min: 1, max: 40 })), (given, positions) => {
        const gone = new Set(positions);
        const { bytes, raw } = withoutPayloads(segmentOf(1, given).bytes, gone);
        const left = given.map((one, at) => (gone.has(at + 1) ? null : one));
        assert.deepEqual(bodiesOf(bytes), left);
        assert.equal(
          raw,
          left.reduce((sum, one) => sum + (one?.length ?? 0), 0),
        );
      }),
    );
  });

  it('keeps frames as they are that lose nothing', () => {
    const given = Array.from({ length: 60 }, (_, at) => Buffer.from(`${at} `.repeat(2000)));
    const { bytes } = segmentOf(1, given);
    const made = withoutPayloads(bytes, new Set([60])).bytes;
    const [before, after] = [readIndex(bytes), readIndex(made)];
    assert.ok(before.frames.length > 2);
    before.frames.slice(0, -1).forEach((frame, at) => {
      const other = after.frames[at];
      assert.ok(other);
      const one = bytes.subarray(frame.offset, frame.offset + frame.length);
      assert.ok(one.equals(made.subarray(other.offset, other.offset + other.length)));
    });
  });

  it('refuses an incomplete segment of any length, and other bytes', () => {
    const given = [Buffer.from('one'), null, Buffer.from('three')];
    const { bytes } = segmentOf(1, given);
    for (let length = 0; length < bytes.length; length += 1) {
      assert.throws(() => bodiesOf(bytes.subarray(0, length)), { name: 'SegmentFormatError' }, `${length} bytes`);
    }
    assert.throws(
      () => readIndex(Buffer.from('this is no segment, and longer than its head')),
      /does not begin as one/,
    );
  });
});
