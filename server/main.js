#!/usr/bin/env node
// JavaScript, so that a Node that knows no TypeScript gets to say so, and that what is compiled for us is not loaded here.
import module from 'node:module';
import { fileURLToPath } from 'node:url';

// better-sqlite3 13 crashes an older Node without a word, so nothing of it may be imported before this check.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26) {
  console.error(
    `Annals needs Node 26; this is ${process.version}. In the checkout, npm start and npm run bring it along.`,
  );
  process.exit(2);
}
// What has been compiled once is not compiled again at the next start, nor by each thread: that is half of the time and a
// quarter of the memory. By the environment, for worker threads look at nothing else; not in the system's folder for
// temporary files, where others could put something else in its place.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/annals', import.meta.url));
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);

const { run } = await import('./cli.ts');
const code = await run(process.argv.slice(2), process.env);
// What the configuration left running, a timer or a connection, must not keep the process from ending.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
