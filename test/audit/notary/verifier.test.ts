import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { joinVerifier } from '../../../server/audit/notary/verifying.ts';
import { seals } from '../../events/logs.ts';
import { temporaryFolder } from '../../helpers/service.ts';
import { openDirectory } from '../../projections/directory.ts';

const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }] };

describe('The thread that goes through logs', () => {
  it('goes through one log after the other, and stops when no caller waits any more', async (t) => {
    const folder = join(temporaryFolder(t), 'data');
    const directory = openDirectory(folder, config);
    for (let made = 0; made < 500; made += 1) directory.create('posts', { title: `post ${made}` });
    directory.close();
    const job = {
      file: join(folder, 'log.db'),
      known: { keys: [], disowned: new Set<string>(), signed: null, sealKey: seals.key },
      percent: 100,
    };
    const [first, second] = [joinVerifier(), joinVerifier()];
    const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
    assert.deepEqual(await first.look(job), { to: 501, trouble: null, tables: null });
    const thread = await started;
    await new Promise((resolve) => thread.once('exit', resolve));
    assert.deepEqual(
      await first.look(job),
      { to: 501, trouble: null, tables: null },
      'another thread takes its place after a rest',
    );
    // This check would take an hour.
    const slow = first.look({ ...job, percent: 0.001 });
    const behind = second.look(job);
    await second.leave();
    assert.equal(await behind, null, 'it does not wait for the one before it');
    await first.leave();
    assert.equal(await slow, null);
    assert.equal(await first.look(job), null, 'who has left asks for nothing more');
    const third = joinVerifier();
    const noFile = { ...job, file: join(folder, 'none.db') };
    await assert.rejects(third.look(noFile), /none\.db|unable to open/);
    assert.deepEqual(await third.look(job), { to: 501, trouble: null, tables: null });
    await third.leave();
  });
});
