import assert from 'node:assert/strict';
import { it } from 'node:test';
import { counted } from '../../config/counted.ts';

it('A number is told with its noun, in the plural for all but one', () => {
  const told = [0, 1, 2].flatMap((count) => [counted(count, 'event'), counted(count, 'file is', 'files are')]);
  assert.deepEqual(told, ['0 events', '0 files are', '1 event', '1 file is', '2 events', '2 files are']);
});
