import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

// Each file of tests is a process of its own, and most load the same modules: a process finds what an earlier one has
// compiled in the cache of the service. The environment names the cache too, because the threads of a service in the
// process of a test look there. This file is JavaScript so that the type stripper is not loaded for it: everything else
// comes from the cache.
const folder = fileURLToPath(new URL('../../node_modules/.cache/annals', import.meta.url));
process.env.NODE_COMPILE_CACHE = folder;
module.enableCompileCache(folder);

// The threads of a service load this module too, and need nothing of the runner.
if (process.env.NODE_TEST_CONTEXT && isMainThread) {
  const [{ after }, { measureTests }] = await Promise.all([import('node:test'), import('./times.js')]);
  measureTests();
  // If a test waits only for something that keeps no process alive, such as a timer of the service, Node 22 reports the
  // test and all that follow as tests that never end.
  const awake = setInterval(() => {}, 60_000);
  after(() => {
    clearInterval(awake);
    // The hooks of the file come behind this one, and stop its services.
    setTimeout(refuseToWait, 60_000).unref();
  });
}

/** Ends the process with an error: a resource that a test has left open would keep the whole run from ending. */
function refuseToWait() {
  const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap');
  process.stderr.write(`${process.argv[1]} has not ended 60 s after its last test. Still open: ${open.join(', ')}\n`);
  process.exit(1);
}
