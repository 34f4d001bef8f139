import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClock, jumpMilliseconds, newClockCell, type TimeSources } from '../../events/store/clock.ts';
import { createIds } from '../../events/store/ids.ts';
import { noon } from './logs.ts';

const day = 24 * 3600 * 1000;

/** A machine whose clocks are set by hand: `pass` lets time go by on all of them. */
function machine() {
  const at = { wall: noon, steady: 5000, slept: 0 };
  let looks = 0;
  const sources: TimeSources = {
    wall: () => at.wall,
    steady: () => at.steady,
    slept: () => {
      looks += 1;
      return at.slept;
    },
  };
  const pass = (milliseconds: number) => {
    at.wall += milliseconds;
    at.steady += milliseconds;
  };
  return { at, sources, pass, looks: () => looks };
}

describe('The clock of a service', () => {
  it('is the wall clock as long as that goes on as time does, and if it is set back', () => {
    const { at, sources, pass } = machine();
    const clock = createClock(newClockCell(sources), sources);
    assert.equal(clock.now(), noon);
    pass(30 * day);
    assert.deepEqual([clock.now(), clock.believed(), clock.lead()], [noon + 30 * day, noon + 30 * day, 0]);
    at.wall -= 20 * day;
    assert.deepEqual([clock.now(), clock.believed(), clock.lead()], [noon + 10 * day, noon + 10 * day, -20 * day]);
  });

  it('believes no jump ahead of more than a minute: nothing is recorded then, and what looks goes on', () => {
    const { at, sources, pass } = machine();
    const clock = createClock(newClockCell(sources), sources);
    at.wall += jumpMilliseconds;
    assert.equal(clock.now(), noon + jumpMilliseconds);
    at.wall += 1;
    assert.throws(() => clock.now(), { code: 'unavailable', retryAfter: 10, message: /^the clock of the service has/ });
    assert.equal(clock.believed(), noon);
    at.wall += 7300 * day;
    pass(2000);
    assert.throws(() => clock.now(), { code: 'unavailable' });
    assert.equal(clock.believed(), noon + 2000);
    at.wall = noon + 3000;
    assert.equal(clock.now(), noon + 3000);
  });

  it('takes the time that the machine slept for time, and asks for that only if the clocks differ', () => {
    const { at, sources, pass, looks } = machine();
    const cell = newClockCell(sources);
    const clock = createClock(cell, sources);
    const other = createClock(cell, sources);
    const before = looks();
    pass(day);
    assert.equal(clock.now(), noon + day);
    assert.equal(looks(), before);
    at.wall += 60 * day;
    at.slept += 60 * day;
    assert.equal(clock.now(), noon + 61 * day);
    assert.equal(other.now(), noon + 61 * day);
    assert.equal(looks(), before + 2);
    at.wall += 60 * day;
    assert.throws(() => clock.now(), { code: 'unavailable' });
  });

  it('is one clock for all threads: a time believed in one is believed in all, and never goes back', () => {
    const { at, sources, pass } = machine();
    const cell = newClockCell(sources);
    const [one, other] = [createClock(cell, sources), createClock(cell, sources)];
    at.wall += day;
    assert.throws(() => other.now(), { code: 'unavailable' });
    one.believe(one.lead());
    assert.equal(other.now(), noon + day);
    at.wall -= 2 * day;
    one.believe(one.lead());
    pass(1000);
    assert.equal(other.lead(), -2 * day);
    // A return to the former time is no jump.
    at.wall += 2 * day;
    assert.equal(other.now(), noon + day + 1000);
  });

  it('reads the wall clock once for each decision: it may jump at any moment', () => {
    const { at, sources } = machine();
    let jumpsAfter = Number.POSITIVE_INFINITY;
    const wall = () => {
      jumpsAfter -= 1;
      return jumpsAfter < 0 ? at.wall + 7300 * day : at.wall;
    };
    const clock = createClock(newClockCell(sources), { ...sources, wall });
    jumpsAfter = 1;
    assert.equal(clock.now(), noon);
    jumpsAfter = 1;
    assert.equal(clock.believed(), noon);
    jumpsAfter = 1;
    clock.believe(clock.lead());
    assert.throws(() => clock.now(), { code: 'unavailable' });
  });

  it('makes no id of a time that is not believed, and no later id of it either', () => {
    const { at, sources } = machine();
    const clock = createClock(newClockCell(sources), sources);
    const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), clock.now);
    assert.equal(ids.next().at, noon);
    at.wall += 7300 * day;
    assert.throws(() => ids.next(), { code: 'unavailable' });
    at.wall = noon + 1;
    assert.equal(ids.next().at, noon + 1);
  });

  it('of this machine goes on as its wall clock does, and does not jump', async () => {
    const clock = createClock(newClockCell());
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(Math.abs(clock.lead()) < 5000, `${clock.lead()}`);
    assert.ok(Math.abs(clock.now() - Date.now()) < 5000);
  });
});
