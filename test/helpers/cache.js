import module from 'node:module';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

// Each file of tests is a process of its own, and most load the same modules: what one has compiled the next one has, where
// the service keeps its own. By the environment too, for the threads of a service in the process of a test look there. This
// is JavaScript, so that what strips types is not loaded for it: everything else comes from the cache.
const folder = fileURLToPath(new URL('../../node_modules/.cache/annals', import.meta.url));
process.env.NODE_COMPILE_CACHE = folder;
module.enableCompileCache(folder);

// Where a test waits for nothing but what keeps no process from ending, such as a timer of the service, Node 22 takes it and all
// that follow for tests that never end.
if (process.env.NODE_TEST_CONTEXT) {
  const awake = setInterval(() => {}, 60_000);
  after(() => clearInterval(awake));
}
