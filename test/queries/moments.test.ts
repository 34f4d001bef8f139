import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClock, newClockCell } from '../../events/store/clock.ts';
import type { App } from '../../server/app.ts';
import { range as bounds, positionsOf, readMoment } from '../../server/queries/moments.ts';
import { askedOf } from '../../server/queries/parameters.ts';

const times = [
  '2026-01-01T10:00:00.000Z',
  '2026-01-01T10:00:00.000Z',
  '2026-01-02T00:00:00.000Z',
  '2026-01-04T09:00:00.500Z',
];
const events = {
  head: () => ({ size: times.length }),
  positionAt: (time: string) => times.filter((at) => at <= time).length,
} as unknown as App['events'];
const clock = createClock(newClockCell());
const until = (text: unknown) => readMoment(text, 'asOf', { events, clock });
const range = (from?: unknown, to?: unknown) => {
  const { values, errors } = askedOf(bounds, { from, to }, { events, clock });
  const found = positionsOf(values, { events, clock }, errors);
  return errors.length > 0 ? errors.map(({ message }) => message) : [found.from, found.to];
};
const since = (text: unknown) => range(text)[0];

describe('A moment of the log', () => {
  it('is a position, a time with a zone, or a date in UTC', () => {
    assert.deepEqual([until('1'), until('4'), since('4')], [1, 4, 4]);
    assert.deepEqual([until('2026-01-01T10:00:00Z'), since('2026-01-01T10:00:00Z')], [2, 1]);
    assert.deepEqual([until('2026-01-01T11:00:00.000+01:00'), since('2026-01-01T11:00:00.001+01:00')], [2, 3]);
    assert.deepEqual([until('2026-01-01'), since('2026-01-01')], [2, 1]);
    assert.deepEqual([until('2026-01-03'), since('2026-01-03')], [3, 4]);
    assert.deepEqual(
      [until('2025-12-31'), until('0001-01-01'), since('0001-01-01'), since('2026-01-05')],
      [0, 0, 1, 5],
    );
    assert.equal(until('2026-01-01T11:00:00 01:00'), 2);
    // The day is not over: only its events so far are there.
    assert.equal(until(new Date().toISOString().slice(0, 10)), 4);
  });

  it('is refused with its name when it is invalid, or is not there yet', () => {
    const future = new Date(Date.now() + 3_600_000).toISOString();
    for (const text of [
      '0',
      '5',
      '99999999999999999999',
      '-1',
      '1.5',
      '',
      ' ',
      'now',
      '2026-02-30',
      '2026-01-01T10:00:00',
    ]) {
      assert.throws(() => until(text), { code: 'validation_failed', message: /^asOf must/ }, text);
    }
    for (const text of [future, '9999-12-31']) assert.throws(() => until(text), /asOf must not be in the future/);
    assert.throws(() => until(['1', '2']), /asOf must be given once/);
    assert.throws(() => until('5'), {
      errors: [
        {
          field: 'asOf',
          in: 'query',
          code: 'out_of_range',
          limit: 4,
          message: 'asOf must be a position from 1 to 4, where the log ends, got "5"',
        },
      ],
    });
  });

  it('begins and ends a range, which holds no event if it ends right before it begins', () => {
    assert.deepEqual(
      [range(), range('2'), range(undefined, '3')],
      [
        [1, null],
        [2, null],
        [1, 3],
      ],
    );
    assert.deepEqual(
      [range('2', '2'), range('3', '2'), range(undefined, '2025-12-31')],
      [
        [2, 2],
        [3, 2],
        [1, 0],
      ],
    );
    assert.deepEqual(range('2026-01-03', '2026-01-03'), [4, 3]);
    assert.deepEqual(range('x', '0').length, 2);
  });

  it('ends no range that begins after it, whether or not there are events between', () => {
    const wrong = (from: number, to: number) => [`from must not be after to, got the positions ${from} and ${to}`];
    assert.deepEqual(range('4', '2'), wrong(4, 2));
    assert.deepEqual(range('2026-01-04', '2026-01-01'), wrong(4, 2));
    assert.deepEqual(range('2026-01-03T12:00:00Z', '2026-01-03T11:00:00Z'), wrong(4, 3));
    assert.deepEqual(range('4', '2026-01-01'), wrong(4, 2));
  });
});
