import { existsSync, statSync } from 'node:fs';
import { chooseNode, handOver } from '../runtime/node.js';

// npm test -- [FILE | FOLDER | OPTION]…: options are those of node --test. Without a file or a folder, all tests.
const args = process.argv.slice(2);
const isTests = (arg) => arg.endsWith('.test.ts') || existsSync(arg);
const inFolder = (arg) => (existsSync(arg) && statSync(arg).isDirectory() ? `${arg}/**/*.test.ts` : arg);
handOver(chooseNode(), [
  '--import',
  './test/helpers/cache.js',
  '--test',
  '--test-concurrency=4',
  '--test-timeout=120000',
  ...(args.some(isTests) ? [] : ['test/together/*.ts', 'test/**/*.alone.test.ts']),
  ...args.map(inFolder),
]);
