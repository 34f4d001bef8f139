#!/usr/bin/env node
// JavaScript, so that a Node that knows no TypeScript gets to say so, and that what is compiled for us is not loaded here.
import module from 'node:module';
import { compileCacheFolder } from './compile-cache.js';

// better-sqlite3 13 crashes an older Node without a word, so nothing of it may be imported before this check.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 26) {
  console.error(
    `Annals needs Node 26; this is ${process.version}. npx, npm start and npm run find the one that npm has installed with it.`,
  );
  process.exit(2);
}
// What has been compiled once is not compiled again at the next start, nor by each thread: that is half of the time and a
// quarter of the memory. By the environment, for worker threads look at nothing else.
const folder = process.env.NODE_COMPILE_CACHE ?? compileCacheFolder();
if (folder) {
  process.env.NODE_COMPILE_CACHE = folder;
  module.enableCompileCache(folder);
}

const { run } = await import('./cli.ts');
const code = await run(process.argv.slice(2), process.env);
// What the configuration left running, a timer or a connection, must not keep the process from ending.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
