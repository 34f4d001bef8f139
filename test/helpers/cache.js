import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

// Each file of tests is a process of its own, and most load the same modules: what one has compiled the next one has,
// where the service keeps its own. By the environment too, for the threads of a service in the process of a test look
// there. This is JavaScript, so that what strips types is not loaded for it: everything else comes from the cache.
const folder = fileURLToPath(new URL('../../node_modules/.cache/annals', import.meta.url));
process.env.NODE_COMPILE_CACHE = folder;
module.enableCompileCache(folder);

// The threads of a service load this module too, and need nothing of the runner.
if (process.env.NODE_TEST_CONTEXT && isMainThread) {
  const [{ after }, { measureTests }] = await Promise.all([import('node:test'), import('./times.js')]);
  measureTests();
  // Where a test waits for nothing but what keeps no process from ending, such as a timer of the service, Node 22 takes
  // it and all that follow for tests that never end.
  const awake = setInterval(() => {}, 60_000);
  after(() => {
    clearInterval(awake);
    // The hooks of the file come behind this one, and stop its services.
    setTimeout(refuseToWait, 60_000).unref();
  });
}

/** Something that a test has left open keeps its process from ending, and so the whole run. */
function refuseToWait() {
  const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap');
  process.stderr.write(`${process.argv[1]} has not ended 60 s after its last test. Still open: ${open.join(', ')}\n`);
  process.exit(1);
}
