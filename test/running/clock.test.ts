import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClock, newClockCell } from '../../events/store/clock.ts';
import { judge, unwatched } from '../../server/running/clock.ts';

const second = 1000;
const minute = 60 * second;
const day = 24 * 60 * minute;
const year = 365.25 * day;

/**
 * A service whose clocks are set by hand and looked at each second: what it says, and since when it takes writes.
 *
 * @param newest what was recorded last, if that is later than now.
 */
function watched(newest = 0) {
  const at = { wall: Date.parse('2026-11-20T12:00:00Z'), steady: 0, slept: 0 };
  const sources = { wall: () => at.wall, steady: () => at.steady, slept: () => at.slept };
  const clock = createClock(newClockCell(sources), sources);
  const said: string[] = [];
  let watch = unwatched;
  let recorded = newest;

  function look(): void {
    const judged = judge(watch, { at: at.steady, lead: clock.lead(), lag: recorded - at.wall });
    watch = judged.watch;
    said.push(...judged.says.map(({ level, message }) => `${level}: ${message}`));
    if (judged.believes) clock.believe(clock.lead());
  }

  function pass(milliseconds: number): void {
    for (let left = milliseconds; left > 0; left -= second) {
      at.wall += second;
      at.steady += second;
      look();
    }
  }

  /** Whether something is recorded now. */
  function write(): boolean {
    try {
      recorded = Math.max(recorded, clock.now());
      return true;
    } catch {
      return false;
    }
  }

  return { at, pass, write, said: () => said.splice(0), recorded: () => recorded };
}

describe('A clock that is watched', () => {
  it('is believed at once if a time service or a leap second sets it by up to a minute', () => {
    const { at, pass, write, said } = watched();
    for (const step of [second, -second, minute, -30 * second, 45 * second]) {
      at.wall += step;
      assert.ok(write(), `${step}`);
      pass(5 * second);
    }
    assert.deepEqual(said(), []);
  });

  it('that jumps ahead by years and is put right is waited for, and leaves nothing behind', () => {
    const { at, pass, write, said, recorded } = watched();
    assert.ok(write());
    at.wall += 20 * year;
    assert.ok(!write(), 'not even before anybody has looked');
    pass(10 * minute);
    assert.ok(!write());
    assert.deepEqual(said(), [
      'error: the clock has jumped ahead by 20 years: writes are refused until it is put back, or, if it is right now and was wrong before, until the service is started again',
    ]);
    at.wall -= 20 * year;
    assert.ok(write(), 'as soon as it is');
    pass(second);
    assert.deepEqual(said(), ['warn: the clock is right again: writes go on']);
    assert.ok(recorded() < Date.parse('2026-11-20T13:00:00Z'));
  });

  it('that stays ahead for a minute is believed, as after the pause of a virtual machine', () => {
    for (const pause of [2 * minute, 8 * 60 * minute, 7 * day]) {
      const { at, pass, write, said } = watched();
      at.wall += pause;
      pass(minute);
      assert.ok(!write());
      pass(second);
      assert.ok(write(), `${pause}`);
      const [jumped, believed, ...more] = said();
      assert.match(jumped ?? '', /^error: the clock has jumped ahead by .+ or has stayed so for a minute$/);
      assert.match(believed ?? '', /^warn: the clock has stayed ahead by .+: it is believed, writes go on$/);
      assert.deepEqual(more, []);
    }
  });

  it('has its minute anew when it jumps again meanwhile, and is refused for ever beyond a week', () => {
    const { at, pass, write, said } = watched();
    at.wall += day;
    pass(50 * second);
    at.wall += day;
    pass(50 * second);
    assert.ok(!write());
    pass(11 * second);
    assert.ok(write());
    assert.equal(said().length, 3);
    at.wall += 7 * day + 2 * second;
    pass(30 * minute);
    assert.ok(!write());
  });

  it('may stand still with the machine for as long as that sleeps', () => {
    const { at, pass, write, said } = watched();
    at.wall += 90 * day;
    at.slept += 90 * day;
    assert.ok(write());
    pass(second);
    assert.deepEqual(said(), []);
  });

  it('that is set back is believed, and reported once if new events have to run ahead of it', () => {
    const { at, pass, write, said, recorded } = watched();
    assert.ok(write());
    const before = recorded();
    at.wall -= 3 * minute;
    pass(second);
    assert.ok(write());
    assert.equal(recorded(), before);
    pass(minute);
    const [behind, ...more] = said();
    assert.match(
      behind ?? '',
      /^warn: the clock is behind the last event by 3 minutes: what is recorded has the time of/,
    );
    assert.deepEqual(more, []);
    pass(2 * minute);
    assert.deepEqual(said(), ['info: the clock has come to the time of the last event again']);
  });

  it('that is lost for years and comes back is no jump: it was there before', () => {
    const { at, pass, write, said } = watched();
    assert.ok(write());
    at.wall -= 56 * year;
    pass(10 * minute);
    assert.ok(write());
    at.wall += 56 * year;
    assert.ok(write());
    pass(second);
    assert.match(said().join('\n'), /^warn: the clock is behind the last event by 56 years: .+\ninfo: [^\n]+$/);
  });

  it('that is behind the last event at the start is told of at the first look', () => {
    const { pass, said } = watched(Date.parse('2026-11-20T12:30:00Z'));
    pass(second);
    assert.match(said().join(), /^warn: the clock is behind the last event by 30 minutes: /);
  });
});
