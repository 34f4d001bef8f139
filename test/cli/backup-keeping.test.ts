import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nameOf, readKeep, readName, superfluous } from '../../cli/backup/keeping.ts';

const hour = 3_600_000;
const now = Date.parse('2026-11-23T12:30:00.000Z');
const kept = (takenAt: number) => ({ name: new Date(takenAt).toISOString(), takenAt, size: 1 });

describe('The rules of --keep', () => {
  it('keep the newest backup of each hour and each day', () => {
    const times = ['23T12:20', '23T12:05', '23T11:59', '23T11:01', '22T23:00', '22T10:00', '21T10:00', '01T10:00'];
    const backups = times.map((time) => kept(Date.parse(`2026-11-${time}:00.000Z`)));
    const gone = superfluous(backups, readKeep('2h,3d'), now).map(({ name }) => name.slice(8, 16));
    assert.deepEqual(gone, ['23T12:05', '23T11:01', '22T10:00', '01T10:00']);
  });

  it('always keep the newest, keep no more than they name, and agree with themselves', () => {
    const backups = fc.uniqueArray(fc.integer({ min: 0, max: 2000 * hour }), { minLength: 1, maxLength: 40 });
    const rules = fc.record({ hours: fc.integer({ min: 1, max: 50 }), days: fc.integer({ min: 1, max: 30 }) });
    fc.assert(
      fc.property(backups, rules, (ages, { hours, days }) => {
        const all = ages.map((age) => kept(now - age));
        const keep = readKeep(`${hours}h,${days}d`);
        const gone = new Set(superfluous(all, keep, now));
        const left = all.filter((one) => !gone.has(one));
        assert.ok(left.some(({ takenAt }) => takenAt === Math.max(...all.map((one) => one.takenAt))));
        assert.ok(left.length <= hours + days + 1);
        assert.deepEqual(superfluous(left, keep, now), []);
      }),
    );
  });

  it('read a name as it was made', () => {
    const name = nameOf(new Date(now), 130, true);
    assert.equal(name, '20261123T123000000Z-0000000130.annals.age');
    assert.deepEqual(readName(name), { name, takenAt: now, size: 130 });
    assert.equal(readName('erasures.json'), null);
  });
});
