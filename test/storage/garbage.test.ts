import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { runsOf } from '../helpers/runs.ts';

/** The heap of a thread that has made objects and dropped them: before and after it collects all, in bytes. */
const text = `
  import { getHeapStatistics } from 'node:v8';
  import { parentPort } from 'node:worker_threads';
  import { collectAll } from ${JSON.stringify(new URL('../../storage/garbage.ts', import.meta.url).href)};
  let made = Array.from({ length: 500_000 }, (_, n) => ({ n }));
  const room = () => getHeapStatistics().total_physical_size;
  const before = room();
  made = null;
  collectAll();
  parentPort.postMessage({ before, after: room(), isShown: 'gc' in globalThis });
`;

/** Waits until all threads are there, and then collects. */
const atOnce = `
  import { workerData } from 'node:worker_threads';
  import { collectAll } from ${JSON.stringify(new URL('../../storage/garbage.ts', import.meta.url).href)};
  const { together, count } = workerData;
  Atomics.add(together, 0, 1);
  while (Atomics.load(together, 0) < count);
  collectAll();
`;

describe('collecting all garbage of a thread', () => {
  it('gives the free part of its heap back to the system', async () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`));
    const { before, after, isShown } = await new Promise<{ before: number; after: number; isShown: boolean }>(
      (resolve, reject) => worker.once('message', resolve).once('error', reject),
    );
    assert.ok(before - after > 20e6, `${before} before, ${after} after`);
    assert.equal(isShown, false, 'no other code sees the collector');
  });

  it('works in threads that do so for the first time at the same moment', async () => {
    const count = 6;
    for (let round = 0; round < runsOf(4); round += 1) {
      const together = new Int32Array(new SharedArrayBuffer(4));
      const ended = Array.from({ length: count }, () => {
        const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(atOnce)}`), {
          workerData: { together, count },
        });
        return new Promise((resolve, reject) => worker.once('error', reject).once('exit', resolve));
      });
      await Promise.all(ended);
    }
  });
});
