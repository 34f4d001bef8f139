import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { threadId } from 'node:worker_threads';

// Loaded before each thread of a service whose memory is measured: V8 tells the size of a heap to its own thread alone.
// The time tells threads that have ended. JavaScript, since to strip types takes 15 MB in each thread.
const folder = process.env.BENCH_HEAPS;
if (folder !== undefined) {
  setInterval(() => {
    const { total_physical_size: heap } = getHeapStatistics();
    const file = join(folder, `heap-${threadId}.json`);
    writeFileSync(`${file}.new`, JSON.stringify({ at: Date.now(), heap }));
    renameSync(`${file}.new`, file);
  }, 1000).unref();
}
