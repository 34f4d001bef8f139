import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openVault } from '../../events/vault/vault.ts';
import { portOf } from '../../events/vault/vault-port.ts';
import { type CountResult, createLockout, type Lockout, type LockRule } from '../../server/accounts/lockout.ts';
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
      counters: portOf(vault).counters,
      now: () => clock.time,
      ...(maxUnknown === undefined ? {} : { maxUnknown }),
    });
  return { vault, clock, restart, lockout: restart() };
}

/** Counts a failure of an account that is not locked; gives when the lock ends if it locks. */
async function fail(lockout: Lockout, key: string, isKnown = true, its: LockRule = rule): Promise<number | null> {
  const counted: CountResult = await lockout.count(key, isKnown, its);
  return counted.kind === 'counted' ? counted.lockedUntil : assert.fail(`${key} is locked`);
}

async function failTimes(lockout: Lockout, key: string, times: number, isKnown = true): Promise<(number | null)[]> {
  const all = [];
  for (let time = 0; time < times; time += 1) all.push(await fail(lockout, key, isKnown));
  return all;
}

describe('locking after failures in a row', () => {
  it('locks at the last one that is allowed, for exactly the lock time', async (t) => {
    const { lockout, clock } = start(t);
    assert.deepEqual(await failTimes(lockout, 'a', 3), [null, null, clock.time + 600_000]);
    assert.deepEqual([await lockout.secondsLocked('a', rule), await lockout.secondsLocked('b', rule)], [600, 0]);
    clock.time += 599_999;
    assert.equal(await lockout.secondsLocked('a', rule), 1);
    clock.time += 1;
    assert.equal(await lockout.secondsLocked('a', rule), 0);
  });

  it('counts anew after a lock that has passed', async (t) => {
    const { lockout, clock } = start(t);
    await failTimes(lockout, 'a', 3);
    clock.time += 600_000;
    assert.deepEqual(await failTimes(lockout, 'a', 2), [null, null]);
    assert.equal(await fail(lockout, 'a'), clock.time + 600_000);
  });

  it('says whether there was a lock or a count to end', async (t) => {
    const { lockout, clock } = start(t);
    assert.equal(await lockout.reset('a'), false);
    await fail(lockout, 'a');
    assert.deepEqual([await lockout.reset('a'), await lockout.reset('a')], [true, false]);
    await failTimes(lockout, 'a', 3);
    assert.deepEqual([await lockout.reset('a'), await lockout.secondsLocked('a', rule)], [true, 0]);
    await failTimes(lockout, 'a', 3);
    clock.time += 600_000;
    assert.equal(await lockout.reset('a'), false, 'the lock had passed by itself');
  });

  it('forgets failures after a day without another, of known and unknown e-mails alike', async (t) => {
    const { lockout, clock } = start(t);
    for (const isKnown of [true, false]) {
      await failTimes(lockout, 'a', 2, isKnown);
      clock.time += 24 * hour;
      assert.notEqual(await fail(lockout, 'a', isKnown), null, 'a day is not over');
      await lockout.reset('a');
      await failTimes(lockout, 'a', 2, isKnown);
      clock.time += 24 * hour + 1;
      assert.equal(await fail(lockout, 'a', isKnown), null);
      await lockout.reset('a');
    }
  });
});

describe('counting before the password is compared', () => {
  it('counts nothing while the account is locked, and says for how long', async (t) => {
    const { lockout, clock, vault } = start(t);
    await failTimes(lockout, 'a', 3);
    clock.time += 100_500;
    const before = vault.counters.get('a');
    assert.deepEqual(await lockout.count('a', true, rule), { kind: 'locked', seconds: 500 });
    assert.deepEqual(vault.counters.get('a'), before);
  });

  it('lets no more through than are allowed, however many processes compare at once', async (t) => {
    const { lockout, restart } = start(t);
    const nodes = [lockout, restart(), restart()];
    await lockout.count('a', true, rule);
    const all = await Promise.all(nodes.map((node) => node.count('a', true, rule)));
    assert.deepEqual(
      all.map((counted) => counted.kind),
      ['counted', 'counted', 'locked'],
    );
    // One of them was right.
    assert.equal(await nodes[1]?.reset('a'), true);
    assert.equal(await lockout.secondsLocked('a', rule), 0);
    assert.deepEqual(await lockout.state('a', rule), { failures: 0, lockedUntil: null });
  });
});

describe('locking when the clock or the rule changes', () => {
  it('locks for no longer than the lock time after the clock was put back, a restart later too', async (t) => {
    const { lockout, clock, restart } = start(t);
    await failTimes(lockout, 'a', 3);
    clock.time -= 48 * hour;
    assert.equal(await lockout.secondsLocked('a', rule), 600);
    clock.time += 300_000;
    assert.equal(await lockout.secondsLocked('a', rule), 300, 'it does not begin anew with every look');
    assert.equal(await restart().secondsLocked('a', rule), 300);
    clock.time += 300_000;
    assert.equal(await lockout.secondsLocked('a', rule), 0);
  });

  it('shortens a lock to a lock time that was made shorter', async (t) => {
    const { lockout } = start(t);
    await failTimes(lockout, 'a', 3);
    assert.equal(await lockout.secondsLocked('a', { ...rule, lockTime: 60 }), 60);
    assert.equal(await lockout.secondsLocked('a', rule), 60);
  });

  it('keeps counting after the clock was put back, and forgets a day after that', async (t) => {
    const { lockout, clock } = start(t);
    await failTimes(lockout, 'a', 2);
    await failTimes(lockout, 'b', 2);
    clock.time -= 1000 * hour;
    assert.notEqual(await fail(lockout, 'a'), null);
    await lockout.tidy();
    clock.time += 24 * hour + 1;
    assert.equal(await fail(lockout, 'b'), null);
  });
});

describe('what counting keeps', () => {
  it('keeps a bounded number of unknown e-mails, the newest, and every account', async (t) => {
    const { lockout, clock, vault } = start(t, 3);
    for (const index of [1, 2, 3, 4, 5]) {
      await failTimes(lockout, `known ${index}`, 3, true);
      await failTimes(lockout, `unknown ${index}`, 3, false);
      clock.time += 1;
    }
    await lockout.tidy();
    assert.equal(vault.counters.count(), 8);
    const isLocked = async (key: string) => (await lockout.secondsLocked(key, rule)) > 0;
    const numbers = [1, 2, 3, 4, 5];
    assert.deepEqual(
      await Promise.all(
        numbers.map(async (index) => [await isLocked(`known ${index}`), await isLocked(`unknown ${index}`)]),
      ),
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
    for (let index = 0; index < 600; index += 1) await fail(lockout, `unknown ${index}`, false);
    await new Promise(setImmediate);
    assert.equal(vault.counters.count(), 10);
  });

  it('deletes what no longer counts, and keeps a lock that is longer than a day', async (t) => {
    const { lockout, clock, vault, restart } = start(t);
    for (let count = 0; count < 3; count += 1) await fail(lockout, 'long', true, { ...rule, lockTime: 100 * 3600 });
    await failTimes(lockout, 'short', 3);
    await failTimes(lockout, 'counted', 2);
    clock.time += 24 * hour + 1;
    const restarted = restart();
    await restarted.tidy();
    assert.equal(vault.counters.count(), 1);
    assert.ok((await restarted.secondsLocked('long', { ...rule, lockTime: 100 * 3600 })) > 0);
  });
});
