import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ArchiverInput } from '../../server/writer/archiver-thread.ts';
import { endLingering, release, takeArchiver } from '../../server/writer/lingering-archiver.ts';
import { openTestLog } from '../events/logs.ts';

it('the archiver thread of a log does its next work too, and gives way to that of another log', async (t) => {
  const inputOf = (file: string): ArchiverInput => {
    return { file, sizes: { events: 20, hot: 5 }, blobs: { kind: 'folder', folder: '' } };
  };
  const [one, other] = [inputOf(openTestLog(t).path), inputOf(openTestLog(t).path)];
  const failed = (error: unknown) => assert.fail(String(error));
  t.after(() => Promise.all([one, other].map(({ file }) => endLingering(file))));
  const first = takeArchiver(one, failed);
  assert.deepEqual(await first.ask('write'), { pending: null });
  await release(first);
  assert.equal(takeArchiver(one, failed), first);
  assert.deepEqual(await first.ask('write'), { pending: null });
  await release(first);
  const second = takeArchiver(other, failed);
  assert.notEqual(second, first);
  assert.equal(first.isOver(), false);
  await release(second);
  assert.equal(first.isOver(), true);
  assert.equal(await first.ask('write'), null);
  await endLingering(other.file);
  assert.equal(second.isOver(), true);
});
