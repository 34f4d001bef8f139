import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Each file of tests is a process of its own, and most load the same modules: what one has compiled the next one has, where
// the service keeps its own.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/annals', import.meta.url)));
