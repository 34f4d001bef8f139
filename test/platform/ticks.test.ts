import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { every } from '../../server/platform/ticks.ts';

/** Time that passes when it is told to, and how often a timer came. */
function stopped(t: TestContext) {
  let timers = 0;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let at = 5_000_350;
  t.mock.method(performance, 'now', () => at);
  const usual = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, milliseconds: number) =>
    usual(() => {
      timers += 1;
      run();
    }, milliseconds),
  );
  return {
    /** So many milliseconds, one after the other. */
    pass(milliseconds: number): void {
      for (let left = milliseconds; left > 0; left -= 1) {
        at += 1;
        t.mock.timers.tick(1);
      }
    },
    /** Lets time pass at once, as while a process is stopped. */
    jump(milliseconds: number): void {
      at += milliseconds;
      t.mock.timers.tick(milliseconds);
    },
    timers: () => timers,
  };
}

describe('A look that is made again and again', () => {
  it('comes together with others: no other timer comes for one that is made less often', (t) => {
    const { pass, timers } = stopped(t);
    const looks: string[] = [];
    const ends = [every(1000, () => looks.push('second')), every(10_000, () => looks.push('ten'))];
    pass(100);
    ends.push(every(5000, () => looks.push('five')));
    pass(29_900);
    const count = (name: string) => looks.filter((one) => one === name).length;
    assert.deepEqual([count('second'), count('five'), count('ten'), timers()], [29, 5, 2, 29]);
    for (const end of ends) end();
    pass(20_000);
    assert.deepEqual([looks.length, timers()], [36, 29]);
  });

  it('comes once after the process stood still, and as often as before from then on', (t) => {
    const { pass, jump } = stopped(t);
    let looks = 0;
    const end = every(1000, () => {
      looks += 1;
    });
    jump(60_000);
    assert.equal(looks, 1);
    pass(10_000);
    assert.equal(looks, 11);
    end();
  });

  it('does not come any more when another one has ended it', (t) => {
    const { pass } = stopped(t);
    let looks = 0;
    const first = every(1000, () => second());
    const second = every(1000, () => {
      looks += 1;
    });
    pass(5000);
    assert.equal(looks, 0);
    first();
  });
});
