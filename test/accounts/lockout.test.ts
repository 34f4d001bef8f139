import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openVault } from '../../events/vault.ts';
import { createLockout, type Lockout } from '../../server/accounts/lockout.ts';
import { temporaryFolder } from '../helpers/service.ts';

const rule = { maxLoginAttempts: 3, lockTime: 600 };
const hour = 60 * 60 * 1000;

/** A lockout over a vault of its own, and its clock. */
function start(t: TestContext, maxUnknown?: number) {
  const vault = openVault(join(temporaryFolder(t), 'vault.db'));
  t.after(vault.close);
  const clock = { time: Date.UTC(2026, 0, 1) };
  const restart = (): Lockout =>
    createLockout({
      counters: vault.counters,
      now: () => clock.time,
      ...(maxUnknown === undefined ? {} : { maxUnknown }),
    });
  return { vault, clock, restart, lockout: restart() };
}

function failTimes(lockout: Lockout, key: string, times: number, isKnown = true): (number | null)[] {
  return Array.from({ length: times }, () => lockout.fail(key, isKnown, rule));
}

describe('locking after failures in a row', () => {
  it('locks at the last one that is allowed, for exactly the lock time', (t) => {
    const { lockout, clock } = start(t);
    assert.deepEqual(failTimes(lockout, 'a', 3), [null, null, clock.time + 600_000]);
    assert.deepEqual([lockout.secondsLocked('a', rule), lockout.secondsLocked('b', rule)], [600, 0]);
    clock.time += 599_999;
    assert.equal(lockout.secondsLocked('a', rule), 1);
    clock.time += 1;
    assert.equal(lockout.secondsLocked('a', rule), 0);
  });

  it('counts anew after a lock that has passed', (t) => {
    const { lockout, clock } = start(t);
    failTimes(lockout, 'a', 3);
    clock.time += 600_000;
    assert.deepEqual(failTimes(lockout, 'a', 2), [null, null]);
    assert.equal(lockout.fail('a', true, rule), clock.time + 600_000);
  });

  it('says whether there was a lock or a count to end', (t) => {
    const { lockout, clock } = start(t);
    assert.equal(lockout.reset('a'), false);
    lockout.fail('a', true, rule);
    assert.deepEqual([lockout.reset('a'), lockout.reset('a')], [true, false]);
    failTimes(lockout, 'a', 3);
    assert.deepEqual([lockout.reset('a'), lockout.secondsLocked('a', rule)], [true, 0]);
    failTimes(lockout, 'a', 3);
    clock.time += 600_000;
    assert.equal(lockout.reset('a'), false, 'the lock had passed by itself');
  });

  it('forgets failures after a day without another, of known and unknown e-mails alike', (t) => {
    const { lockout, clock } = start(t);
    for (const isKnown of [true, false]) {
      failTimes(lockout, 'a', 2, isKnown);
      clock.time += 24 * hour;
      assert.notEqual(lockout.fail('a', isKnown, rule), null, 'a day is not over');
      lockout.reset('a');
      failTimes(lockout, 'a', 2, isKnown);
      clock.time += 24 * hour + 1;
      assert.equal(lockout.fail('a', isKnown, rule), null);
      lockout.reset('a');
    }
  });
});

describe('locking when the clock or the rule changes', () => {
  it('locks for no longer than the lock time after the clock was put back, a restart later too', (t) => {
    const { lockout, clock, restart } = start(t);
    failTimes(lockout, 'a', 3);
    clock.time -= 48 * hour;
    assert.equal(lockout.secondsLocked('a', rule), 600);
    clock.time += 300_000;
    assert.equal(lockout.secondsLocked('a', rule), 300, 'it does not begin anew with every look');
    assert.equal(restart().secondsLocked('a', rule), 300);
    clock.time += 300_000;
    assert.equal(lockout.secondsLocked('a', rule), 0);
  });

  it('shortens a lock to a lock time that was made shorter', (t) => {
    const { lockout } = start(t);
    failTimes(lockout, 'a', 3);
    assert.equal(lockout.secondsLocked('a', { ...rule, lockTime: 60 }), 60);
    assert.equal(lockout.secondsLocked('a', rule), 60);
  });

  it('keeps counting after the clock was put back, and forgets a day after that', (t) => {
    const { lockout, clock } = start(t);
    failTimes(lockout, 'a', 2);
    failTimes(lockout, 'b', 2);
    clock.time -= 1000 * hour;
    assert.notEqual(lockout.fail('a', true, rule), null);
    lockout.tidy();
    clock.time += 24 * hour + 1;
    assert.equal(lockout.fail('b', true, rule), null);
  });
});

describe('what counting keeps', () => {
  it('keeps a bounded number of unknown e-mails, the newest, and every account', (t) => {
    const { lockout, clock, vault } = start(t, 3);
    for (const index of [1, 2, 3, 4, 5]) {
      failTimes(lockout, `known ${index}`, 3, true);
      failTimes(lockout, `unknown ${index}`, 3, false);
      clock.time += 1;
    }
    lockout.tidy();
    assert.equal(vault.counters.count(), 8);
    const isLocked = (key: string) => lockout.secondsLocked(key, rule) > 0;
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((index) => [isLocked(`known ${index}`), isLocked(`unknown ${index}`)]),
      [
        [true, false],
        [true, false],
        [true, true],
        [true, true],
        [true, true],
      ],
    );
  });

  it('holds the bound by itself while failures come in', async (t) => {
    const { lockout, vault } = start(t, 10);
    for (let index = 0; index < 600; index += 1) lockout.fail(`unknown ${index}`, false, rule);
    await new Promise(setImmediate);
    assert.equal(vault.counters.count(), 10);
  });

  it('deletes what no longer counts, and keeps a lock that is longer than a day', (t) => {
    const { lockout, clock, vault, restart } = start(t);
    for (let count = 0; count < 3; count += 1) lockout.fail('long', true, { ...rule, lockTime: 100 * 3600 });
    failTimes(lockout, 'short', 3);
    failTimes(lockout, 'counted', 2);
    clock.time += 24 * hour + 1;
    const restarted = restart();
    assert.equal(vault.counters.count(), 1);
    assert.ok(restarted.secondsLocked('long', { ...rule, lockTime: 100 * 3600 }) > 0);
  });
});
