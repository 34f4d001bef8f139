import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inWords } from '../../events/facts/durations.ts';

it('A stretch of time is told in the largest unit of which there is one', () => {
  const day = 24 * 3600 * 1000;
  const told = [1, 12_300, 60_000, 90_000, 3_599_999, day - 500, 8.5 * day, 364 * day, 7300 * day].map(inWords);
  assert.deepEqual(told, [
    '0 seconds',
    '12.3 seconds',
    '1 minute',
    '1.5 minutes',
    '1 hour',
    '1 day',
    '8.5 days',
    '1 year',
    '20 years',
  ]);
});
