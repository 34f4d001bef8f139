import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgeRest, loaded } from '../../server/platform/rest.ts';

/**
 * Judges a thread each ten seconds, given the milliseconds for which it was busy in each: whether it is to give memory
 * back.
 */
function timesOf(...busy: number[]): boolean[] {
  let rest = loaded;
  return busy.map((active) => {
    const { isTime, ...next } = judgeRest(rest, { active, utilization: active / 10_000 });
    rest = next;
    return isTime;
  });
}

describe('A thread at rest', () => {
  it('gives the memory of its start back as soon as it is quiet, because its code is cold', () => {
    assert.deepEqual(timesOf(300, 5, 5, 5, 5, 5, 5), [false, true, false, false, false, false, false]);
  });

  it('keeps compiled code through pauses of half a minute', () => {
    const busy = [9000, 5, 5, 5];
    assert.deepEqual(
      timesOf(...busy, ...busy, ...busy).filter((isTime) => isTime),
      [],
    );
  });

  it('gives memory back once after work and a longer quiet time, and not again for little work', () => {
    assert.deepEqual(timesOf(9000, 5, 5, 5, 5, 5, 5, 5), [false, false, false, false, true, false, false, false]);
    const quiet = Array.from({ length: 80 }, () => 5);
    assert.equal(timesOf(9000, ...quiet).filter((isTime) => isTime).length, 1);
    // Questions for its health are work too, in the long run.
    assert.equal(timesOf(9000, ...quiet, ...quiet).filter((isTime) => isTime).length, 2);
  });

  it('is at no rest while something comes again and again', () => {
    assert.deepEqual(timesOf(9000, 300, 300, 300, 300, 300).includes(true), false);
  });
});
