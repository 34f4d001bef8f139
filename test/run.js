import { existsSync, statSync } from 'node:fs';
import { chooseNode, handOver } from '../runtime/node.js';

// npm test -- [OPTION | FILE | FOLDER]…: options are those of node --test. Without a file or a folder, all tests but the long ones.
const args = process.argv.slice(2);
const isPlace = (arg) => arg.endsWith('.test.ts') || (/[\\/]/.test(arg) && existsSync(arg));
const inFolder = (arg) => (existsSync(arg) && statSync(arg).isDirectory() ? `${arg}/**/*.test.ts` : arg);
const places = args.filter(isPlace).map(inFolder);
handOver(chooseNode(), [
  '--import',
  './test/helpers/cache.js',
  '--test',
  '--test-concurrency=4',
  // Also where something that a test left keeps its process from ending: in a batch nobody else would.
  '--test-force-exit',
  // Of one test; Node 22 takes it for a whole file, and one that runs a batch is long.
  '--test-timeout=300000',
  // Node takes no option behind the first file.
  ...args.filter((arg) => !isPlace(arg)),
  ...(places.length > 0 ? places : ['test/batches/*.ts', 'test/**/*.alone.test.ts']),
]);
