#!/usr/bin/env node
// JavaScript, so that a Node that knows no TypeScript gets to say so, and that what is compiled for us is not loaded
// here.
import module from 'node:module';
import { compileCacheFolder } from '../server/platform/compile-cache.js';
import { isNewEnough, neededNode } from '../server/platform/node-version.js';

// Nothing of better-sqlite3 may be imported before this: it crashes an older Node without a word.
if (!isNewEnough()) {
  console.error(`Annals needs ${neededNode}; this is ${process.version}, ${process.execPath}`);
  process.exit(2);
}
// Compiled code is kept and not compiled again at the next start, nor by each thread: that is half of the time and a
// quarter of the memory. By the environment, for worker threads look at nothing else.
const folder = process.env.NODE_COMPILE_CACHE ?? compileCacheFolder();
if (folder) {
  process.env.NODE_COMPILE_CACHE = folder;
  module.enableCompileCache(folder);
}

const [command, ...rest] = process.argv.slice(2);
const isHelp = rest.some((word) => word === '--help' || word === '-h');
// A health check runs every few seconds, and does not wait for all other commands to be loaded.
const code =
  command === 'health' && !isHelp
    ? await (await import('./service/health.ts')).health(rest, process.env)
    : await (await import('./cli.ts')).run(process.argv.slice(2), process.env);
// A timer or a connection that the configuration left open must not keep the process from ending.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
