import { chooseNode, endWithParent, handOver } from './node.js';

// node runtime/annals.js ARGUMENTS… is annals ARGUMENTS…, on a Node that is new enough.
const file = chooseNode();
if (file === process.execPath) {
  endWithParent();
  await import('../server/main.js');
} else handOver(file, process.argv.slice(1));
