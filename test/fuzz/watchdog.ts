import { Worker } from 'node:worker_threads';
import { placeOf } from './kept.ts';

const longest = 128 * 1024;
/** CPU seconds of the process after which an input is taken for one that never ends. */
const patience = 60;

/**
 * Watches from a thread of its own that each input ends, since one that does not leaves no turn to this one: that input
 * is kept, and the process ends.
 */
export function watchInputs(parser: string): { begin: (input: Buffer) => void; end: () => Promise<number> } {
  const count = new Int32Array(new SharedArrayBuffer(8));
  const bytes = Buffer.from(new SharedArrayBuffer(longest));
  const { folder, prefix } = placeOf(parser);
  const worker = new Worker(`(${watch})(require('node:worker_threads').workerData)`, {
    eval: true,
    workerData: { count, bytes: bytes.buffer, folder, prefix, patience },
  });
  worker.unref();

  return {
    begin(input) {
      count[1] = input.copy(bytes);
      Atomics.add(count, 0, 1);
    },
    end: () => worker.terminate(),
  };
}

type Watched = { count: Int32Array; bytes: SharedArrayBuffer; folder: string; prefix: string; patience: number };

/** Runs in the other thread, as text. */
function watch({ count, bytes, folder, prefix, patience }: Watched): void {
  const { mkdirSync, writeFileSync, writeSync } = process.getBuiltinModule('node:fs');
  let last = -1;
  let begun = process.cpuUsage();
  setInterval(() => {
    const now = Atomics.load(count, 0);
    if (now !== last) {
      last = now;
      begun = process.cpuUsage();
    }
    const { user, system } = process.cpuUsage(begun);
    if ((user + system) / 1e6 < patience) return;
    const file = `${prefix}that-never-ended`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, Buffer.from(bytes).subarray(0, count[1]));
    // The thread that is stuck passes on nothing that is written here.
    writeSync(2, `${file} does not end: commit it with the mend\n`);
    process.kill(process.pid, 'SIGKILL');
  }, 1000);
}
