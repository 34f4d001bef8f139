import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { threadId } from 'node:worker_threads';

// Loaded before each thread of a service whose memory is measured, because V8 reports the size of a heap only to its
// own thread. The time distinguishes threads that have ended. This is JavaScript, because stripping types takes 15 MB
// in each thread.
const folder = process.env.BENCH_HEAPS;
if (folder !== undefined) {
  setInterval(() => {
    const { total_physical_size: heap } = getHeapStatistics();
    const file = join(folder, `heap-${threadId}.json`);
    writeFileSync(`${file}.new`, JSON.stringify({ at: Date.now(), heap }));
    renameSync(`${file}.new`, file);
  }, 1000).unref();
}
