import { findBundle } from './bundle.js';
import { chooseNode, endWithParent, handOver } from './node.js';

// node runtime/annals.js ARGUMENTS… is annals ARGUMENTS…, on a Node that is new enough, from the bundle of the checkout
// if there is one of the sources as they are. node cli/main.js ARGUMENTS… is the same from the sources.
const file = chooseNode();
if (file === process.execPath) {
  endWithParent();
  await import(findBundle() ?? '../cli/main.js');
} else handOver(file, process.argv.slice(1));
